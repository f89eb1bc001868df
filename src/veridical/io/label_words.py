"""Labels written as words."""

from __future__ import annotations

import re

from veridical.io.problems import LABEL, RowProblem
from veridical.text.display import shown

#: Word -> label: 0 right, 1 hallucinated.
_WORDS = {
    **dict.fromkeys(("right", "correct", "pass", "good", "false"), 0.0),
    **dict.fromkeys(("wrong", "incorrect", "fail", "bad", "true"), 1.0),
}
_YES = {"yes": 0.0, "y": 0.0, "no": 1.0, "n": 1.0}
#: Names of columns in which "yes" means that the answer is wrong.
_OF_WRONG = re.compile(
    r"hallucinat|wrong|incorrect|error|fail|bad|unsupported|unfaithful|false", re.IGNORECASE
)


def label_of(text: str, column: str = "label") -> float | None:
    """Return the label that a text states; None if it is empty.

    Args:
        column: its column. Yes means right, except in a column named after errors, such as
            ``is_wrong``.

    Raises:
        RowProblem: the text is not a number or one of the words.
    """
    word = text.strip().lower()
    if not word:
        return None
    if word in _YES:
        return 1.0 - _YES[word] if _OF_WRONG.search(column) else _YES[word]
    if word in _WORDS:
        return _WORDS[word]
    try:
        return float(word)
    except ValueError:
        raise RowProblem(f"must be {LABEL}, got {shown(text)}", column) from None


def is_word(text: str) -> bool:
    """Return True if a text is one of the label words."""
    word = text.strip().lower()
    return word in _WORDS or word in _YES
