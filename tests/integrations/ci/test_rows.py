"""How a row counts in CI, by its verdict and the gates: nothing is passed in silence."""

from __future__ import annotations

from typing import Any

import pytest
from result_lines import line

from veridical.core.records import Record
from veridical.core.scores import Result, ResultSummary
from veridical.decide.gates import Gates, Tally
from veridical.errors import RowError
from veridical.integrations.ci.rows import CiRow, case, findings
from veridical.io.source import RowPlace


def row(verdict: str = "supported", risk: float | None = 0.1, **more: Any) -> CiRow:
    result = Result.model_validate(line(4, verdict, risk, **more))
    record = Record(row=4, id=4, prompt="Why?", response="It is so.")
    return CiRow(RowPlace(4, "a.jsonl", 5), record, result, None)


def bad_row() -> CiRow:
    error = RowError(4, "a.jsonl", 5, "response", "is missing")
    return CiRow(RowPlace(4, "a.jsonl", 5), None, None, error)


def outcome(found: CiRow, row_errors: int = 0, policy: bool = False, **gates: Any) -> str:
    tally = Tally(Gates.parse(**gates, policy=policy))
    if found.result is not None:
        tally.add(ResultSummary.model_validate(found.result.model_dump()))
    tally.row_errors = row_errors
    return case(found, tally).outcome


@pytest.mark.parametrize("verdict", ["contradicted", "unsupported", "inconsistent"])
def test_without_gates_a_bad_verdict_is_a_failure(verdict: str) -> None:
    assert outcome(row(verdict, 0.9)) == "failure"


def test_an_unclear_answer_passes_with_a_note() -> None:
    unclear = row("unclear", 0.55)
    assert outcome(unclear) == outcome(unclear, fail_on="contradicted") == "passed"
    assert outcome(unclear, fail_on="unclear") == "failure"
    told = case(unclear, Tally(Gates()))
    assert told.properties["note"].startswith("The evidence against it is not conclusive")
    (found,) = findings(unclear, Tally(Gates()))
    assert found.rule.level == "note" and found.rule.id.startswith("unclear")


def test_a_missed_answer_passes_no_gate() -> None:
    missed = row("unchecked", 0.8, reason="missed_answer")
    assert outcome(missed) == "skipped"
    assert outcome(missed, fail_on="contradicted", allow_unchecked="100%") == "error"
    assert outcome(missed, fail_on="missed_answer") == "failure"


@pytest.mark.parametrize("verdict", ["supported", "consistent"])
def test_a_good_verdict_passes(verdict: str) -> None:
    assert outcome(row(verdict)) == "passed"
    assert outcome(row(verdict), fail_on="contradicted") == "passed"


def test_what_is_unchecked_is_skipped_or_an_error() -> None:
    unchecked = row("unchecked")
    assert outcome(unchecked) == "skipped"
    assert outcome(unchecked, fail_on="contradicted") == "error"
    assert outcome(unchecked, fail_on="contradicted", allow_unchecked="100%") == "skipped"
    assert outcome(unchecked, fail_on="unchecked") == "error"


def test_an_answer_that_states_nothing_is_skipped() -> None:
    silent = row("unchecked", None, reason="no_statement")
    assert outcome(silent) == outcome(silent, fail_on="contradicted") == "skipped"


def test_an_invalid_row_is_an_error_whatever_is_allowed() -> None:
    assert outcome(bad_row(), 1) == "error"
    assert outcome(bad_row(), 1, fail_on="contradicted", allow_unchecked="100%") == "error"


def test_with_gates_they_decide() -> None:
    assert outcome(row("unsupported", 0.6), fail_on="contradicted") == "passed"
    assert outcome(row("supported", 0.6), fail_over="0.5") == "failure"
    rejected = row("supported", 0.6, decision="reject")
    assert outcome(rejected, fail_on="reject", policy=True) == "failure"


def test_a_failure_says_the_sentence_and_the_evidence() -> None:
    found = case(row("contradicted", 0.9), Tally(Gates()))
    assert found.properties["risk"] == "0.9" and found.properties["line"] == "5"
    assert found.message == "contradicted: It is so."
    assert found.text.splitlines() == [
        "contradicted, risk 0.90",
        "question: Why?",
        "sentence: It is so.",
        'context 1, characters 0-9: "So it is."',
    ]


def test_findings_of_code_scanning() -> None:
    (bad,) = findings(row("contradicted", 0.9), Tally(Gates()))
    assert (bad.rule.id, bad.rule.level, bad.line) == ("contradicted/nli_grounding", "error", 5)
    assert bad.message == 'contradicted, risk 0.90: "It is so."; context 1: "So it is."'
    (unchecked,) = findings(row("unchecked"), Tally(Gates()))
    assert (unchecked.rule.id, unchecked.rule.level) == ("unchecked", "note")
    (invalid,) = findings(bad_row(), Tally(Gates()))
    assert (invalid.rule.id, invalid.message) == ("invalid-row", "is missing")
    assert not list(findings(row(), Tally(Gates())))
    (gate,) = findings(row("supported", 0.6), Tally(Gates.parse(fail_over="0.5")))
    assert gate.rule.id == "gate" and "risk over 0.5" in gate.message


def test_the_rule_of_a_finding_names_its_kind() -> None:
    plain = row("contradicted", 0.9)
    assert plain.result is not None
    score = plain.result.scores["nli_grounding"]
    units = tuple(u.model_copy(update={"kind": "figure"}) for u in score.units)
    scores = {"nli_grounding": score.model_copy(update={"units": units})}
    typed = plain._replace(result=plain.result.model_copy(update={"scores": scores}))
    (before,) = findings(plain, Tally(Gates()))
    (found,) = findings(typed, Tally(Gates()))
    assert found.rule.id == "contradicted/nli_grounding/figure"
    assert found.rule.description == "A source contradicts it. Kind: figure."
    assert found.message.startswith('contradicted, figure, risk 0.90: "It is so."')
    assert found.properties["kind"] == "figure"
    assert found.about == before.about  # the same finding as without a kind
