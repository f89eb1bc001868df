"""The sentence that says what a run found."""

from __future__ import annotations

from collections import Counter

import pytest

from veridical.engine.summary import Summary
from veridical.report.outcome import outcome


@pytest.mark.parametrize(
    ("verdicts", "reasons", "sentence"),
    [
        (
            {"contradicted": 7, "supported": 11, "unchecked": 2},
            {"failed": 2},
            "7 of 20 answers contain a statement that the sources contradict; 2 could not be "
            "checked because scoring failed; 11 are supported by the sources.",
        ),
        ({"supported": 3}, {}, "All 3 answers are supported by the sources."),
        (
            {"unsupported": 1},
            {},
            "The only answer contains a statement that the sources do not support.",
        ),
        (
            {"unchecked": 1},
            {"failed": 1},
            "The only answer could not be checked because scoring failed.",
        ),
        (
            {"unchecked": 4},
            {"nothing_to_check": 4},
            "None of the 4 answers could be checked for lack of contexts, samples, a reference or "
            "log-probabilities.",
        ),
        (
            {"consistent": 1, "inconsistent": 2, "unchecked": 2},
            {"no_statement": 1, "failed": 1},
            "2 of 5 answers disagree with the model's other answers or its certainty; 1 could "
            "not be checked because scoring failed; 1 made no statement; 1 agrees with the model's "
            "other answers or its certainty.",
        ),
        ({"unchecked": 2}, {"no_statement": 2}, "All 2 answers made no statement."),
        (
            {"unsupported": 1, "unclear": 2, "unchecked": 1, "supported": 4},
            {"missed_answer": 1},
            "1 of 8 answers contains a statement that the sources do not support; 2 have a "
            "statement with evidence against it, but not enough to flag it; 1 says that the "
            "sources lack the answer, although one has it; 4 are supported by the sources.",
        ),
        ({}, {}, "No answer could be read."),
    ],
)
def test_the_answer_comes_first(
    verdicts: dict[str, int], reasons: dict[str, int], sentence: str
) -> None:
    summary = Summary([])
    summary.records = sum(verdicts.values())
    summary.verdicts, summary.unchecked = Counter(verdicts), Counter(reasons)
    assert outcome(summary) == sentence


@pytest.mark.parametrize(("count", "says"), [(1, "1 answer has"), (3, "3 answers have")])
def test_what_was_not_judged_is_said(count: int, says: str) -> None:
    summary = Summary([])
    summary.records, summary.verdicts = 4, Counter({"supported": 4})
    summary.invisible = count
    told = f"{says} invisible characters, which were not judged."
    assert outcome(summary) == f"All 4 answers are supported by the sources; {told}"


def test_a_single_unchecked_answer() -> None:
    summary = Summary([])
    summary.records, summary.verdicts = 1, Counter({"unchecked": 1})
    summary.unchecked = Counter({"failed": 1})
    assert outcome(summary) == "The only answer could not be checked because scoring failed."
