"""bsdetector against the paper's formula, by hand."""

from __future__ import annotations

import pytest
from llm_evidence import FixedReplies

from veridical.core.messages import Reply
from veridical.core.records import Record
from veridical.core.scores import Score
from veridical.errors import ModelError, NotApplicable
from veridical.scorers.judges.bsdetector import bsdetector

RECORD = Record(prompt="q", response="a", samples=("a", "b"))
FOUND = {"noncontradiction": Score.of(0.25), "exact_match": Score.of(0.5)}


def reflect(request, llm):
    sure = "really sure" in request.messages[-1]["content"]
    return "explanation: it is so, answer: " + ("C" if sure else "A")


async def test_the_papers_weights():
    evidence = FixedReplies(RECORD, reflect, scores=FOUND)
    score = await bsdetector(RECORD, evidence, llm="m")
    consistency = 0.8 * 0.75 + 0.2 * 0.5  # 0.7
    assert score.raw["observed_consistency"] == pytest.approx(consistency)
    assert score.raw["self_reflection"] == 0.75  # (1 + 0.5) / 2
    assert score.raw["confidence"] == pytest.approx(0.7 * consistency + 0.3 * 0.75)
    assert score.risk == pytest.approx(1 - (0.49 + 0.225))
    assert [llm for llm, _ in evidence.asked] == ["m"]
    assert [v["answer"] for v in score.raw["verdicts"]] == ["A", "C"]


async def test_weights_of_ones_own():
    score = await bsdetector(RECORD, FixedReplies(RECORD, reflect, scores=FOUND), alpha=0, beta=1)
    assert score.raw["confidence"] == 0.5


async def test_an_unreadable_reflection_fails():
    score = await bsdetector(
        RECORD, FixedReplies(RECORD, "explanation: hm, answer: perhaps", scores=FOUND)
    )
    assert score.status == "failed" and score.raw["text"].endswith("perhaps")
    cut = FixedReplies(RECORD, lambda r, llm: Reply("explanation: it", "length"), scores=FOUND)
    assert (await bsdetector(RECORD, cut)).raw["trouble"] == "length"


async def test_without_consistency_there_is_no_score():
    for status, error in (("not_applicable", NotApplicable), ("failed", ModelError)):
        bad = Score(risk=None, status=status, reason="it cannot")
        with pytest.raises(error, match="noncontradiction: it cannot"):
            evidence = FixedReplies(RECORD, reflect, scores={**FOUND, "noncontradiction": bad})
            await bsdetector(RECORD, evidence)
