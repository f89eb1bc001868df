"""Figures and names of sentences in a language that no model reads."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from veridical.text.languages import language_of

if TYPE_CHECKING:
    from veridical.core.scores import Score, Unit
    from veridical.text.spans import Span

#: Labels and kinds of ``support`` units that are figures.
_FIGURES = frozenset({"number", "date", "figure", "unit"})
_DIGITS = re.compile(r"\d+(?:[.,:/]\d+)*")
#: A figure, and the word or sign after it.
_MEASURED = re.compile(r"\d[\d.,:]*\s?([^\W\d_]+|[%°€$£¥])")
#: Largest whole number that is often written in words, which are recognised in English only.
_WRITTEN_OUT = 20
#: The same if the sources are in another language than the answer.
_WRITTEN_OUT_ABROAD = 100
#: Languages that capitalise nouns: names cannot be distinguished from other nouns.
_CAPITAL_NOUNS = frozenset({"de"})
_SHORTEST_NAME = 3  # letters of a word of a name


def wrong_values(
    support: Score, sentence: Span, answer: str | None, sources: Sequence[str]
) -> list[Unit]:
    """Return the units of figures and names in ``sentence`` that surely differ from the sources.

    A small whole number may be in the sources in words. It counts only next to a word that follows
    another number in the sources (``12 kg`` against ``15 kg``). A name counts only if answer and
    sources are in the same language and none of its words is in the sources.

    Args:
        support: the score of the scorer ``support`` against ``sources``.
        answer: language of the answer; None if unknown.
        sources: texts of the sources.
    """
    spans = [
        u
        for u in support.units
        if u.level == "span" and sentence.start <= u.start < sentence.end and (u.risk or 0) >= 0.5
    ]
    if not spans:
        return []
    text = "\n".join(sources)
    spoken = language_of(text)
    same = spoken is not None and spoken == (language_of(sentence.text) or answer)
    units = frozenset(m.lower() for m in _MEASURED.findall(text))
    found = []
    for unit in spans:
        following = sentence.text[unit.start - sentence.start :]
        if _FIGURES & {unit.label, unit.kind}:
            if _decides(unit.text, following, same, units):
                found.append(unit)
        elif "name" in (unit.label, unit.kind) and same and spoken not in _CAPITAL_NOUNS:
            words = [w for w in unit.text.split() if w[0].isupper() and len(w) >= _SHORTEST_NAME]
            if len(words) > 1 and not any(w.lower() in text.lower() for w in words):
                found.append(unit)
    return found


def _decides(figure: str, following: str, same: bool, units: frozenset[str]) -> bool:
    digits = _DIGITS.search(figure)
    if digits is None:  # in words
        return False
    whole = digits.group()
    most = _WRITTEN_OUT if same else _WRITTEN_OUT_ABROAD
    if not whole.isdecimal() or len(whole) > len(str(most)) or int(whole) > most:
        return True
    measured = _MEASURED.match(following, digits.start())
    return measured is not None and measured.group(1).lower() in units
