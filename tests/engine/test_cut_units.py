"""Units are labelled by the cuts that make the verdict, so that both agree."""

from __future__ import annotations

from typing import Any

import pytest

from veridical.core.verdict_cuts import Cuts
from veridical.engine.cut_units import Voter, cut, voted

HALF = Cuts(0.4, 0.6)
EACH = Cuts(0.4, 0.6, of_units=True)


def unit(start: int, risk: float | None, label: str | None = None, **more: Any) -> dict[str, Any]:
    return {
        "level": "sentence",
        "start": start,
        "end": start + 10,
        "risk": risk,
        "raw": None,
        "label": label,
        **more,
    }


def score(*units: dict[str, Any], risk: float = 0.5, raw: Any = None) -> dict[str, Any]:
    return {"risk": risk, "raw": raw, "units": list(units)}


@pytest.mark.parametrize(
    ("risk", "label", "verdict", "shown"),
    [
        (0.39, "entailment", "supported", "entailment"),
        (0.39, "neutral", "supported", "entailment"),
        (0.39, None, "supported", "entailment"),
        (0.4, "entailment", "unclear", "unclear"),
        (0.59, "contradiction", "unclear", "unclear"),
        (0.6, "contradiction", "contradicted", "contradiction"),
        (0.6, "entailment", "unsupported", "neutral"),
        (0.6, "unsupported", "unsupported", "unsupported"),
    ],
)
def test_a_statement_by_its_risk(risk: float, label: str | None, verdict: str, shown: str) -> None:
    assert cut(score(unit(0, risk, label)), EACH, "sources") == (verdict, (shown,))


def test_the_worst_statement_decides() -> None:
    units = [unit(0, 0.9, "neutral"), unit(11, 0.7, "contradiction"), unit(22, 0.5), unit(33, None)]
    found = cut(score(*units, risk=0.1), EACH, "sources")
    assert found.verdict == "contradicted"
    assert found.labels == ("neutral", "contradiction", "unclear", None)
    assert cut(score(*units[2:], risk=0.1), EACH, "sources").verdict == "unclear"


def test_a_contradiction_of_little_risk_is_unsupported() -> None:
    cuts = EACH._replace(contradicted=0.8)
    assert cut(score(unit(0, 0.7, "contradiction")), cuts, "sources").verdict == "unsupported"
    assert cut(score(unit(0, 0.8, "contradiction")), cuts, "sources").verdict == "contradicted"


def test_labels_decide_where_they_are_the_threshold() -> None:
    cuts = Cuts(0.5, 0.5, of_units=True, by_label=True)
    units = [unit(0, 0.3, "neutral"), unit(11, 0.6, "entailment")]
    assert cut(score(*units), cuts, "sources") == ("unsupported", ("neutral", "entailment"))


def test_no_statement_is_worse_than_the_response_by_which_it_is_cut() -> None:
    units = [unit(0, 0.9, "contradiction"), unit(11, 0.1)]
    assert cut(score(*units, risk=0.2), HALF, "sources") == ("supported", ("entailment",) * 2)
    assert cut(score(*units, risk=0.5), HALF, "sources").labels == ("unclear", "entailment")


def test_a_flagged_response_has_a_flagged_statement() -> None:
    units = [unit(0, 0.2), unit(11, 0.3, "entailment")]
    found = cut(score(*units, risk=0.7), HALF, "sources")
    assert found == ("unsupported", ("entailment", "neutral"))


def test_agreement_is_of_the_response_and_names_no_worse_sentence() -> None:
    units = [unit(0, 0.9), unit(11, 0.5), unit(22, 0.1)]
    labels = ("inconsistent", "unclear", "consistent")
    assert cut(score(*units, risk=0.8), HALF, "agreement") == ("inconsistent", labels)
    labels = ("unclear", "unclear", "consistent")
    assert cut(score(*units, risk=0.5), HALF, "agreement") == ("unclear", labels)
    assert cut(score(risk=0.3), HALF, "agreement") == ("consistent", ())


def test_a_prior_moves_no_verdict() -> None:
    shifted = score(unit(0, 0.95, raw=0.3), risk=0.95, raw={"even_risk": 0.3})
    assert cut(shifted, HALF, "sources").verdict == "supported"


def test_wrong_words_are_no_worse_than_their_sentence() -> None:
    word = unit(2, 0.9, "unsupported", level="span", end=5)
    for risk, label in ((0.7, "unsupported"), (0.5, "unclear"), (0.1, "entailment")):
        assert cut(score(unit(0, risk), word), EACH, "sources").labels[1] == label


def test_most_of_several_decide() -> None:
    mean = score(unit(0, 0.5), unit(11, 0.5))

    def said(*labels: str, cuts: Cuts = EACH) -> Voter:
        risks = {"entailment": 0.1, "unclear": 0.5, "neutral": 0.9, "contradiction": 0.9}
        return Voter(score(*(unit(11 * i, risks[x], x) for i, x in enumerate(labels))), cuts)

    good, bad = said("entailment", "entailment"), said("entailment", "contradiction")
    assert voted(mean, [good, good, bad], "sources").verdict == "supported"
    assert voted(mean, [good, bad], "sources") == ("unclear", ("entailment", "unclear"))
    assert voted(mean, [bad, bad, good], "sources").verdict == "contradicted"
    assert voted(mean, [bad, said("entailment", "neutral")], "sources").verdict == "unsupported"
    whole = Voter(score(risk=0.9), EACH)
    assert voted(mean, [bad, whole], "sources").labels == ("unclear", "neutral")


def test_most_of_several_that_compare_with_samples() -> None:
    mean = score(unit(0, 0.5), risk=0.7)
    agreeing, other = Voter(score(risk=0.1), HALF), Voter(score(unit(0, 0.9), risk=0.9), HALF)
    assert voted(mean, [other, other, agreeing], "agreement") == ("inconsistent", ("inconsistent",))
    assert voted(mean, [agreeing, agreeing, other], "agreement") == ("consistent", ("consistent",))
    assert voted(mean, [agreeing, other], "agreement").verdict == "unclear"
