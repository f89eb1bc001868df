"""Index terms of a corpus, and choice of a query's terms."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterable

from veridical.claims.bm25 import terms
from veridical.text.words import lower_words

#: Maximum occurrences in the index that a query scans, beginning with its rarest words.
POSTINGS = 10_000
#: Minimum number of words to search, however frequent.
_LEAST = 3
_MOST = 64
_ACCENTS = dict.fromkeys(range(768, 880))


def index_terms(text: str) -> list[str]:
    """Return the terms of ``text``, in order: lower-case words without accents.

    >>> index_terms("Émile Zola's café, no. 3.")
    ['emile', 'zola', 's', 'cafe', 'no', '3']
    """
    tokens: list[str] = []
    for term in terms(lower_words(text)):
        plain = term if term.isascii() else _folded(term)
        # split as by the tokenizer of the index, so that its counts can be looked up
        tokens += [plain] if plain.isalnum() else _runs(plain)
    return tokens


def _folded(term: str) -> str:
    return unicodedata.normalize("NFKD", term).translate(_ACCENTS).casefold()


def _runs(term: str) -> list[str]:
    """Split a term into runs of letters, digits and marks."""
    characters = (c if c.isalnum() or unicodedata.category(c)[0] == "M" else " " for c in term)
    return "".join(characters).split()


def rarest(terms: Iterable[str], frequency: Callable[[str], int]) -> list[str]:
    """Return the terms of a query to search: those in the index, the rarest first.

    They have up to :data:`POSTINGS` occurrences in the index together, and are at least three.
    """
    counted = sorted((n, t) for t in dict.fromkeys(terms) if (n := frequency(t)))
    chosen: list[str] = []
    total = 0
    for n, term in counted[:_MOST]:
        total += n
        if total > POSTINGS and len(chosen) >= _LEAST:
            break
        chosen.append(term)
    return chosen
