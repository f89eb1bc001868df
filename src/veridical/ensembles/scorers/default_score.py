"""Score of a record by the default ensemble."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from veridical.core.language_gate import OPEN, LanguageGate, language_gate, unread_unit
from veridical.core.scores import SHOWN, DecidedBy, EvidenceItem, Score, Unit
from veridical.core.stated import basis_key, states_nothing, stating_sentences
from veridical.core.verdict_cuts import UNCLEAR
from veridical.ensembles.scorers import default_set as default
from veridical.ensembles.scorers.components import missing, scores_of, unscored
from veridical.ensembles.scorers.default_long import LongAnswer, long_answer
from veridical.ensembles.scorers.default_set import Field, MemberRisk
from veridical.errors import NotApplicable
from veridical.scorers.grounding._cited import miscited
from veridical.text.finding_kinds import finding_kind
from veridical.text.scripts import UNREAD
from veridical.text.spans import FindingKind, Span

if TYPE_CHECKING:
    from veridical.core.evidence import Evidence
    from veridical.core.records import Record, Source
    from veridical.core.registry import BoundScorer
    from veridical.scorers.grounding._missed_answer import Missed

_DIGITS = 6  # decimals of risks on which all computers agree
_EVEN = 0.5
_CONTRADICTION = "contradiction"


class _Sentence(NamedTuple):
    """A sentence: its log-odds, the leading field's member risks, and the basis of the risk."""

    span: Span
    odds: float | None
    said: Mapping[str, MemberRisk]
    unread: bool = False
    decided: DecidedBy | None = None


class _Members(NamedTuple):
    """The members used for a record.

    They are the scorers by field and name, their NLI model, the rules of a long answer by field,
    and their scores by key. ``read`` is the basis of each sentence that an NLI model compared with
    contexts, by its start.
    """

    nli: str
    by_field: Mapping[Field, Mapping[str, BoundScorer]]
    long: Mapping[Field, LongAnswer]
    judge: BoundScorer | None
    scores: Mapping[str, Score]
    gate: LanguageGate = OPEN
    read: Mapping[int, DecidedBy] = MappingProxyType({})

    def unread(
        self, record: Record, field: Field, span: Span, said: Mapping[str, MemberRisk]
    ) -> bool:
        """Return True if no member judged a sentence because no model reads it, or its sources."""
        if self.gate.open or any(not default.lexical(name) for name in said):
            return False
        sources = self.gate.sources(given := _sources(record, field))
        return not self.gate.reads_sentence(span) or len(sources) < len(given)

    def wrong_values(self, record: Record, field: Field, span: Span) -> MemberRisk | None:
        """Return the risk by ``support`` of a sentence whose figures or names are surely wrong."""
        bound = self.by_field[field].get(default.FIGURES)
        if bound is None:
            return None
        from veridical.ensembles.scorers.unread import wrong_values

        texts = [s.text for s in _sources(record, field)]
        wrong = wrong_values(self.scores[bound.key], span, self.gate.answer, texts)
        evidence = [item for unit in wrong for item in unit.evidence]
        return MemberRisk(1.0, "unsupported", evidence=evidence) if wrong else None

    def decided(self, field: Field, span: Span, said: Mapping[str, MemberRisk]) -> DecidedBy | None:
        """Return the basis of a sentence's risk; None if it is not compared with contexts, or if
        the passages read are not known."""
        if field != "contexts":
            return None
        return "words" if all(map(default.lexical, said)) else self.read.get(span.start)

    def response(self, field: Field) -> float | None:
        """Return the log-odds by a field's member risks of the whole response."""
        said = self._said_of_response(field)
        long = self.long.get(field)
        return default.odds_of(field, said, self.nli) if long is None else long.odds(said)

    def sentence(self, field: Field, said: Mapping[str, MemberRisk]) -> float | None:
        """Return the log-odds by a field's member risks of a sentence."""
        long = self.long.get(field)
        if long is None:
            return default.odds_of(field, said, self.nli)
        return long.odds(self._said_of_response(field), said)

    def part(self, field: Field, said: Mapping[str, MemberRisk], name: str) -> float:
        """Return a member's contribution to the risk of a sentence."""
        rule = self.long.get(field) or default.fit(field, frozenset(said), self.nli)
        return rule.part(name, said[name].risk)

    def _said_of_response(self, field: Field) -> dict[str, MemberRisk]:
        return {
            name: s
            for name, b in self.by_field[field].items()
            if (s := default.response_risk(self.scores[b.key])) is not None
        }

    def said(self, field: Field, span: Span, alone: bool) -> dict[str, MemberRisk]:
        """Return the members' risks of one sentence, by name."""
        return {
            name: s
            for name, b in self.by_field[field].items()
            if (s := default.sentence_risk(self.scores[b.key], span, alone)) is not None
        }

    def findings(self, field: Field | None, span: Span) -> list[Unit]:
        """Return the values, names and negations of a sentence that the sources do not have."""
        bound = self.by_field.get(field, {}).get(default.FIGURES) if field is not None else None
        units = () if bound is None else self.scores[bound.key].units
        return [
            u
            for u in units
            if u.level == "span" and u.kind and span.start <= u.start and u.end <= span.end
        ]

    def scored(self) -> list[tuple[Field | None, BoundScorer]]:
        """Return the scored members, each with its field."""
        bound: list[tuple[Field | None, BoundScorer]] = [
            (field, b) for field, named in self.by_field.items() for b in named.values()
        ]
        bound += [] if self.judge is None else [(None, self.judge)]
        return [(f, b) for f, b in bound if self.scores[b.key].risk is not None]


async def score(
    record: Record,
    evidence: Evidence,
    against: str,
    judge: bool,
    language_model: str | None,
    prior: float,
) -> Score:
    """Compute the default's score; see :func:`veridical.ensembles.scorers.ensemble.ensemble`."""
    may_ask = default.members(against, judge, language_model)
    asks_nli = any("nli" in b.costs for b in may_ask)
    nli = await evidence.nli_name() if asks_nli else default.MINI
    by_field: dict[Field, Mapping[str, BoundScorer]] = {
        field: named
        for field in default.FIELDS
        if (named := default.members_of(record, field, against, nli, language_model))
    }
    long = {
        field: rule
        for field in by_field
        if (rule := long_answer(record, field, nli, language_model)) is not None
    }
    by_field |= {field: rule.bound for field, rule in long.items()}
    judging = next((b for b in may_ask if b.key == default.JUDGE), None)
    if not by_field and judging is None:
        what = "contexts, reference, samples or log-probabilities"
        raise NotApplicable(f"the record has no {what if against == 'auto' else against}")
    if not any(map(str.isalnum, record.answer)):
        raise NotApplicable("the response contains no word")
    if states_nothing(record):
        from veridical.scorers.grounding._missed_answer import missed_answer

        asks = "contexts" in by_field and asks_nli and not evidence.nli_by_llm()
        missed = await missed_answer(record, evidence) if asks else None
        return _abstention(record, missed)
    asked = {b.key: b for named in by_field.values() for b in named.values()}
    if judging is not None:
        asked[judging.key] = judging
    scores = await scores_of(evidence, asked)
    for field, rule in list(long.items()):
        if not rule.read(scores):
            del long[field]
            by_field[field] = rule.words()
    gate = await language_gate(record, evidence) if asks_nli else OPEN
    read = _read(evidence, by_field)
    members = _Members(nli, by_field, long, judging, scores, gate, read)
    scored = members.scored()
    if not scored:
        if any((s.reason or "").endswith(UNREAD) for s in scores.values()):
            return gate.unread(stating_sentences(record))
        raise unscored("no component is scored", members.scores)
    return _score(record, members, scored, prior)


def _read(
    evidence: Evidence, by_field: Mapping[Field, Mapping[str, BoundScorer]]
) -> dict[int, DecidedBy]:
    """Return the basis of each sentence that the NLI member compared with contexts."""
    bound = by_field.get("contexts", {}).get(default.GROUNDING)
    if bound is None:
        return {}
    return evidence.once(basis_key("contexts", bound.values["top"]), dict)


def _score(
    record: Record,
    members: _Members,
    scored: Sequence[tuple[Field | None, BoundScorer]],
    prior: float,
) -> Score:
    leads = [f for f in default.FIELDS if any(f == field for field, _ in scored)]
    lead = leads[0] if leads else None
    judged = _judged(record, lead, scored)
    sentences = _sentences(record, members, lead, leads[1:], turns=judged == "lexical")
    unread = [s for s in sentences if s.unread]
    if unread and judged == "lexical" and any(s.odds is not None for s in unread):
        judged = "figures"
    odds = (
        None
        if unread and _all_silent(sentences)
        else _response_odds(members, lead, leads[1:], sentences, turns=judged == "lexical")
    )
    judge = _of_judge(members)
    if judge is not None:
        sentences = [_judged_sentence(s, judge, lead, len(sentences) == 1) for s in sentences]
        known = [s.odds for s in sentences if s.odds is not None]
        if known and lead in ("contexts", "reference", None):
            odds = max(known)
        else:
            odds = default.with_judge(odds, default.log_odds(judge.risk or 0.0), lead)
    if odds is None:
        return members.gate.unread([s.span for s in unread])
    even = round(default.sigmoid(odds), _DIGITS)
    risk = round(default.shifted(even, prior), _DIGITS)
    raw: dict[str, Any] = {
        "risk": risk,
        "even_risk": even,
        "judged": judged,
        "nli": members.nli,
        "sets": list(leads),
        "components": {key: s.risk for key, s in members.scores.items()},
        "weights": _weights(members, leads),
        "missing": missing(members.scores),
        "abstained": False,
    }
    texts = [] if lead is None else [s.text for s in _sources(record, lead)]
    units = [
        unit
        for s in sentences
        for unit in (
            _unit(s, lead, members, prior, texts),
            *_pieces(s, lead, members, prior, texts),
        )
    ]
    decided = [s.decided for s in sentences if s.odds is not None and s.decided is not None]
    return Score.of(risk, raw=raw, units=units, decided=decided)


def _abstention(record: Record, missed: Missed | None) -> Score:
    """Return the score of an answer that states nothing: 0, or P(a source answers) if that is
    likely."""
    raw: dict[str, Any] = {"risk": 0.0, "even_risk": 0.0, "judged": None, "nli": None, "sets": []}
    raw |= {"components": {}, "weights": {}, "missing": {}, "abstained": True}
    if missed is None or missed.probability < _EVEN:
        return Score.of(0.0, raw=raw)
    risk = round(missed.probability, _DIGITS)
    item = EvidenceItem.at(missed.source, missed.start, missed.end, risk)
    whole = Span(0, len(record.response), record.response)
    unit = Unit.of(whole, risk, level="response", evidence=[item])
    raw |= {"risk": risk, "even_risk": risk, "missed_answer": {"probability": risk}}
    return Score.of(risk, raw=raw, units=[unit])


def _judged(
    record: Record, lead: Field | None, scored: Sequence[tuple[Field | None, BoundScorer]]
) -> str:
    """Return the basis of the risk: statements judged by ``sources``, ``samples``, ``logprobs``, an
    ``llm`` without any of these, or ``lexical`` comparisons alone."""
    bases = {b.basis(record) for field, b in scored if field == lead or field is None}
    if "sources" in bases:
        return "sources"
    if lead is None:
        return "llm"
    if "agreement" in bases:
        return "logprobs" if lead == "logprobs" else "samples"
    return "lexical"


def _sentences(
    record: Record, members: _Members, lead: Field | None, others: Sequence[Field], turns: bool
) -> list[_Sentence]:
    """Return each sentence by the leading field's members, adjusted by those of other fields."""
    if lead == "logprobs":
        return []
    spans = [s for s in record.sentences if s.text.strip()]
    if lead is None:  # a judge alone
        return [_Sentence(span, None, {}) for span in spans]
    stating = {s.start for s in stating_sentences(record)}
    alone = len(stating) == 1
    sentences = []
    for span in spans:
        said = members.said(lead, span, alone) if span.start in stating else {}
        decided = members.decided(lead, span, said)
        if default.restated(said, span.text):  # NLI models neither compute nor convert
            said = {name: s for name, s in said.items() if default.lexical(name)}
            decided = decided and "values"
        odds = members.sentence(lead, said)
        unread = members.unread(record, lead, span, said) and span.start in stating
        if unread:
            wrong = members.wrong_values(record, lead, span)
            said = {} if wrong is None else {default.FIGURES: wrong}
            odds = None if wrong is None else default.CONTRADICTED_FIGURE
            decided = decided and "values"
        if odds is not None and not unread:
            for field in others:
                other = members.sentence(field, members.said(field, span, alone))
                if other is not None:
                    odds = default.moved(odds, default.SHARES[field] * other, turns)
        sentences.append(_Sentence(span, odds, said, unread, decided))
    sentences = _with_figures(_of_many(sentences, lead, members.nli))
    return _with_citations(record, sentences) if lead == "contexts" else sentences


def _of_many(sentences: Sequence[_Sentence], lead: Field, nli: str) -> list[_Sentence]:
    """Lower each sentence's log-odds by how many there are."""
    less = default.of_many(lead, nli, sum(s.odds is not None for s in sentences))
    return [s if s.odds is None else s._replace(odds=s.odds - less) for s in sentences]


def _with_figures(sentences: Sequence[_Sentence]) -> list[_Sentence]:
    """Raise the log-odds of each sentence with a figure that the sources contradict."""
    return [
        s._replace(
            odds=max(s.odds or 0.0, default.CONTRADICTED_FIGURE), decided=s.decided and "values"
        )
        if default.figures_contradicted(s.said)
        else s
        for s in sentences
    ]


def _with_citations(record: Record, sentences: Sequence[_Sentence]) -> list[_Sentence]:
    """Raise the log-odds of each sentence that cites another source than the one it is from."""
    wrong = miscited(record)
    return [
        s._replace(odds=max(s.odds, default.MISCITED))
        if s.odds is not None and s.span.start in wrong
        else s
        for s in sentences
    ]


def _sources(record: Record, field: Field) -> list[Source]:
    return [] if field == "logprobs" else record.against(field)


def _all_silent(sentences: Sequence[_Sentence]) -> bool:
    return all(s.odds is None for s in sentences)


def _response_odds(
    members: _Members,
    lead: Field | None,
    others: Sequence[Field],
    sentences: Sequence[_Sentence],
    turns: bool,
) -> float | None:
    """Return the log-odds of the response.

    With sources they are those of the worst sentence, otherwise the members' risks of the whole
    response give them.
    """
    known = [s.odds for s in sentences if s.odds is not None]
    if lead is None:
        return None
    if lead in ("contexts", "reference") and known:
        return max(known)
    odds = members.response(lead)
    for field in others:
        other = members.response(field)
        if odds is not None and other is not None:
            odds = default.moved(odds, default.SHARES[field] * other, turns)
    return odds


def _of_judge(members: _Members) -> Score | None:
    """Return the judge's score if it is scored."""
    score = None if members.judge is None else members.scores[members.judge.key]
    return None if score is None or score.risk is None else score


def _judged_sentence(
    sentence: _Sentence, judge: Score, lead: Field | None, alone: bool
) -> _Sentence:
    """Combine a sentence's member risks with the judge's risk."""
    said = default.sentence_risk(judge, sentence.span, alone)
    if said is None:
        return sentence
    odds = default.with_judge(sentence.odds, default.log_odds(said.risk), lead)
    decided = sentence.decided and "judge"
    return sentence._replace(
        odds=odds, said={**sentence.said, default.JUDGE: said}, decided=decided
    )


def _weights(members: _Members, leads: Sequence[Field]) -> dict[str, float]:
    """Return the coefficients of the members' log-odds (of a long answer, their shares of the mean
    quantile) by key, including shares of fields."""
    weights: dict[str, float] = {}
    for i, field in enumerate(leads):
        asked = members.by_field[field]
        named = {n: b for n, b in asked.items() if members.scores[b.key].risk is not None}
        share = default.SHARES[field] if i else 1.0
        long = members.long.get(field)
        if long is None:
            of_name = default.fit(field, frozenset(named), members.nli).coefficients
        else:
            of_name = long.weights(named)
        for name, bound in named.items():
            weights[bound.key] = round(share * of_name.get(name, 0.0), _DIGITS)
    if members.judge is not None and _of_judge(members) is not None:
        share = default.beside_judge(leads[0] if leads else None)
        weights = {key: round(share * w, _DIGITS) for key, w in weights.items()}
        weights[members.judge.key] = 1.0
    return weights


def _unit(
    sentence: _Sentence,
    lead: Field | None,
    members: _Members,
    prior: float,
    texts: Sequence[str],
) -> Unit:
    if sentence.odds is None:
        return unread_unit(sentence.span) if sentence.unread else Unit.of(sentence.span, None)
    even = round(default.sigmoid(sentence.odds), _DIGITS)
    probabilities = None if lead == "samples" else _probabilities(even, sentence.said)
    label = None
    if probabilities is not None:
        label = _label(even, probabilities, lead or "contexts", members.nli, sentence.said)
    if sentence.unread:
        label = "unsupported"
    risk = round(default.shifted(even, prior), _DIGITS)
    flagged = label in (_CONTRADICTION, "neutral", "unsupported")
    if label is None and lead is not None:
        flagged = default.cuts(lead, members.nli).zone(even) == "flagged"
    found = members.findings(lead, sentence.span) if flagged else []
    return Unit.of(
        sentence.span,
        risk,
        raw=even,
        label=label,
        kind=_kind(sentence.span.text, label, found, texts) if flagged else None,
        probabilities=probabilities,
        evidence=_evidence(sentence, lead, members, label, even),
    )


def _kind(
    text: str, label: str | None, found: Sequence[Unit], sources: Sequence[str]
) -> FindingKind | None:
    """Return the kind of a flagged piece: that of its worst finding, else by its words."""
    if found:
        return max(found, key=lambda u: u.risk or 0.0).kind
    return finding_kind(text, label == _CONTRADICTION, sources)


def _pieces(
    sentence: _Sentence,
    lead: Field | None,
    members: _Members,
    prior: float,
    texts: Sequence[str],
) -> Iterator[Unit]:
    """Yield the wrong values and words of a flagged or unclear sentence, found by the leading
    field's members."""
    if sentence.odds is None or lead is None:
        return
    if default.cuts(lead, members.nli).zone(default.sigmoid(sentence.odds)) == "good":
        return
    found = members.findings(lead, sentence.span)
    bound = members.by_field[lead].get(default.WORDS)
    for unit in () if bound is None else members.scores[bound.key].units:
        inside = sentence.span.start <= unit.start and unit.end <= sentence.span.end
        apart = all(unit.end <= f.start or f.end <= unit.start for f in found)
        if unit.level == "span" and inside and apart:
            found.append(unit)
    for unit in sorted(found, key=lambda u: u.start):
        if unit.risk is not None:
            risk = default.shifted(unit.risk, prior)
            kind = unit.kind or _kind(unit.text, unit.label, [], texts)
            yield unit.model_copy(update={"risk": risk, "raw": unit.risk, "kind": kind})


def _probabilities(even: float, said: Mapping[str, MemberRisk]) -> dict[str, float] | None:
    """Return probabilities with entailment 1 - risk; the rest is divided as by the members."""
    given = [s.probabilities for s in said.values() if s.probabilities is not None]
    neutral = sum(p.get("neutral", 0.0) for p in given)
    contradiction = sum(p.get("contradiction", 0.0) for p in given)
    if not given:
        return None
    share = contradiction / (neutral + contradiction) if neutral + contradiction > 0 else 0.0
    return {
        "entailment": round(1 - even, _DIGITS),
        "neutral": round(even * (1 - share), _DIGITS),
        "contradiction": round(even * share, _DIGITS),
    }


def _label(
    even: float,
    probabilities: Mapping[str, float],
    lead: Field,
    nli: str,
    said: Mapping[str, MemberRisk],
) -> str:
    """Return the label of a sentence at the balanced cuts. It is a contradiction if most of the
    evidence against it contradicts it, and a member has a contradicting source."""
    zone = default.cuts(lead, nli).zone(even)
    if zone != "flagged":
        return "entailment" if zone == "good" else UNCLEAR
    if default.figures_contradicted(said):
        return _CONTRADICTION
    share, risk = default.contradicted_from(lead, nli)
    shown = any(s.label == "contradiction" for s in said.values())
    against = shown and even >= risk and probabilities["contradiction"] >= share * even
    return "contradiction" if against else "neutral"


def _evidence(
    sentence: _Sentence, lead: Field | None, members: _Members, label: str | None, even: float
) -> Sequence[EvidenceItem]:
    """Return the evidence of the deciding member: of those on the side taken, the one with the
    largest contribution."""
    side = 1 if even >= _EVEN else -1

    def part(name: str) -> float:
        if lead is None or name == default.JUDGE:
            return default.log_odds(sentence.said[name].risk)
        return members.part(lead, sentence.said, name)

    def rank(name: str) -> tuple[bool, float]:
        said = sentence.said[name]
        return (label is not None and said.label == label, side * part(name))

    return list(_distinct(sentence.said[n] for n in sorted(sentence.said, key=rank, reverse=True)))[
        :SHOWN
    ]


def _distinct(said: Iterator[MemberRisk] | Any) -> Iterator[EvidenceItem]:
    seen = set()
    for one in said:
        for item in one.evidence:
            place = (item.kind, item.index, item.start, item.end)
            if place not in seen:
                seen.add(place)
                yield item
