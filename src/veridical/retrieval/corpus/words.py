"""Words as the index of a corpus has them, and which of them a query asks for."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterable

from veridical.claims.bm25 import terms
from veridical.text.words import lower_words

#: Occurrences in the index that a query may have to look through: its rarest words are asked for.
POSTINGS = 10_000
#: Words that are asked for however frequent they are.
_LEAST = 3
_MOST = 64
_ACCENTS = dict.fromkeys(range(768, 880))


def index_terms(text: str) -> list[str]:
    """The terms of ``text``, in order: words in lower case, without accents.

    >>> index_terms("Émile Zola's café, no. 3.")
    ['emile', 'zola', 's', 'cafe', 'no', '3']
    """
    tokens: list[str] = []
    for term in terms(lower_words(text)):
        plain = term if term.isascii() else _folded(term)
        # what the tokenizer of the index would cut, so that its counts can be asked for
        tokens += [plain] if plain.isalnum() else _runs(plain)
    return tokens


def _folded(term: str) -> str:
    return unicodedata.normalize("NFKD", term).translate(_ACCENTS).casefold()


def _runs(term: str) -> list[str]:
    """Runs of letters, digits and marks."""
    characters = (c if c.isalnum() or unicodedata.category(c)[0] == "M" else " " for c in term)
    return "".join(characters).split()


def rarest(terms: Iterable[str], frequency: Callable[[str], int]) -> list[str]:
    """The terms of a query that are looked for: those that the index has, the rarest first, as
    many as come to :data:`POSTINGS` occurrences in the index, and at least three."""
    counted = sorted((n, t) for t in dict.fromkeys(terms) if (n := frequency(t)))
    chosen: list[str] = []
    total = 0
    for n, term in counted[:_MOST]:
        total += n
        if total > POSTINGS and len(chosen) >= _LEAST:
            break
        chosen.append(term)
    return chosen
