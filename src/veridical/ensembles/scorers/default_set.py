"""Default ensemble: combine several scorers into one calibrated risk per sentence.

For each of this project's NLI models and each field that a record can be checked by (contexts,
reference, samples, log-probabilities) ``default.json`` has the members and logistic regressions of
their log-odds. Other NLI models use the fits of the small one. Where a member that reads by a
model is not scored, the fit without it is used: there is one fit per subset of these members, and
one of the lexical members alone. Lexical members count in every fit, and add nothing where they
find nothing to compare. ``python training/fit_default.py`` writes the file.
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
#: The first that has anything scored leads; the others may move its risk, not turn it.
FIELDS: tuple[Field, ...] = ("contexts", "reference", "samples", "logprobs")
#: Members' risks are drawn towards 0.5 until they are at least this far from 0 and 1.
EDGE = 0.02
#: What the log-odds of a field that does not lead count, beside those of the one that does. Not
#: fitted: no labelled answers have several fields.
SHARES: Mapping[Field, float] = {
    "contexts": 0.5,
    "reference": 0.5,
    "samples": 0.5,
    "logprobs": 0.25,
}
#: What the members' log-odds count beside an LLM judge's, which lead. Not fitted: on the sets with
#: labels the members look better than they are elsewhere (``training/fit_judge.py`` shows them).
BESIDE_JUDGE = 0.25
#: The same by a reference, where the two add up and either may turn the other: members compare two
#: short answers well, and a small judge does not, while a large one is far surer than they are.
BY_REFERENCE = 1.0
#: Least log-odds of being wrong of a sentence with a figure or name that the sources contradict.
#: Not fitted: the sets with labels have too few of them.
CONTRADICTED_FIGURE = 2.2
#: The same of a sentence that cites the wrong source.
MISCITED = 1.0
#: How near to 0 what does not lead may bring the log-odds of what does.
NEAREST = 0.04
LEXICAL = "lexical"
JUDGE = "statement_judge"
#: The NLI model whose fits hold with a model that has none of its own.
MINI = "veridical-nli-mini"
#: The member that tells which words are wrong.
WORDS = "spans"
#: The member that compares figures.
FIGURES = "support"
#: Members that read by a language model, asked where one is named.
READERS = frozenset({"explained_surprisal"})


class MemberRisk(NamedTuple):
    """What one member says of a sentence, or of a response."""

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
        """What a member adds."""
        return self.coefficients.get(name, 0.0) * log_odds(risk)


class LongFit(NamedTuple):
    """``log-odds of being wrong = intercept + coefficient x log-odds of a mean quantile``."""

    intercept: float
    coefficient: float

    def odds(self, mean: float) -> float:
        """Of a mean quantile in [0, 1]."""
        return self.intercept + self.coefficient * log_odds(mean)


class Contradicted(NamedTuple):
    """When a statement is called contradicted, rather than unsupported.

    Attributes:
        share: the least share of contradiction in what speaks against it, by its members.
        risk: the least risk of it.
    """

    share: float
    risk: float


def log_odds(risk: float, edge: float = EDGE) -> float:
    """``ln(p / (1 - p))`` of a risk drawn into [edge, 1 - edge], so that no two become one."""
    p = edge + (1 - 2 * edge) * risk
    return math.log(p / (1 - p))


def sigmoid(odds: float) -> float:
    """The probability that has those log-odds."""
    return (1 + math.tanh(odds / 2)) / 2


@cache
def _text() -> str:
    return files("veridical.ensembles.scorers").joinpath("default.json").read_text("utf-8")


@cache
def shipped() -> dict[str, Any]:
    """``default.json``: fits, thresholds, and what they were fitted on."""
    content: dict[str, Any] = json.loads(_text())
    return content


@cache
def version() -> str:
    """8 hexadecimal digits that change with the file's content."""
    return hashlib.sha256(json.dumps(shipped(), sort_keys=True).encode()).hexdigest()[:8]


def beside_judge(lead: Field | None) -> float:
    """What the log-odds of members that compare with ``lead`` count beside an LLM judge's."""
    return BY_REFERENCE if lead == "reference" else BESIDE_JUDGE


def with_judge(members: float | None, judge: float, lead: Field | None) -> float:
    """Log-odds of being wrong by an LLM judge, moved by the members' where they have scored."""
    if members is None:
        return judge
    return moved(judge, beside_judge(lead) * members, turns=lead == "reference")


def _entry(field: Field, nli: str) -> dict[str, Any]:
    """What the file has of a field where the NLI model ``nli`` judges."""
    by_nli = shipped()["by_nli"]
    entry: dict[str, Any] = by_nli[nli if nli in by_nli else MINI][field]
    return entry


def nli_models() -> tuple[str, ...]:
    """The NLI models that have fits of their own."""
    return tuple(shipped()["by_nli"])


def member_names(field: Field, nli: str = MINI) -> tuple[str, ...]:
    """The scorers that are asked about a field where ``nli`` judges."""
    return tuple(_entry(field, nli)["members"])


#: The cuts of a field that has none in the file, by strictness.
_CUTS: Mapping[Strictness, tuple[float, float]] = {
    "low": (0.6, 0.8),
    "balanced": (0.5, 0.6667),
    "high": (0.35, 0.5),
}


@cache
def cuts(field: Field, nli: str = MINI, strictness: Strictness = "balanced") -> Cuts:
    """Return the risks at which the verdict on an answer that ``field`` leads changes, before any
    prior."""
    entry = _entry(field, nli).get("cuts", {}).get(strictness)
    return Cuts(*_CUTS[strictness]) if entry is None else Cuts(entry["unclear"], entry["flagged"])


@cache
def contradicted_from(field: Field, nli: str = MINI) -> Contradicted:
    """Return when a statement is called contradicted."""
    entry = _entry(field, nli).get("contradicted")
    return Contradicted(0.75, 0.0) if entry is None else Contradicted(**entry)


@cache
def fit(field: Field, members: frozenset[str], nli: str = MINI) -> LogOddsFit:
    """The fit of a field by those of its members that are scored."""
    names = member_names(field, nli)
    entry = _entry(field, nli)["fits"][fit_name(names, members)]
    return LogOddsFit(entry["intercept"], entry["coefficients"])


def of_many(field: Field, nli: str, sentences: int) -> float:
    """Return what is taken off the log-odds of each of an answer's sentences, as of many one looks
    wrong by chance."""
    share: float = _entry(field, nli).get("of_many", 0.0)
    return share * math.log(max(1, sentences))


def long_over(nli: str = MINI) -> int:
    """How many characters an answer has at most that is judged by the fit of its samples."""
    over: int = _entry("samples", nli)["long"]["over"]
    return over


@cache
def long_fit(read: bool, nli: str = MINI) -> LongFit:
    """The fit of longer answers by samples, where a language model has ``read`` them or not."""
    return LongFit(**_entry("samples", nli)["long"]["read" if read else "plain"])


def fit_name(names: Sequence[str], scored: Container[str]) -> str:
    """The name of the fit for a field's members ``names`` of which some are scored: those that
    read by a model, or ``lexical``."""
    return "+".join(n for n in names if n in scored and not lexical(n)) or LEXICAL


def lexical(name: str) -> bool:
    """Whether a member compares words, without a model."""
    return REGISTRY.get(name).cost == "free"


def members(against: str, judge: bool, language_model: str | None) -> tuple[BoundScorer, ...]:
    """Every scorer that may be asked, under each call by which it may be.

    Args:
        language_model: that members read by; None: those that need one are not asked.
    """
    bound = {
        b.key: b
        for field in FIELDS
        if against in ("auto", field)
        for nli in nli_models()
        for name in member_names(field, nli)
        for b in _calls(name, field, language_model)
    }
    if against in ("auto", "samples"):  # of long answers
        bound |= {b.key: b for b in off_the_shelf.members("samples", False, language_model)}
    if judge:
        bound[JUDGE] = REGISTRY.bind(JUDGE, {})
    return tuple(bound.values())


def members_of(
    record: Record, field: Field, against: str, nli: str, language_model: str | None
) -> dict[str, BoundScorer]:
    """The scorers to ask about a field of a record, by name; none where it lacks the field."""
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
    """A scorer set against a field: where it takes what the record has, also left to do so. None
    of one that needs a language model where there is none."""
    if name in READERS and language_model is None:
        return ()
    scorer = REGISTRY.get(name)
    given: dict[str, Any] = {"proxy": language_model} if name in READERS else {}
    if field not in scorer.comparisons:
        return (REGISTRY.bind(name, given),)
    default = scorer.defaults["against"]
    explicit = REGISTRY.bind(name, given if default == field else {**given, "against": field})
    return (REGISTRY.bind(name, given), explicit) if default == "auto" else (explicit,)


def said_of(score: Score, sentence: Span, alone: bool) -> MemberRisk | None:
    """What a score says of a sentence: the worst of its units there; of a scorer of whole
    responses its risk, where the sentence is ``alone``. None where it says nothing."""
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


def said_of_response(score: Score) -> MemberRisk | None:
    """What a score says of the whole response."""
    return MemberRisk(score.risk) if score.status == "scored" and score.risk is not None else None


def restated(said: Mapping[str, MemberRisk], sentence: str) -> bool:
    """Return True if all figures of a sentence are supported, and one of them in another form than
    that of its source ("two hours" for "120 minutes"), or as the result of a computation."""
    figures = said.get(FIGURES)
    if figures is None or figures.label != FIGURES_FOUND:
        return False
    low = sentence.lower()
    return any(item.computed or item.text.lower() not in low for item in figures.evidence)


def figures_contradicted(said: Mapping[str, MemberRisk]) -> bool:
    """Return True if a source has another value in the place of one of a sentence's."""
    figures = said.get(FIGURES)
    return figures is not None and figures.label == CONTRADICTION


def odds_of(field: Field, said: Mapping[str, MemberRisk], nli: str) -> float | None:
    """Log-odds of being wrong by what members say; None where none says anything."""
    if not said:
        return None
    return fit(field, frozenset(said), nli)(said)


def moved(lead: float, others: float, turns: bool) -> float:
    """Log-odds of what leads moved by ``others``, over 0 only where they may ``turn`` it."""
    both = lead + others
    if turns:
        return both
    return max(both, min(lead, NEAREST)) if lead >= 0 else min(both, max(lead, -NEAREST))


def shifted(risk: float, prior: float) -> float:
    """A risk at equal numbers of right and wrong answers, where a share ``prior`` is wrong."""
    wrong = risk * prior
    return wrong / (wrong + (1 - risk) * (1 - prior)) if prior != 0.5 else risk
