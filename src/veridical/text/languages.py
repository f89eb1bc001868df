"""Whether texts read as English, which the embedded models were trained on."""

from __future__ import annotations

import re
from collections.abc import Iterable

_WORD = re.compile(r"[^\W\d_]+")
#: The commonest words of English, which make up two words in five of a text.
_COMMON = frozenset(
    "the of and to a is it for on that with as by at from are be this his her he she they "  # noqa: SIM905
    "not or an which have has had their its there when who what how many much does did "
    "can will would where you my your but if than more one".split()
)
#: Share of common words under which a text is in another language: English has 0.3 to 0.5, other
#: languages that share some of these words ("in", "was", "die") at most 0.1.
_LEAST = 0.12
_ENOUGH = 30  # words that tell


def reads_as_english(texts: Iterable[str]) -> bool | None:
    """Whether most of ``texts`` reads as English; None where there are too few words to tell.

    >>> reads_as_english(["The tower was built in 1912 by the city, and it is 57 m tall."] * 5)
    True
    """
    words = [word.lower() for text in texts for word in _WORD.findall(text)]
    if len(words) < _ENOUGH:
        return None
    return sum(word in _COMMON for word in words) >= _LEAST * len(words)
