"""Gates fail closed: what was not checked does not pass."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from veridical.core.scores import ResultSummary
from veridical.decide.gates import Gates, Tally
from veridical.errors import UsageError


def record(verdict: str, risk: float | None = 0.5, **more: Any) -> ResultSummary:
    scores = {"cosine": {"risk": more.pop("cosine", None), "status": "scored", "reason": None}}
    fields = {"id": 0, "row": 0, "risk": risk, "by": "x", "verdict": verdict, "scores": scores}
    return ResultSummary.model_validate({"reason": None, **fields, **more})


GOOD = record("supported", 0.1)
WRONG = record("contradicted", 0.9)
BLIND = record("unchecked", None, reason="nothing_to_check")
SILENT = record("unchecked", None, reason="no_statement")
MISSED = record("unchecked", 0.8, reason="missed_answer")
UNCLEAR = record("unclear", 0.55)


def tally(gates: Gates, records: Sequence[ResultSummary], row_errors: int = 0) -> Tally:
    counted = Tally(gates, row_errors=row_errors)
    for one in records:
        counted.add(one)
    return counted


def test_without_a_gate_nothing_fails() -> None:
    assert not tally(Gates.parse(), [WRONG, BLIND], row_errors=2).failed


@pytest.mark.parametrize(
    ("options", "records", "failed"),
    [
        ({"fail_on": "contradicted"}, [GOOD, WRONG], True),
        ({"fail_on": "unsupported"}, [GOOD, WRONG], False),
        ({"fail_on": " Contradicted , unsupported "}, [WRONG], True),
        ({"fail_on": "contradicted,unsupported"}, [UNCLEAR], False),
        ({"fail_on": "unclear"}, [UNCLEAR], True),
        ({"fail_on": "contradicted", "strictness": "high"}, [UNCLEAR], True),
        ({"fail_on": "contradicted", "strictness": "low"}, [UNCLEAR], False),
        ({"fail_over": "0.6", "strictness": "high"}, [UNCLEAR], False),  # looks at no verdict
        ({"fail_on": "contradicted"}, [GOOD, MISSED], True),
        ({"fail_on": "contradicted", "allow_unchecked": "100%"}, [GOOD, MISSED], True),
        ({"fail_over": "0.9", "allow_unchecked": "100%"}, [GOOD, MISSED], True),
        ({"fail_on": "missed_answer"}, [GOOD, WRONG], False),
        ({"fail_on": "missed_answer"}, [GOOD, MISSED], True),
        ({"fail_on": "missed_answer", "max_share": "50%"}, [GOOD, MISSED], False),
        ({"fail_over": "0.9"}, [WRONG], False),
        ({"fail_over": "0.89"}, [WRONG], True),
        ({"fail_over": "0.5"}, [GOOD, BLIND], True),
        ({"fail_on": "contradicted"}, [GOOD, BLIND], True),
        ({"fail_on": "contradicted"}, [GOOD, SILENT], False),
        ({"fail_on": "unchecked"}, [GOOD, SILENT], True),
        ({"fail_on": "contradicted", "allow_unchecked": "50%"}, [GOOD, BLIND], False),
        ({"fail_on": "contradicted", "allow_unchecked": "49%"}, [GOOD, BLIND], True),
        ({"fail_on": "contradicted", "max_share": "50%"}, [GOOD, WRONG], False),
        ({"fail_on": "contradicted", "max_share": "0.49"}, [GOOD, WRONG], True),
        ({"fail_over": "cosine:0.5"}, [record("supported", 0.1, cosine=0.6)], True),
        ({"fail_over": "cosine:0.5"}, [record("unchecked", 0.1, cosine=0.4)], False),
        ({"fail_over": "cosine:0.5"}, [GOOD], True),  # it has no such risk
    ],
)
def test_what_fails(options: dict[str, str], records: list[ResultSummary], failed: bool) -> None:
    assert tally(Gates.parse(**options), records).failed is failed


def test_bad_rows_are_unchecked() -> None:
    gates = Gates.parse(fail_on="contradicted", allow_unchecked="25%")
    assert not tally(gates, [GOOD] * 3, row_errors=1).failed
    counted = tally(gates, [GOOD, WRONG], row_errors=1)
    assert counted.lines() == [
        "gate failed: 1 of 2 answers (1 contradicted)",
        "gate failed: 1 of 3 rows could not be checked, 1 of them bad rows "
        "(raise --allow-unchecked P% to let some pass)",
    ]


def test_decisions() -> None:
    gates = Gates.parse(fail_on="reject,review", policy=True)
    accepted = record("supported", 0.1, decision="accept")
    rejected = record("supported", 0.1, decision="reject")
    assert not tally(gates, [accepted]).failed
    assert tally(gates, [accepted, rejected]).causes == {"reject": 1}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"fail_on": "contradicts"}, "did you mean 'contradicted'"),
        ({"fail_on": ","}, "takes verdicts and decisions"),
        ({"fail_on": "supported"}, "good outcome"),
        ({"fail_on": "reject"}, "--policy"),
        ({"fail_over": "1.5"}, "X from 0 to 1"),
        ({"fail_over": "nan"}, "X from 0 to 1"),
        ({"fail_over": "nosuch:0.5"}, "nosuch"),
        ({"max_share": "5%"}, "requires a gate"),
        ({"allow_unchecked": "5%"}, "requires a gate"),
        ({"fail_on": "unchecked", "max_share": "5"}, "such as 5% or 0.05"),
        ({"fail_on": "unchecked", "max_share": "many"}, "such as 5% or 0.05"),
        ({"fail_on": "unchecked", "allow_unchecked": "-1%"}, "such as 5% or 0.05"),
    ],
)
def test_what_is_refused(options: dict[str, str], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        Gates.parse(**options)


def test_a_missed_answer_is_told_by_its_name() -> None:
    assert tally(Gates.parse(fail_on="unsupported"), [GOOD, MISSED]).lines() == [
        "gate failed: 1 of 2 answers say that the sources lack the answer, although one has it "
        "(missed_answer)"
    ]
    named = tally(Gates.parse(fail_on="missed_answer"), [GOOD, MISSED])
    assert named.lines() == ["gate failed: 1 of 2 answers (1 missed_answer)"]


def test_a_gate_on_fields_names_paths_and_verdicts():
    gates = Gates.parse(
        fail_on_field=["items[*].price=contradicted|unsupported", '["a.b"]=unclear']
    )
    assert gates.any
    fields = [
        {"path": "items[0].price", "verdict": "supported"},
        {"path": "items[11].price", "verdict": "unsupported"},
        {"path": '["a.b"]', "verdict": "contradicted"},
        {"path": "items[0].prices", "verdict": "contradicted"},
        {"path": "price", "verdict": "contradicted"},
    ]
    assert list(gates.causes(_with_fields(fields))) == ["items[11].price unsupported"]
    assert list(gates.causes(_with_fields(fields[:1]))) == []
    strict = Gates.parse(fail_on_field=["price=contradicted"], strictness="high")
    assert list(strict.causes(_with_fields([{"path": "price", "verdict": "unclear"}]))) == [
        "price unclear"
    ]


def _with_fields(fields):
    line = {"id": 1, "row": 0, "risk": 0.2, "by": "claims", "verdict": "supported", "reason": None}
    return ResultSummary.model_validate({**line, "fields": fields, "scores": {}})


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("price", "takes PATH=VERDICT"),
        ("=contradicted", "takes PATH=VERDICT"),
        ("price=", "takes PATH=VERDICT"),
        ("price=wrong", "unknown verdict in --fail-on-field 'wrong'"),
        ("price=supported", "that is a good outcome"),
        ("the price=contradicted", "is not a path"),
    ],
)
def test_a_gate_on_fields_that_cannot_hold_is_refused(text, said):
    with pytest.raises(UsageError, match=said):
        Gates.parse(fail_on_field=[text])
