"""``veridical view [RUN ...]``: runs, benchmarks and figures in a page, and an answer checked."""

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
    "The page also checks an answer that you paste with its sources, claim by claim."
)
#: Where runs and benchmarks lie that were given no folder.
_USUAL = Path(".veridical")


@flags(EngineOptions)
class ViewOptions(PageFlags):
    """The options of ``veridical view``."""

    runs: list[Path] | None = argument(
        "Run directories, folders that hold some, and figures of bench, tune or rank (--json). "
        "Default: those in .veridical.",
        None,
        names=Names.OTHER,
    )
    llm: str | None
    nli: str
    precision: Precision | None
    store: str = STORE


@command
def view(options: ViewOptions) -> int:
    """Open a page of runs: their index, runs under way, two side by side, benchmarks; and watch
    an answer being checked."""
    from veridical.cli.pages import links
    from veridical.core.resolving import resolve
    from veridical.engine.engine import Engine
    from veridical.engine.run import Task
    from veridical.serve.pages.door import Door, listen, serve_pages
    from veridical.serve.pages.shelf import Shelf
    from veridical.serve.pages.view_app import view_app

    shelf = Shelf(options.runs) if options.runs else Shelf.of_usual(_USUAL)
    engine_options = EngineOptions(
        **keywords_of(options, EngineOptions),
        processes=0,
        age=0.002,
        fair=True,
    )
    with listen(options.host, options.port) as listener, Engine(engine_options) as engine:
        if options.nli != EngineOptions.nli or options.precision != EngineOptions.precision:
            engine.models(Task(resolve("nli_grounding")))  # what cannot be had is told now
        door = Door(["viewer"])
        app = view_app(shelf, door, engine, options.llm)
        return serve_pages(app, door, listener, options.host, links(door, end=""))
