"""``veridical corpus``: index documents, search them, and read them as they were indexed."""

from __future__ import annotations

import json
import sys
import time
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from veridical.cli.figures import error_console
from veridical.cli.options import Embedder, Store
from veridical.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from veridical.retrieval.corpus.build import IndexProgress, Notify
    from veridical.retrieval.corpus.files import Skipped
    from veridical.retrieval.corpus.index import Counts

_EVERY = 5.0  # seconds between lines, where there is no terminal

CORPUS_EXAMPLES = (
    "Examples:\n\n  veridical corpus ./documents\n\n"
    '  veridical corpus ./documents --search "Where was Ada born?"\n\n'
    "  veridical corpus ./documents --text guide.pdf > guide.txt"
)


def corpus(
    path: Annotated[
        Path, typer.Argument(help="A folder of documents, or one file, such as JSON lines.")
    ],
    search: Annotated[
        str | None, typer.Option(help="Print the passages found for this, as JSON lines.")
    ] = None,
    top: Annotated[int, typer.Option(min=1, help="Passages to find.")] = 5,
    text: Annotated[
        str | None,
        typer.Option(
            help="Print the text of the document of this name: places of passages refer to it."
        ),
    ] = None,
    skipped: Annotated[
        bool, typer.Option("--skipped", help="List everything that was skipped, and why.")
    ] = False,
    store: Store = str(Path(".veridical") / "store"),
    embedder: Embedder = "minilm",
) -> int:
    """Index a corpus for check --corpus, and say what is in it; or look things up in it."""
    from veridical.engine.engine import Engine
    from veridical.retrieval.corpus.opening import Corpus

    err = error_console()
    place = None if store == "none" else store
    with Engine(embedder=embedder, store=place, processes=0) as engine:
        documents = Corpus(path, engine, notify=telling(err))
        try:
            if skipped:
                for name, reason, _ in documents.index.skipped():
                    print(f"{name}\t{reason}")
            if text is not None:
                whole = documents.index.text(text)
                if whole is None:
                    raise UsageError(f"the corpus has no document {text!r}")
                sys.stdout.write(whole)
            if search is not None:
                (passages,) = engine.submit(documents.search([search], top)).result()
                for passage in passages:
                    print(json.dumps(asdict(passage)))
            return 0 if documents.counts.documents else 1
        finally:
            engine.submit(documents.close()).result()


def telling(console: Console) -> Notify:
    """Tells how far indexing is, on a terminal in one line, elsewhere now and then; and at the end
    what the corpus holds and some of what was skipped."""
    last_line = 0.0
    interval = 0.2 if console.is_terminal else _EVERY

    def tell(progress: IndexProgress) -> None:
        nonlocal last_line
        if progress.counts is not None:
            _print_outcome(progress.counts, progress.skipped, console)
            return
        now = time.monotonic()
        last_line = last_line or now
        if now - last_line < interval:
            return
        last_line = now
        line = (
            f"corpus: {progress.checked} of {progress.files} files looked at, "
            f"{progress.documents} documents read, {progress.embedded} of {progress.to_embed} "
            "passages embedded"
        )
        console.print(line, markup=False, end="\r" if console.is_terminal else "\n")

    return tell


def _print_outcome(counts: Counts, skipped: Sequence[Skipped], console: Console) -> None:
    console.print(
        f"corpus: {counts.documents} documents of {counts.files} files, in {counts.passages} "
        f"passages; {counts.skipped} skipped",
        markup=False,
    )
    for problem in skipped:
        console.print(f"skipped: {problem.name}: {problem.reason}", markup=False)
    if counts.skipped > len(skipped):
        more = counts.skipped - len(skipped)
        console.print(f"... and {more} more: veridical corpus PATH --skipped", markup=False)
