"""Values that UQLM's own tests expect of its scorers of code (github.com/cvs-health/uqlm, 0.6).

UQLM's numbers are confidences, and so are the raw values here.
"""

from __future__ import annotations

import pytest
from llm_evidence import FixedReplies

from veridical.core.messages import ChatRequest, LlmError
from veridical.core.records import Record
from veridical_lab.scorers.code.functional_equivalence import functional_equivalence
from veridical_lab.scorers.code.functional_sets import functional_sets

# test_clusterer.py, test_codegen.py: do two pieces of code do the same?


@pytest.mark.parametrize(
    ("verdict", "expected"),
    [
        ("Equivalent", 1.0),
        ("NOT EQUIVALENT", 0.0),
        ("random unrelated text", None),
    ],
)
async def test_verdicts_on_code(verdict: str, expected: float | None) -> None:
    record = Record(response="x = 1", samples=["y = sum([1])"])
    call = functional_equivalence(record, FixedReplies(record, verdict), by="llm")
    if expected is None:
        with pytest.raises(LlmError):  # NaN there
            await call
    else:
        assert (await call).raw == expected


async def test_verdicts_on_code_in_a_sentence_are_asked_for_again() -> None:
    """UQLM finds "the same" and "differently" within any sentence."""
    record = Record(response="x = 1", samples=["y = sum([1])"])
    for said in ("These behave the same", "they behave differently"):
        replies = iter([said, "Yes"])
        evidence = FixedReplies(record, lambda request, llm, replies=replies: next(replies))
        found = await functional_equivalence(record, evidence, by="llm")
        assert found.raw == 1.0 and len(evidence.asked) == 2


async def test_equal_code_is_not_asked_about() -> None:
    record = Record(response="x=1", samples=["x=1"])
    evidence = FixedReplies(record, "No")
    assert (await functional_equivalence(record, evidence, by="llm")).raw == 1.0
    assert not evidence.asked


async def test_clusters_of_code() -> None:
    """The first of two samples does the same as the response: clusters [0, 1] and [2]."""
    record = Record(response="A = 1", samples=["B = 1", "C = 3"])

    def says(request: ChatRequest, llm: str | None) -> str:
        return "Yes" if "C = 3" not in str(request.messages) else "No"

    asked = {"by": "llm"}
    rate = await functional_equivalence(record, FixedReplies(record, says), **asked)  # type: ignore[arg-type]
    sets = await functional_sets(record, FixedReplies(record, says), **asked)  # type: ignore[arg-type]
    assert rate.raw == 0.5 and sets.raw == 0.5  # 1 of 2; (m + 1 - 2 clusters) / m
