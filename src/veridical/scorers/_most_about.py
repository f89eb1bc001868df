"""Selection of the source sentence closest to a text, shown as evidence."""

from __future__ import annotations

from collections.abc import Sequence

from veridical.core.evidence import Evidence
from veridical.core.records import Source
from veridical.core.scores import EvidenceItem
from veridical.text.relevance import candidates as read
from veridical.text.spans import Span


def place_most_about(evidence: Evidence, text: str, candidates: Sequence[str]) -> int:
    """Return the index of the candidate that shares most words with ``text``."""
    return read(tuple(candidates)).place(evidence.words(text))


def sentence_most_about(
    evidence: Evidence, text: str, source: Source, probability: float | None = None
) -> EvidenceItem:
    """Return the sentence of ``source`` that shares most words with ``text``."""
    spans: Sequence[Span] = evidence.once(("sentences of a source", source), source.sentences)
    return most_about_of(evidence, text, [(source, s) for s in spans], probability)


def most_about_of(
    evidence: Evidence,
    text: str,
    sentences: Sequence[tuple[Source, Span]],
    probability: float | None = None,
) -> EvidenceItem:
    """Return the sentence, of ``sentences`` with their sources, that shares most words with
    ``text``.
    """
    source, span = sentences[place_most_about(evidence, text, [s.text for _, s in sentences])]
    return EvidenceItem.at(source, span.start, span.end, probability)
