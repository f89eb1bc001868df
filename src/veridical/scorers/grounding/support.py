"""Lexical support: are the checkable items of an answer to be found in its sources?"""

from __future__ import annotations

from typing import Literal, NamedTuple

from veridical.core.evidence import Evidence
from veridical.core.records import Against, Record, Source
from veridical.core.registry import scorer
from veridical.core.scores import EvidenceItem, Score, Unit
from veridical.errors import NotApplicable
from veridical.text.citations import blanked_markers
from veridical.text.fact_numbers import Date, Number
from veridical.text.fact_sources import FactSources
from veridical.text.facts import Fact, Facts
from veridical.text.spans import Span

NO_ITEMS = "nothing to look up"
#: Items that fewer than half of the sources contain are reported as units of their own.
_UNSUPPORTED = 0.5
AUTO_ORDER: tuple[Against, ...] = ("contexts", "samples", "reference")  # as released


@scorer(
    "support",
    level="sentence",
    needs={"against"},
    source="Veridical: items looked up in sources, after the presence n-gram of Manakul 2023",
    raw_is="confidence",
    presets={"all", "auto", "fast"},
    tuned_on={"wikibio": ()},
)
async def support(
    record: Record,
    evidence: Evidence,
    *,
    against: Literal["auto", "samples", "contexts", "reference"] = "auto",
) -> Score:
    """Share of sources that contain the numbers, dates, names and negations of each sentence.

    The support of an item is the share of samples that contain it (:meth:`FactSources.find`);
    against contexts or references it is 1 where any of them does, else 0. A negation is an item
    only where some source sentence shares most content words: sources of the other polarity do
    not support it.

    A sentence's raw value, in [0, 1], is the average of the mean and the smallest support of its
    items: one wrong figure among many right ones must show, and more of them must show more. The
    response's is the mean over sentences that have items. Risk is one minus either. A sentence
    without items has nothing unsupported: risk 0, labelled "nothing to look up", and no say in the
    response's value. Items with support under one half are units of level "span", labelled
    "number", "date", "name" or "negation"; the sentence's evidence is the first mention of each
    of the others.

    Args:
        against: ``auto`` takes contexts where the record has them, else samples, else reference.

    Raises:
        NotApplicable: blank response, no source, or no item in the whole response.
    """
    text = record.need_answer()
    sources = record.against(against, auto=AUTO_ORDER)
    look_up = _LookUp(sources, Facts(blanked_markers(text)))
    sentences = record.sentences
    facts = look_up.facts.find([(s.start, s.end) for s in sentences])
    units: list[Unit] = []
    supports: list[float] = []
    for sentence, items in zip(sentences, facts, strict=True):
        lookups = [look_up.item(item) for item in items]
        negation = look_up.negation(sentence)
        if negation is not None:
            lookups.append(negation)
        if not lookups:
            units.append(Unit.of(sentence, 0.0, raw=1.0, label=NO_ITEMS))
            continue
        shares = [f.share for f in lookups]
        raw = (sum(shares) / len(shares) + min(shares)) / 2
        supports.append(raw)
        mentions = [f.mention for f in lookups if f.mention is not None and f.share >= _UNSUPPORTED]
        units.append(Unit.of(sentence, 1 - raw, raw=raw, evidence=mentions))
        for f in lookups:
            if f.share < _UNSUPPORTED:
                span = Span(f.start, f.end, text[f.start : f.end])
                against_it = [f.mention] if f.mention is not None else ()
                units.append(
                    Unit.of(
                        span,
                        1 - f.share,
                        raw=f.share,
                        level="span",
                        label=f.kind,
                        evidence=against_it,
                    )
                )
    if not supports:
        raise NotApplicable(NO_ITEMS)
    raw = sum(supports) / len(supports)
    return Score.of(1 - raw, raw=raw, units=units)


class _Found(NamedTuple):
    """An item of the response, and what the sources say to it."""

    kind: str
    start: int
    end: int
    share: float
    mention: EvidenceItem | None


class _LookUp:
    """The sources of one record, read once."""

    def __init__(self, sources: list[Source], facts: Facts) -> None:
        self.facts = facts
        self._sources = sources
        self._read = FactSources([s.text for s in sources])
        self._known: dict[object, tuple[float, EvidenceItem | None]] = {}
        self._vote = sources[0].kind == "sample"

    def item(self, fact: Fact) -> _Found:
        content = fact.content
        key: object = content
        if isinstance(content, (Number, Date)):
            key = content[2:]  # not where it stands
        known = self._known.get(key)
        if known is None:
            known = self._known[key] = self._of(fact)
        return _Found(fact.kind, fact.start, fact.end, *known)

    def _of(self, fact: Fact) -> tuple[float, EvidenceItem | None]:
        mentions = self._read.find(fact)
        if mentions is None:
            return 0.0, None
        share = self._share(mentions.sources, len(self._sources))
        if share < _UNSUPPORTED:
            return share, None
        source = self._sources[mentions.first]
        return share, EvidenceItem.at(source, mentions.start, mentions.end, share)

    def negation(self, sentence: Span) -> _Found | None:
        """Polarity of a sentence, where some source has its counterpart and any is negative."""
        first, stop = self.facts.token_range(sentence.start, sentence.end)
        cue = self.facts.negation(first, stop)
        if cue is None and not self._read.negates:
            return None
        matches = self._read.counterparts(self.facts.stems(first, stop), cue is not None)
        agreeing = [i for i, m in matches.items() if m.agrees]
        opposing = [i for i, m in matches.items() if not m.agrees]
        if not opposing and (cue is None or not agreeing):
            return None
        share = self._share(len(agreeing), len(agreeing) + len(opposing))
        i = agreeing[0] if share >= _UNSUPPORTED else opposing[0]
        mention = EvidenceItem.at(self._sources[i], matches[i].start, matches[i].end, share)
        start, end = (sentence.start, sentence.end) if cue is None else self.facts.extent(cue, cue)
        return _Found("negation", start, end, share, mention)

    def _share(self, yes: int, total: int) -> float:
        return yes / total if self._vote else float(yes > 0)
