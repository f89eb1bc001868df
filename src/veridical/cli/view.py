"""``veridical view [RUN ...]``: a local page of runs and benchmarks."""

from __future__ import annotations

from pathlib import Path

from veridical.cli.declared import argument, command, flags
from veridical.cli.options import STORE, keywords_of
from veridical.cli.pages import PageFlags
from veridical.core.options import Names
from veridical.engine.options import EngineOptions, Precision

VIEW_EXAMPLES = (
    "Examples:\n\n  veridical view\n\n"
    "  veridical view .veridical/runs/0123456789abcdef .veridical/runs/fedcba9876543210\n\n"
    "  veridical view results --port 8080\n\n"
    "The page also checks a pasted answer against its sources, claim by claim."
)
#: Default folder of runs and benchmarks.
_USUAL = Path(".veridical")


@flags(EngineOptions)
class ViewOptions(PageFlags):
    """Options of ``veridical view``."""

    runs: list[Path] | None = argument(
        "Run directories, folders of runs, and JSON figures of bench, tune or rank. "
        "Default: .veridical.",
        None,
        names=Names.OTHER,
    )
    llm: str | None
    nli: str
    precision: Precision | None
    store: str = STORE


@command
def view(options: ViewOptions) -> int:
    """Browse runs and benchmarks in a local web page.

    It also compares two runs and checks an answer that you paste.
    """
    from veridical.cli.pages import links
    from veridical.core.resolving import resolve
    from veridical.engine.engine import Engine
    from veridical.engine.run import Task
    from veridical.serve.pages.access import PageAccess, listen, serve_pages
    from veridical.serve.pages.run_index import RunIndex
    from veridical.serve.pages.view_app import view_app

    run_index = RunIndex(options.runs) if options.runs else RunIndex.of_usual(_USUAL)
    engine_options = EngineOptions(
        **keywords_of(options, EngineOptions),
        processes=0,
        age=0.002,
        fair=True,
    )
    with listen(options.host, options.port) as listener, Engine(engine_options) as engine:
        if options.nli != EngineOptions.nli or options.precision != EngineOptions.precision:
            engine.models(Task(resolve("nli_grounding")))  # a missing model is reported now
        access = PageAccess(["viewer"])
        app = view_app(run_index, access, engine, options.llm)
        return serve_pages(app, access, listener, options.host, links(access, end=""))
