"""Kinds of findings by the words of statement and sources."""

from __future__ import annotations

from collections.abc import Sequence

from veridical.text.facts import Facts
from veridical.text.memo import kept
from veridical.text.polarity import opposes
from veridical.text.sentences import split_sentences
from veridical.text.spans import FindingKind
from veridical.text.stems import content_stems
from veridical.text.values.compare import findings
from veridical.text.values.order import turned_round

#: Minimum share of words missing in all sources for a statement to count as an addition.
_MIN_NEW_WORDS = 0.5


def finding_kind(statement: str, contradicted: bool, sources: Sequence[str]) -> FindingKind:
    """Return the kind of a flagged statement.

    Args:
        contradicted: True if a source contradicts it, so that it is not an addition.

    >>> finding_kind("Ada has 30 cats.", True, ["Ada has 20 cats."])
    'figure'
    >>> finding_kind("The king loved bananas.", False, ["Ada met the king."])
    'addition'
    >>> finding_kind("The king met her cat.", True, ["Her cat met the king in Oslo."])
    'relation'
    """
    texts = tuple(sources)
    for found in findings(statement, (0, len(statement)), "", texts):
        if found.status in ("wrong", "absent"):
            date = found.value.kind in ("date", "time")
            return "unit" if found.unit else "date" if date else "figure"
    if turned_round(statement, texts) is not None:
        return "order"
    sentences = [s.text for text in texts for s in split_sentences(text)]
    if any(opposes(statement, sentence) for sentence in sentences):
        return "negation"
    (facts,) = Facts(statement).find([(0, len(statement))])
    known = frozenset[str]().union(*map(_tokens, texts))
    for fact in facts:
        if isinstance(fact.content, tuple) and known.isdisjoint(fact.content):
            return "name"
    said = set(content_stems(statement))
    new = said.difference(*map(_stems, texts))
    if said and not new:
        return "relation"
    if said and not contradicted and len(new) >= _MIN_NEW_WORDS * len(said):
        return "addition"
    return "other"


@kept
def _tokens(text: str) -> frozenset[str]:
    """Return the tokens of a source, for all statements that are compared with it."""
    return frozenset(Facts(text).tokens)


@kept
def _stems(text: str) -> frozenset[str]:
    """Return the stems of a source's content words."""
    return frozenset(content_stems(text))
