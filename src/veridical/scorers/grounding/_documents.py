"""Sources joined into documents, with the mapping back to each source."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

from veridical.core.evidence import Evidence
from veridical.core.records import Source
from veridical.core.scores import EvidenceItem
from veridical.scorers._most_about import place_most_about
from veridical.text.sentences import split_sentences

_JOINT = "\n"


@dataclass(frozen=True)
class JoinedSources:
    """One text made of one source or of several, joined by newlines."""

    text: str
    sources: tuple[Source, ...]

    @property
    def kind(self) -> str | None:
        """Return ``context``, ``reference`` or ``sample``; None if there is no source."""
        return self.sources[0].kind if self.sources else None

    def items(self, start: int, end: int, probability: float | None = None) -> list[EvidenceItem]:
        """Return an evidence item for each source that ``text[start:end]`` overlaps."""
        places, at = [], 0
        for source in self.sources:
            first, last = max(start - at, 0), min(end - at, len(source.text))
            if first < last:
                places.append(EvidenceItem.at(source, first, last, probability))
            at += len(source.text) + len(_JOINT)
        return places

    def most_about(
        self,
        evidence: Evidence,
        unit: str,
        start: int = 0,
        end: int | None = None,
        probability: float | None = None,
    ) -> list[EvidenceItem]:
        """Return the sentence between ``start`` and ``end`` that shares most words with
        ``unit``.
        """
        spans = split_sentences(self.text[start:end])
        if not spans:
            return []
        best = spans[place_most_about(evidence, unit, [s.text for s in spans])]
        return self.items(start + best.start, start + best.end, probability)


def documents(sources: Sequence[Source]) -> list[JoinedSources]:
    """Join contexts into one document; each reference and each sample is its own."""
    if sources[0].kind == "context":
        return [JoinedSources(_JOINT.join(s.text for s in sources), tuple(sources))]
    return [JoinedSources(s.text, (s,)) for s in sources]


def over_documents(docs: Sequence[JoinedSources], values: Sequence[float]) -> float:
    """Reduce values of :func:`documents` (larger is better): mean over samples, else maximum."""
    return fmean(values) if docs[0].kind == "sample" else max(values)
