"""Default ensemble: several scorers combined into one calibrated risk per sentence.

``default.json`` has the members and logistic regressions of their log-odds. They are for each of
this project's NLI models and each field for checking a record (contexts, reference, samples,
log-probabilities). Other NLI models use the fits of the small one. If a member with a model is not
scored, the fit without it is used. There is one fit per subset of these members, and one of the
lexical members alone. Lexical members are part of every fit, and add nothing if they have nothing
to compare. ``python training/fit_default.py`` writes the file.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Container, Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from veridical.core.records import AUTO
from veridical.core.registry import REGISTRY, BoundScorer
from veridical.core.scores import EvidenceItem, Score
from veridical.core.verdict_cuts import Cuts, Strictness
from veridical.ensembles.scorers import off_the_shelf
from veridical.scorers.grounding.support import (
    AUTO_ORDER,
    CONTRADICTION,
    FIGURES_FOUND,
    NO_ITEMS,
)

if TYPE_CHECKING:
    from veridical.core.records import Record
    from veridical.text.spans import Span

Field = Literal["contexts", "reference", "samples", "logprobs"]
#: The first field with anything scored leads; the others may adjust its risk, not reverse it.
FIELDS: tuple[Field, ...] = ("contexts", "reference", "samples", "logprobs")
#: Minimum distance of rescaled risks from 0 and 1: risks are rescaled linearly to [EDGE, 1 - EDGE].
EDGE = 0.02
#: Weight of the log-odds of a field that does not lead, relative to the leading one. Not fitted: no
#: labelled answers have several fields.
SHARES: Mapping[Field, float] = {
    "contexts": 0.5,
    "reference": 0.5,
    "samples": 0.5,
    "logprobs": 0.25,
}
#: Weight of the members' log-odds relative to an LLM judge's, which lead. Not fitted: on the
#: labelled sets the members look better than elsewhere (see ``training/fit_judge.py``).
BESIDE_JUDGE = 0.25
#: The same with a reference, where the two are added and either may reverse the other. Members
#: compare two short answers well, and a small judge does not, while a large one is more certain.
BY_REFERENCE = 1.0
#: Minimum log-odds of being wrong of a sentence with a figure or name that the sources contradict.
#: Not fitted: the labelled sets have too few of them.
CONTRADICTED_FIGURE = 2.2
#: The same for a sentence that cites the wrong source.
MISCITED = 1.0
#: Lower bound on the leading field's absolute log-odds after adjustment by other fields.
NEAREST = 0.04
LEXICAL = "lexical"
JUDGE = "statement_judge"
#: NLI model whose fits apply to models without fits of their own.
MINI = "veridical-nli-mini"
#: The member that reads passages of the sources.
GROUNDING = "nli_grounding"
#: The member that finds wrong words.
WORDS = "spans"
#: The member that compares figures.
FIGURES = "support"
#: Members that use a language model, run if one is named.
READERS = frozenset({"explained_surprisal"})


class MemberRisk(NamedTuple):
    """One member's risk of a sentence, or of a response."""

    risk: float
    label: str | None = None
    probabilities: Mapping[str, float] | None = None
    evidence: Sequence[EvidenceItem] = ()


class LogOddsFit(NamedTuple):
    """``log-odds of being wrong = intercept + sum of coefficients x log-odds of the risks``."""

    intercept: float
    coefficients: Mapping[str, float]

    def __call__(self, said: Mapping[str, MemberRisk]) -> float:
        return self.intercept + sum(self.part(name, s.risk) for name, s in said.items())

    def part(self, name: str, risk: float) -> float:
        """Return a member's contribution."""
        return self.coefficients.get(name, 0.0) * log_odds(risk)


class LongFit(NamedTuple):
    """``log-odds of being wrong = intercept + coefficient x log-odds of a mean quantile``."""

    intercept: float
    coefficient: float

    def odds(self, mean: float) -> float:
        """Return the log-odds for a mean quantile in [0, 1]."""
        return self.intercept + self.coefficient * log_odds(mean)


class Contradicted(NamedTuple):
    """Condition for the label ``contradiction`` instead of ``neutral``.

    Attributes:
        share: minimum share of contradiction in the evidence against it, by its members.
        risk: minimum risk of the statement.
    """

    share: float
    risk: float


def log_odds(risk: float, edge: float = EDGE) -> float:
    """Return ``ln(p / (1 - p))`` of a risk rescaled to [edge, 1 - edge], which keeps risks
    distinct."""
    p = edge + (1 - 2 * edge) * risk
    return math.log(p / (1 - p))


def sigmoid(odds: float) -> float:
    """Return the probability with these log-odds."""
    return (1 + math.tanh(odds / 2)) / 2


@cache
def _text() -> str:
    return files("veridical.ensembles.scorers").joinpath("default.json").read_text("utf-8")


@cache
def shipped() -> dict[str, Any]:
    """Return ``default.json``: fits, thresholds, and their data."""
    content: dict[str, Any] = json.loads(_text())
    return content


@cache
def version() -> str:
    """Return 8 hexadecimal digits that change with the file's content."""
    return hashlib.sha256(json.dumps(shipped(), sort_keys=True).encode()).hexdigest()[:8]


def beside_judge(lead: Field | None) -> float:
    """Return the weight of the log-odds of members that compare with ``lead``, relative to a
    judge's."""
    return BY_REFERENCE if lead == "reference" else BESIDE_JUDGE


def with_judge(members: float | None, judge: float, lead: Field | None) -> float:
    """Return the log-odds by an LLM judge, adjusted by the members' if scored."""
    if members is None:
        return judge
    return moved(judge, beside_judge(lead) * members, turns=lead == "reference")


def _entry(field: Field, nli: str) -> dict[str, Any]:
    """Return the file's entry of a field for the NLI model ``nli``."""
    by_nli = shipped()["by_nli"]
    entry: dict[str, Any] = by_nli[nli if nli in by_nli else MINI][field]
    return entry


def nli_models() -> tuple[str, ...]:
    """Return the NLI models with fits of their own."""
    return tuple(shipped()["by_nli"])


def member_names(field: Field, nli: str = MINI) -> tuple[str, ...]:
    """Return the scorers used for a field with the NLI model ``nli``."""
    return tuple(_entry(field, nli)["members"])


#: Cuts of a field without cuts in the file, by strictness.
_CUTS: Mapping[Strictness, tuple[float, float]] = {
    "low": (0.6, 0.8),
    "balanced": (0.5, 0.6667),
    "high": (0.35, 0.5),
}


@cache
def cuts(field: Field, nli: str = MINI, strictness: Strictness = "balanced") -> Cuts:
    """Return the risks at which the verdict on an answer led by ``field`` changes, before any
    prior."""
    entry = _entry(field, nli).get("cuts", {}).get(strictness)
    return Cuts(*_CUTS[strictness]) if entry is None else Cuts(entry["unclear"], entry["flagged"])


@cache
def contradicted_from(field: Field, nli: str = MINI) -> Contradicted:
    """Return the condition for calling a statement contradicted."""
    entry = _entry(field, nli).get("contradicted")
    return Contradicted(0.75, 0.0) if entry is None else Contradicted(**entry)


@cache
def fit(field: Field, members: frozenset[str], nli: str = MINI) -> LogOddsFit:
    """Return the fit of a field for its scored members."""
    names = member_names(field, nli)
    entry = _entry(field, nli)["fits"][fit_name(names, members)]
    return LogOddsFit(entry["intercept"], entry["coefficients"])


def of_many(field: Field, nli: str, sentences: int) -> float:
    """Return the deduction from the log-odds of each of an answer's sentences: of many sentences,
    one looks wrong by chance."""
    share: float = _entry(field, nli).get("of_many", 0.0)
    return share * math.log(max(1, sentences))


def long_over(nli: str = MINI) -> int:
    """Return the maximum characters of an answer that is judged by the fit of its samples."""
    over: int = _entry("samples", nli)["long"]["over"]
    return over


@cache
def long_fit(read: bool, nli: str = MINI) -> LongFit:
    """Return the fit of longer answers with samples, with or without a ``read`` by a language
    model."""
    return LongFit(**_entry("samples", nli)["long"]["read" if read else "plain"])


def fit_name(names: Sequence[str], scored: Container[str]) -> str:
    """Return the name of the fit for a field's members ``names``, some of which are scored: the
    members with a model, or ``lexical``."""
    return "+".join(n for n in names if n in scored and not lexical(n)) or LEXICAL


def lexical(name: str) -> bool:
    """Return True if a member compares words, without a model."""
    return REGISTRY.get(name).cost == "free"


def members(against: str, judge: bool, language_model: str | None) -> tuple[BoundScorer, ...]:
    """Return every scorer that may be used, under each of its possible calls.

    Args:
        language_model: model of the members that need one; without it they are left out.
    """
    bound = {
        b.key: b
        for field in FIELDS
        if against in ("auto", field)
        for nli in nli_models()
        for name in member_names(field, nli)
        for b in _calls(name, field, language_model)
    }
    if against in ("auto", "samples"):  # for long answers
        bound |= {b.key: b for b in off_the_shelf.members("samples", False, language_model)}
    if judge:
        bound[JUDGE] = REGISTRY.bind(JUDGE, {})
    return tuple(bound.values())


def members_of(
    record: Record, field: Field, against: str, nli: str, language_model: str | None
) -> dict[str, BoundScorer]:
    """Return the scorers for a field of a record, by name; empty if it lacks the field."""
    if against not in ("auto", field) or not record.has(field):
        return {}
    bound = {}
    for name in member_names(field, nli):
        calls = _calls(name, field, language_model)
        if not calls:
            continue
        order = AUTO_ORDER if name == "support" else AUTO
        first = next((f for f in order if record.has(f)), None)
        shortest = against == "auto" and first == field
        bound[name] = calls[0] if shortest else calls[-1]
    return bound


@cache
def _calls(name: str, field: Field, language_model: str | None) -> tuple[BoundScorer, ...]:
    """Return a scorer's calls for a field, also with ``against=auto`` if it has that.

    Without a language model, a scorer that needs one has no calls.
    """
    if name in READERS and language_model is None:
        return ()
    scorer = REGISTRY.get(name)
    given: dict[str, Any] = {"proxy": language_model} if name in READERS else {}
    if field not in scorer.comparisons:
        return (REGISTRY.bind(name, given),)
    default = scorer.defaults["against"]
    explicit = REGISTRY.bind(name, given if default == field else {**given, "against": field})
    return (REGISTRY.bind(name, given), explicit) if default == "auto" else (explicit,)


def sentence_risk(score: Score, sentence: Span, alone: bool) -> MemberRisk | None:
    """Return a score's risk of a sentence: that of the worst unit in it.

    A scorer of whole responses has its risk if the sentence is ``alone``. None without either.
    """
    if score.status != "scored" or score.risk is None:
        return None
    units = [u for u in score.units if u.level in ("sentence", "claim")]
    if not units:
        return MemberRisk(score.risk) if alone else None
    here = [
        u
        for u in units
        if u.start < sentence.end
        and u.end > sentence.start
        and u.risk is not None
        and u.label != NO_ITEMS
    ]
    if not here:
        return None
    worst = max(here, key=lambda u: u.risk or 0.0)
    return MemberRisk(worst.risk or 0.0, worst.label, worst.probabilities, worst.evidence)


def response_risk(score: Score) -> MemberRisk | None:
    """Return a score's risk of the whole response."""
    return MemberRisk(score.risk) if score.status == "scored" and score.risk is not None else None


def restated(said: Mapping[str, MemberRisk], sentence: str) -> bool:
    """Return True if all figures of a sentence are supported, and one of them is not a copy.

    That one has another form than in its source ("two hours" for "120 minutes"), or is the result
    of a computation.
    """
    figures = said.get(FIGURES)
    if figures is None or figures.label != FIGURES_FOUND:
        return False
    low = sentence.lower()
    return any(item.computed or item.text.lower() not in low for item in figures.evidence)


def figures_contradicted(said: Mapping[str, MemberRisk]) -> bool:
    """Return True if a source has a different value for one of a sentence's figures."""
    figures = said.get(FIGURES)
    return figures is not None and figures.label == CONTRADICTION


def odds_of(field: Field, said: Mapping[str, MemberRisk], nli: str) -> float | None:
    """Return the log-odds of being wrong by the members' risks; None without any."""
    if not said:
        return None
    return fit(field, frozenset(said), nli)(said)


def moved(lead: float, others: float, turns: bool) -> float:
    """Adjust the leading log-odds by ``others``; the sign changes only if they may ``turn`` it."""
    both = lead + others
    if turns:
        return both
    return max(both, min(lead, NEAREST)) if lead >= 0 else min(both, max(lead, -NEAREST))


def shifted(risk: float, prior: float) -> float:
    """Convert a risk at equal numbers of right and wrong answers to a share ``prior`` of wrong
    ones."""
    wrong = risk * prior
    return wrong / (wrong + (1 - risk) * (1 - prior)) if prior != 0.5 else risk
