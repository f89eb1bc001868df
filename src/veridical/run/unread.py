"""Warning of sources in languages that the NLI model does not read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from itertools import islice
from typing import TYPE_CHECKING

from veridical.core.records import Record
from veridical.notices import warn_once
from veridical.text.languages import language_of

if TYPE_CHECKING:
    from veridical.errors import RowError
    from veridical.retrieval.corpus.index import Index

#: Maximum rows of the input, and passages of a corpus, that are inspected.
_MAX_LOOKED_AT = 200
_MAX_LANGUAGES_SHOWN = 5


def context_languages(rows: Iterable[Record | RowError]) -> Counter[str | None]:
    """Count the languages of the contexts of the first rows; None if unknown."""
    first = islice(rows, _MAX_LOOKED_AT)
    return Counter(
        language_of(context.text)
        for record in first
        if isinstance(record, Record)
        for context in record.contexts
        if context.text.strip()
    )


def corpus_languages(index: Index) -> Counter[str | None]:
    """Count the languages of passages drawn evenly from a corpus; None if unknown."""
    total = index.counts().passages
    step = max(1, total // _MAX_LOOKED_AT)
    drawn = index.passages(range(1, total + 1, step))
    return Counter(language_of(passage.text) for passage in drawn.values())


def warn_of_unread(
    what: str, found: Counter[str | None], languages: frozenset[str], model: str
) -> None:
    """Warn, once, if some of ``what`` are in languages that a model does not read.

    Args:
        languages: codes of the languages that it reads.
    """
    unread = Counter({x: n for x, n in found.items() if x is not None and x not in languages})
    if not unread:
        return
    share = unread.total() / found.total()
    named = ", ".join(f"{x} {n}" for x, n in unread.most_common(_MAX_LANGUAGES_SHOWN))
    warn_once(
        f"{share:.0%} of the {what} inspected ({unread.total()} of {found.total()}: {named}) are "
        f"in languages that {model} does not read; statements found only in them are not judged"
    )
