"""``veridical view [RUN ...]``: runs, benchmarks and figures in a page, and an answer checked."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from veridical.cli.declared import command
from veridical.cli.options import STORE, Llm, Nli, PrecisionOption, Store, keywords_of
from veridical.cli.pages import HOST, PORT, Host, Port
from veridical.core.options import Names
from veridical.engine.options import EngineOptions

VIEW_EXAMPLES = (
    "Examples:\n\n  veridical view\n\n"
    "  veridical view .veridical/runs/0123456789abcdef .veridical/runs/fedcba9876543210\n\n"
    "  veridical view results --port 8080\n\n"
    "The page also checks an answer that you paste with its sources, claim by claim."
)
#: Where runs and benchmarks lie that were given no folder.
_USUAL = Path(".veridical")


@dataclass(frozen=True, kw_only=True)
class ViewOptions:
    """The options of ``veridical view``."""

    runs: Annotated[
        list[Path] | None,
        typer.Argument(
            help="Run directories, folders that hold some, and figures of bench, tune or rank "
            "(--json). Default: those in .veridical.",
            show_default=False,
        ),
        Names.OTHER,
    ] = None
    llm: Llm = None
    nli: Nli = EngineOptions.nli
    precision: PrecisionOption = None
    store: Store = STORE
    host: Host = HOST
    port: Port = PORT


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
        if options.nli != EngineOptions.nli or options.precision is not None:
            engine.models(Task(resolve("nli_grounding")))  # what cannot be had is told now
        door = Door(["viewer"])
        app = view_app(shelf, door, engine, options.llm)
        return serve_pages(app, door, listener, options.host, links(door, end=""))
