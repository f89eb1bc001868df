"""``veridical watch FILE|DIR``: answers checked as they are written."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from veridical.cli import interrupts
from veridical.cli.declared import check_files, command
from veridical.cli.figures import error_console
from veridical.cli.options import (
    STORE,
    AgainstOption,
    AnswerOption,
    Budget,
    Claims,
    Embedder,
    ImageEmbedder,
    Llm,
    Map,
    Nli,
    PolicyOption,
    PrecisionOption,
    Preset,
    PresetOption,
    Prior,
    Processes,
    Proxy,
    Reader,
    Samples,
    Scorers,
    Spans,
    Store,
    StrictnessOf,
    TokenEncoder,
    run_keywords,
)
from veridical.core.options import Group, Names
from veridical.engine.options import EngineOptions
from veridical.text.display import display

WATCH_EXAMPLES = (
    "Examples:\n\n  veridical watch answers.jsonl\n\n"
    "  veridical watch ./logs --policy policy.toml --json flagged.jsonl\n\n"
    "  veridical watch answers.jsonl --once\n\n"
    "A file may grow, be rotated or be cut; Ctrl-C ends it.\n\n"
    "Exit codes: 0 all was read (--once), whatever was found; 1 usage or no valid input; 130 "
    "interrupted."
)


@dataclass(frozen=True, kw_only=True)
class WatchOptions:
    """The options of ``veridical watch``."""

    path: Annotated[
        Path,
        typer.Argument(help="A JSONL file that grows, or a folder of them.", metavar="FILE|DIR"),
    ]
    once: Annotated[
        bool, typer.Option("--once", help="End where the files end now."), Group.INPUT
    ] = False
    from_end: Annotated[
        bool, typer.Option("--from-end", help="Pass over what is there already."), Group.INPUT
    ] = False
    mapping: Map = None
    reader: Reader = None
    scorers: Scorers = None
    preset: PresetOption = Preset.auto
    prior: Prior = None
    strictness: StrictnessOf = None
    against: AgainstOption = None
    answer: AnswerOption = None
    samples: Samples = None
    claims: Claims = False
    policy: PolicyOption = None
    json_path: Annotated[
        str | None,
        typer.Option(
            "--json",
            help="Append what is not accepted as JSON lines with file and line; - for stdout.",
            metavar="FILE",
        ),
        Names.OUTPUT,
        Group.OUTPUT,
    ] = None
    store: Store = STORE
    embedder: Embedder = EngineOptions.embedder
    token_encoder: TokenEncoder = None
    image_embedder: ImageEmbedder = EngineOptions.image_embedder
    nli: Nli = EngineOptions.nli
    precision: PrecisionOption = None
    llm: Llm = None
    proxy: Proxy = None
    spans: Spans = None
    budget: Budget = None
    processes: Processes = None


@command
def watch(options: WatchOptions) -> int:
    """Follow growing JSONL and print the answers that are not accepted.

    With a policy these are the ones that it does not accept, else those that are neither supported
    nor consistent.
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
