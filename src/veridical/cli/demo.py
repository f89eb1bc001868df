"""``veridical demo``: a check of example answers."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

from veridical.cli.check import check
from veridical.cli.declared import command, flags, output
from veridical.cli.figures import error_console
from veridical.cli.options import STORE
from veridical.engine.options import EngineOptions
from veridical.errors import UsageError

DEMO_EXAMPLES = (
    "Examples:\n\n  veridical demo\n\n  veridical demo --out my-answers.jsonl\n\n"
    "To experiment, edit an answer in the file and run `veridical check demo.jsonl`."
)


@flags(EngineOptions)
class DemoOptions:
    """Options of ``veridical demo``."""

    out: Path = output(
        "File of examples to write; the report has the same name, with .html.",
        default=Path("demo.jsonl"),
        metavar=None,
    )
    store: str = STORE


@command
def demo(options: DemoOptions) -> int:
    """Check a file of example answers and write a report."""
    path, report = options.out, options.out.with_suffix(".html")
    examples = files("veridical.cli").joinpath("demo.jsonl").read_text("utf-8")
    if path.suffix != ".jsonl":
        raise UsageError(f"--out: {path} must end in .jsonl")
    if path.exists() and path.read_text("utf-8", errors="replace") != examples:
        raise UsageError(f"--out: {path} exists and is not the file of examples; name another file")
    try:
        path.write_text(examples, encoding="utf-8")
    except OSError as e:
        raise UsageError(f"--out: cannot write {path}: {e.strerror}") from None
    line = f"veridical check {path} --report {report}"
    error_console().print(f"Wrote {path}. Running:\n  {line}\n", markup=False, highlight=False)
    code: int = check(inputs=[str(path)], report=report, store=options.store)
    return code
