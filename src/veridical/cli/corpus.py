"""``veridical corpus``: document indexing, search and display."""

from __future__ import annotations

import json
import sys
import time
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console

from veridical.cli.declared import argument, command, flag, flags
from veridical.cli.figures import error_console
from veridical.cli.options import STORE, store_of
from veridical.engine.options import EngineOptions
from veridical.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from veridical.retrieval.corpus.build import IndexProgress, Notify
    from veridical.retrieval.corpus.files import Skipped
    from veridical.retrieval.corpus.index import Counts

_INTERVAL_SECONDS = 5.0  # between lines, without a terminal

CORPUS_EXAMPLES = (
    "Examples:\n\n  veridical corpus ./documents\n\n"
    '  veridical corpus ./documents --search "Where was Ada born?"\n\n'
    "  veridical corpus ./documents --text guide.pdf > guide.txt"
)


@flags(EngineOptions)
class CorpusOptions:
    """Options of ``veridical corpus``."""

    path: Path = argument("Folder of documents, or one file, such as JSON lines.")
    search: str | None = flag("Print the passages that match this query, as JSON lines.")
    top: int = flag("Number of passages to find with --search.", default=5, least=1)
    text: str | None = flag("Print the indexed text of this document; passage offsets refer to it.")
    skipped: bool = flag("List all skipped files with the reason.", default=False)
    store: str = STORE
    embedder: str


@command
def corpus(options: CorpusOptions) -> int:
    """Index documents for check --corpus, search them, or print one."""
    from veridical.engine.engine import Engine
    from veridical.retrieval.corpus.opening import Corpus

    err = error_console()
    place = store_of(options.store)
    with Engine(embedder=options.embedder, store=place, processes=0) as engine:
        documents = Corpus(options.path, engine, notify=telling(err))
        try:
            if options.skipped:
                for name, reason, _ in documents.index.skipped():
                    print(f"{name}\t{reason}")
            if options.text is not None:
                whole = documents.index.text(options.text)
                if whole is None:
                    raise UsageError(f"the corpus has no document {options.text!r}")
                sys.stdout.write(whole)
            if options.search is not None:
                found = documents.search([options.search], options.top)
                (passages,) = engine.submit(found).result()
                for passage in passages:
                    print(json.dumps(asdict(passage)))
            return 0 if documents.counts.documents else 1
        finally:
            engine.submit(documents.close()).result()


def telling(console: Console) -> Notify:
    """Return a callback that prints the progress and outcome of indexing.

    On a terminal the progress is one line; elsewhere a line is printed every few seconds.
    """
    last_line = 0.0
    interval = 0.2 if console.is_terminal else _INTERVAL_SECONDS

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
            f"corpus: {progress.checked} of {progress.files} files read, "
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
