"""Lexical support: checkable items of an answer found in its sources."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Literal, NamedTuple

from veridical.core.evidence import Evidence
from veridical.core.prompt_text import message_text
from veridical.core.records import Against, Record, Source
from veridical.core.registry import scorer
from veridical.core.scores import EvidenceItem, Score, Unit
from veridical.errors import NotApplicable
from veridical.text.aliases import definitions, in_words_of
from veridical.text.citations import blanked_markers
from veridical.text.fact_sources import FactSources, Match, Mentions
from veridical.text.facts import Fact, Facts, same_length_lower
from veridical.text.polarity import opposes
from veridical.text.spans import FindingKind, Span
from veridical.text.structure.owners import other_value
from veridical.text.values.calendar import falls_on
from veridical.text.values.compare import findings
from veridical.text.values.cues import cues_of
from veridical.text.values.finding import ValueFinding
from veridical.text.values.order import turned_round
from veridical.text.values.places import placed
from veridical.text.values.sources import ValuePlace, source_values
from veridical.text.values.value import Value
from veridical.text.values.weekdays import day_mention, days_in

NO_ITEMS = "nothing to look up"
#: Label of a sentence whose figures are all in the sources or computed from them.
FIGURES_FOUND = "figures found"
CONTRADICTION = "contradiction"
#: Items that fewer than half of the sources contain are reported as units.
_UNSUPPORTED = 0.5
#: Support of a value that no source has, if none has another value in its place.
_ABSENT = 0.1
#: Operations whose words announce a computed value.
_OPERATIONS = frozenset({"sum", "mean"})
_PRONOUN_LOOKBACK_CHARACTERS = 300  # before a sentence, for its pronoun's name
_FIGURES = re.compile(r"\d+")
_UTC = re.compile(r"(?<=\d)(?:Z(?![^\W_])|[+-]00:?00)")
AUTO_ORDER: tuple[Against, ...] = ("contexts", "samples", "reference")  # as released


@scorer(
    "support",
    level="sentence",
    version=4,
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
    """Look up the figures, dates, names and negations of each sentence in the sources.

    A figure, amount, date or time is supported if a source states an equal one for the same owner
    (row, column, name or clause). Form and unit may differ. It is also supported if a computation
    that the sentence announces yields it from values of the sources (see
    :func:`~veridical.text.values.compare.findings`). Against samples the support of any item is the
    share of samples that contain it. Against contexts or references it is 1 if any contains it,
    else 0. It is 0.1 for a value that no source has if no source has another value in its place. A
    negation is an item only if some source sentence shares most content words; sources of the
    opposite polarity do not support it.

    A sentence's raw value, in [0, 1], is the average of the mean and the minimum support of its
    items. So one wrong figure among many is visible, and several lower the value further. The
    response's is the mean over sentences that have items. ``risk = 1 - raw`` for both. A sentence
    without items has risk 0, is labelled "nothing to look up" and does not count for the response.

    A sentence is labelled "contradiction" if a source has another value in place of its own, or
    assigns the value to another owner. The same holds if a source negates the same words, or has
    them in another order ("B beat A" for "A beat B"). It also holds if a name has the value of
    another ("The CFO is Bo" for "CEO: Bo, CFO: Ann"). Its raw value is then 0. It is labelled
    "figures found" if it has figures and all are found or computed. Items with support under one
    half are units of level "span", labelled "number", "date", "name", "negation" or "order". Their
    kind is figure, date, unit, computed, name, negation, order or relation. Evidence is the first
    mention of each item, with the derivation of a computed value, or the source's own value for a
    contradicted one.

    Args:
        against: ``auto`` takes contexts if the record has them, else samples, else reference.

    Raises:
        NotApplicable: the response is blank or has no item, or there is no source.
    """
    text = record.need_answer()
    sources = record.against(against, auto=AUTO_ORDER)
    marked = blanked_markers(text)
    look_up = _LookUp(sources, marked, _question(record))
    sentences = record.sentences
    facts = look_up.facts.find([(s.start, s.end) for s in sentences])
    units: list[Unit] = []
    supports: list[float] = []
    for sentence, items in zip(sentences, facts, strict=True):
        names = (look_up.name(item) for item in items if item.kind == "name")
        lookups = [name for name in names if name is not None]
        lookups += look_up.values(sentence)
        lookups.sort(key=lambda f: f.start)
        for more in (
            look_up.negation(sentence),
            look_up.order(sentence),
            look_up.owner(sentence),
        ):
            if more is not None:
                lookups.append(more)
        if not lookups:
            units.append(Unit.of(sentence, 0.0, raw=1.0, label=NO_ITEMS))
            continue
        shares = [f.share for f in lookups]
        raw = (sum(shares) / len(shares) + min(shares)) / 2
        label = None
        if any(f.wrong for f in lookups):
            raw, label = 0.0, CONTRADICTION
        elif any(f.kind in ("number", "date") for f in lookups) and all(
            f.share >= _UNSUPPORTED for f in lookups if f.kind in ("number", "date")
        ):
            label = FIGURES_FOUND
        supports.append(raw)
        against_it = [f for f in lookups if f.wrong] if label == CONTRADICTION else []
        shown = against_it or [f for f in lookups if f.share >= _UNSUPPORTED]
        mentions = [f.mention for f in shown if f.mention is not None]
        units.append(Unit.of(sentence, 1 - raw, raw=raw, label=label, evidence=mentions))
        for f in lookups:
            if f.share < _UNSUPPORTED:
                span = Span(f.start, f.end, text[f.start : f.end])
                units.append(
                    Unit.of(
                        span,
                        1 - f.share,
                        raw=f.share,
                        level="span",
                        label=f.kind,
                        kind=f.finding,
                        evidence=[f.mention] if f.mention is not None else (),
                    )
                )
    if not supports:
        raise NotApplicable(NO_ITEMS)
    raw = sum(supports) / len(supports)
    return Score.of(1 - raw, raw=raw, units=units)


def _question(record: Record) -> str:
    """Return the question: the last message of a chat."""
    prompt = record.prompt
    if prompt and not isinstance(prompt, str):
        return message_text(prompt[-1].get("content")) or ""
    return str(prompt or "")


class _Found(NamedTuple):
    """An item of the response, and its status in the sources.

    ``wrong`` is True if a source contradicts it.
    """

    kind: Literal["number", "date", "name", "negation", "order"]
    start: int
    end: int
    share: float
    mention: EvidenceItem | None
    finding: FindingKind
    wrong: bool = False


class _LookUp:
    """The sources of one record, parsed once."""

    def __init__(self, sources: list[Source], text: str, question: str) -> None:
        self.facts = Facts(text)
        self._text = text
        self._question = question
        self._question_words = frozenset(Facts(question).tokens)
        self._sources = sources
        self._texts = tuple(s.text for s in sources)
        self._read = FactSources(self._texts)
        self._known: dict[tuple[str, ...], tuple[float, EvidenceItem | None]] = {}
        self._vote = sources[0].kind == "sample"

    def name(self, fact: Fact) -> _Found | None:
        """Look up a name; None if only the question has it, so that the answer adds nothing."""
        assert isinstance(fact.content, tuple)
        key = fact.content
        known = self._known.get(key)
        if known is None:
            known = self._known[key] = self._name(fact)
        if not known[0] and not self._vote and all(self._asked(word) for word in key):
            return None
        return _Found("name", fact.start, fact.end, *known, "name")

    def _asked(self, word: str) -> bool:
        return word in self._question_words

    def _name(self, fact: Fact) -> tuple[float, EvidenceItem | None]:
        mentions = self._read.find(fact) or self._by_calendar(fact) or self._by_other_name(fact)
        if mentions is None:
            return 0.0, None
        share = self._share(mentions.sources, len(self._sources))
        if share < _UNSUPPORTED:
            return share, None
        source = self._sources[mentions.first]
        return share, EvidenceItem.at(source, mentions.start, mentions.end, share)

    def _by_calendar(self, fact: Fact) -> Mentions | None:
        """Find mentions of a weekday ("Wed", "Wednesdays", within "Mon-Thu"), or UTC as "Z"."""
        name = self._text[fact.start : fact.end]
        if name == "UTC":
            places = {i: m.span() for i, t in enumerate(self._texts) if (m := _UTC.search(t))}
        else:
            days = days_in(name)
            places = {i: p for i, t in enumerate(self._texts) if (p := day_mention(t, days))}
            for i, read in enumerate(source_values(self._texts).texts if not places else ()):
                if days and (date := falls_on(days, read.values)):
                    places[i] = date.start, date.end
        if not places:
            return None
        first = min(places)
        return Mentions(len(places), first, *places[first])

    def _by_other_name(self, fact: Fact) -> Mentions | None:
        """Find mentions of the long or short form of a name: "UN" for "United Nations"."""
        name = self._text[fact.start : fact.end]
        for text in self._texts:
            other = in_words_of(name, text, definitions(text))
            if other != name:
                words = tuple(same_length_lower(other).replace(".", " ").split())
                if words and (mentions := self._read.find(fact._replace(content=words))):
                    return mentions
        return None

    def values(self, sentence: Span) -> list[_Found]:
        """Look up the figures and dates of a sentence."""
        if self._vote:
            return self._votes(sentence)
        return [
            self._value(finding, sentence)
            for finding in findings(
                self._text, (sentence.start, sentence.end), self._question, self._texts
            )
            if finding.status != "open"
        ]

    def _computes(self, sentence: Span) -> bool:
        """Return True if the sentence announces an operation that no source announces."""
        stated = frozenset[str]().union(*map(cues_of, self._texts))
        return bool((cues_of(sentence.text) & _OPERATIONS) - stated)

    def _value(self, found: ValueFinding, sentence: Span) -> _Found:
        value = found.value
        date = value.kind in ("date", "time")
        kind: Literal["number", "date"] = "date" if date else "number"
        finding: FindingKind = "unit" if found.unit else "date" if date else "figure"
        if finding == "figure" and found.status in ("wrong", "absent") and self._computes(sentence):
            finding = "computed"
        share = {"found": 1.0, "computed": 1.0, "wrong": 0.0}.get(found.status, _ABSENT)
        mention = None
        if found.source >= 0:
            source = self._sources[found.source]
            computed = found.computed or None
            mention = EvidenceItem.at(source, found.start, found.end, share, computed)
        wrong = found.status == "wrong"
        return _Found(kind, value.start, value.end, share, mention, finding, wrong)

    def _votes(self, sentence: Span) -> list[_Found]:
        """Return values with the share of samples that state an equal one.

        Both ends of a range are separate items; a span of years states no year in between.
        """
        read = source_values(self._texts)
        answer = placed(self._text)
        found: list[_Found] = []
        done = sentence.start
        within = answer.within(sentence.start, sentence.end)
        for i in within:
            value = answer.values[i]
            if value.start < done or (value.kind == "ordinal" and value.spelt):
                continue
            if i < within[-1] and answer.values[i + 1].end <= value.end:
                continue
            done = value.end
            for item in self._ends(value):
                equals = read.equals(item, sentence.text, answer.leaf(i))
                places = [p for p in equals if read.value(p).states_year_of(item)]
                found.append(self._voted(item, places))
        return found

    def _ends(self, value: Value) -> list[Value]:
        """Return the years of a span of years with their places; any other value unchanged."""
        years = value.years()
        figures = list(_FIGURES.finditer(self._text, value.start, value.end))
        if len(years) != 2 or len(figures) != 2:
            return [value]
        return [
            replace(year, start=match.start(), end=match.end())
            for year, match in zip(years, figures, strict=True)
        ]

    def _voted(self, value: Value, places: Sequence[ValuePlace]) -> _Found:
        kind: Literal["number", "date"] = "date" if value.kind in ("date", "time") else "number"
        finding: FindingKind = "date" if kind == "date" else "figure"
        share = self._share(len({p.source for p in places}), len(self._sources))
        mention = None
        if share >= _UNSUPPORTED:
            theirs = source_values(self._texts).value(places[0])
            source = self._sources[places[0].source]
            mention = EvidenceItem.at(source, theirs.start, theirs.end, share)
        return _Found(kind, value.start, value.end, share, mention, finding)

    def order(self, sentence: Span) -> _Found | None:
        """Find a source sentence with the words of ``sentence`` in an order with another
        meaning.
        """
        if self._vote:
            return None
        turned = turned_round(sentence.text, self._texts)
        if turned is None:
            return None
        mention = EvidenceItem.at(self._sources[turned.source], turned.start, turned.end, 0.0)
        return _Found("order", sentence.start, sentence.end, 0.0, mention, "order", True)

    def owner(self, sentence: Span) -> _Found | None:
        """Find the source's value of a name that ``sentence`` gives the value of another name."""
        if self._vote:
            return None
        other = other_value(sentence.text, self._question, self._texts)
        if other is None:
            return None
        mention = EvidenceItem.at(self._sources[other.source], other.start, other.end, 0.0)
        return _Found("order", sentence.start, sentence.end, 0.0, mention, "relation", True)

    def negation(self, sentence: Span) -> _Found | None:
        """Return the polarity of a sentence if a source has its counterpart and either is
        negative.
        """
        first, stop = self.facts.token_range(sentence.start, sentence.end)
        cue = self.facts.negation(first, stop)
        if cue is None and not self._read.negates:
            return None
        matches = self._read.counterparts(self.facts.stems(first, stop), cue is not None)
        agreeing = [i for i, m in matches.items() if m.agrees]
        opposing = [i for i, m in matches.items() if not m.agrees]
        wrong = False
        if not self._vote:  # one source may state everything: only a certain opposite counts
            opposing = [i for i in opposing if self._opposes(sentence, i, matches[i])]
            wrong = bool(opposing) and not agreeing
        if not opposing and (cue is None or not agreeing):
            return None
        share = self._share(len(agreeing), len(agreeing) + len(opposing))
        i = agreeing[0] if share >= _UNSUPPORTED else opposing[0]
        mention = EvidenceItem.at(self._sources[i], matches[i].start, matches[i].end, share)
        start, end = (sentence.start, sentence.end) if cue is None else self.facts.extent(cue, cue)
        return _Found("negation", start, end, share, mention, "negation", wrong)

    def _opposes(self, sentence: Span, source: int, match: Match) -> bool:
        text = self._texts[source]
        before = text[max(0, match.start - _PRONOUN_LOOKBACK_CHARACTERS) : match.start]
        return opposes(sentence.text, text[match.start : match.end], before)

    def _share(self, yes: int, total: int) -> float:
        return yes / total if self._vote else float(yes > 0)
