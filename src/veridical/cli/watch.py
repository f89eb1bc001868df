"""``veridical watch FILE|DIR``: checks of answers as they are written."""

from __future__ import annotations

from pathlib import Path

from veridical.cli import interrupts
from veridical.cli.declared import argument, check_files, flag, flags, long_command, output
from veridical.cli.figures import error_console
from veridical.cli.options import (
    MAP,
    STORE,
    ComparedFlags,
    ModelFlags,
    PresetFlags,
    run_keywords,
)
from veridical.core.options import Group
from veridical.engine.options import EngineOptions
from veridical.run.options import RunOptions
from veridical.text.display import display

WATCH_EXAMPLES = (
    "Examples:\n\n  veridical watch answers.jsonl\n\n"
    "  veridical watch ./logs --policy policy.toml --json flagged.jsonl\n\n"
    "  veridical watch answers.jsonl --once\n\n"
    "Files may grow, be rotated or be truncated. Ctrl-C ends the command.\n\n"
    "Exit codes: 0 all input was read (--once); 1 usage or no valid input; 130 "
    "interrupted."
)


@flags(RunOptions, EngineOptions)
class WatchOptions(PresetFlags, ComparedFlags, ModelFlags):
    """Options of ``veridical watch``."""

    path: Path = argument("Growing JSONL file, or a folder of such files.", metavar="FILE|DIR")
    once: bool = flag("Stop at the current end of the files.", Group.INPUT, False)
    from_end: bool = flag("Skip existing rows.", Group.INPUT, False)
    mapping: list[str] | None = MAP
    reader: str | None
    policy: Path | None
    json_path: str | None = output(
        "Append answers that are not accepted, as JSON lines; - for stdout.", "--json"
    )
    store: str = STORE
    processes: int | None


@long_command(
    "path",
    "once",
    "from_end",
    "mapping",
    "policy",
    "preset",
    "scorers",
    "strictness",
    "llm",
    "budget",
    "json_path",
)
def watch(options: WatchOptions) -> int:
    """Follow growing JSONL files and print the answers that are not accepted.

    A policy decides which answers are accepted. Without one, supported and consistent answers are.
    """
    from veridical.cli.progress import loading
    from veridical.cli.watch_work import Watching, appending
    from veridical.run.request import Request

    err = error_console()
    check_files(options)
    request = Request.of(options.scorers, run_keywords(options))
    with appending(options.json_path) as lines:
        watching = Watching(
            request, options.path, lines, once=options.once, from_end=options.from_end
        )
        with watching:
            with loading(err):
                watching.start()
            if not options.once:
                err.print(f"watching {display(options.path)}; Ctrl-C ends it", markup=False)
            try:
                watching.wait()
            except KeyboardInterrupt:
                watching.stop()
                interrupts.tell("\n".join(["interrupted", *watching.summary()]))
                return interrupts.INTERRUPTED
    for text in watching.summary():
        err.print(text, markup=False)
    return 0 if watching.records else 1
