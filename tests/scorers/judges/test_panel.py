"""panel: hand-worked combinations, and what becomes of judges that fail."""

from __future__ import annotations

import asyncio
import itertools

import pytest
from llm_evidence import FixedReplies

from veridical.core.evidence import guarded
from veridical.core.messages import LlmError
from veridical.core.records import Record
from veridical.core.registry import REGISTRY
from veridical.errors import NotApplicable, UsageError
from veridical.scorers.judges.panel import JudgeChoice, choices, panel

RECORD = Record(prompt="q", response="a")
JUDGES = "self, good|likert, bad|continuous"
SAID = {None: "I am not sure", "good": "5", "bad": "10"}  # 0.5, 1, 0.1


class Court(FixedReplies):
    """Scores as the engine does: errors become failed scores."""

    async def _score(self, bound):
        return await guarded(bound, self.record, self)


async def sit(said=SAID, judges=JUDGES, record=RECORD, **arguments):
    return await panel(record, Court(record, lambda r, llm: said[llm]), judges=judges, **arguments)


@pytest.mark.parametrize(
    ("combine", "confidence"),
    [("mean", 1.6 / 3), ("min", 0.1), ("max", 1), ("median", 0.5), ("majority", 0.5)],
)
async def test_combinations(combine, confidence):
    score = await sit(combine=combine)
    assert score.raw["confidence"] == pytest.approx(confidence)
    assert score.risk == pytest.approx(1 - confidence)
    assert score.raw["range"] == pytest.approx(0.9)
    assert [j["judge"] for j in score.raw["judges"]] == [
        "self|correct_incorrect",
        "good|likert",
        "bad|continuous",
    ]


@pytest.mark.parametrize(
    ("said", "confidence"),
    [
        (("Correct", "Correct", "Incorrect"), 1),
        (("Incorrect", "Correct", "Incorrect"), 0),
        (("Correct", "I am not sure", "Incorrect"), 0.5),
        (("Correct", "I am not sure", "I am not sure"), 1),
    ],
)
async def test_majority(said, confidence):
    score = await sit(dict(zip("abc", said, strict=True)), judges="a, b, c", combine="majority")
    assert score.raw["confidence"] == confidence


async def test_one_failing_judge_is_left_out_and_reported():
    score = await sit({**SAID, "bad": LlmError("timeout", "nobody answered")})
    assert score.raw["confidence"] == pytest.approx(0.75)
    told = score.raw["judges"][2]
    assert told["status"] == "failed" and "nobody answered" in told["reason"]
    assert told["raw"]["trouble"] == "timeout"


async def test_fewer_than_half_of_the_judges_are_no_panel():
    score = await sit({None: "I am not sure", "good": "five", "bad": "ten"})
    assert score.status == "failed" and score.risk is None
    assert "2 of 3 judges gave no verdict" in score.reason
    assert [j["raw"].get("text") for j in score.raw["judges"][1:]] == ["five", "ten"]


async def test_judges_that_cannot_judge_the_record():
    with pytest.raises(NotApplicable, match="no prompt"):
        await sit(record=Record(response="a"))
    score = await sit(
        {None: "Correct", "b": "B"}, judges="self, b|mirage_begin"
    )  # the record has no contexts
    assert score.raw["confidence"] == 1
    assert score.raw["judges"][1]["status"] == "not_applicable"


async def test_judges_are_asked_at_the_same_time():
    together = asyncio.Barrier(3) if hasattr(asyncio, "Barrier") else None
    if together is None:
        pytest.skip("needs asyncio.Barrier")

    class Waiting(Court):
        async def chat(self, requests, llm=None):
            await asyncio.wait_for(together.wait(), 5)
            return await super().chat(requests, llm)

    score = await panel(RECORD, Waiting(RECORD, lambda r, llm: SAID[llm]), judges=JUDGES)
    assert score.status == "scored"


def test_judges_are_checked_when_named():
    assert choices("self, openai:gpt-4o-mini|likert, http://h/v1#m") == [
        JudgeChoice(None, "correct_incorrect"),
        JudgeChoice("openai:gpt-4o-mini", "likert"),
        JudgeChoice("http://h/v1#m", "correct_incorrect"),
    ]
    bound = REGISTRY.parse('panel(judges="self,  good|likert")')[0]
    assert bound.arguments["judges"] == "self, good|likert"
    for judges, why in (
        ("a, a", "named twice"),
        ("a,,b", "separated by commas"),
        ("a|lickert", "did you mean 'likert'"),
    ):
        with pytest.raises(UsageError, match=why):
            REGISTRY.bind("panel", {"judges": judges})


async def test_repeats_tell_how_often_a_judge_contradicts_itself():
    said = {"a": ["Correct", "Incorrect", "Correct", "Correct"], "b": ["Incorrect"] * 4}
    evidence = Court(RECORD, lambda r, llm: said[llm][r.ordinal])
    score = await panel(RECORD, evidence, judges="a, b", repeats=4, temperature=0.7)
    assert score.raw["confidence"] == pytest.approx((3 / 4 + 0) / 2)
    pairs = list(itertools.combinations(said["a"], 2))
    flips = sum(x != y for x, y in pairs) / len(pairs)  # 3 of 6
    assert [j["flips"] for j in score.raw["judges"]] == [flips, 0] and flips == 0.5
    assert score.raw["flips"] == 0.25
    asked = [r for _, requests in evidence.asked for r in requests]
    assert sorted(r.ordinal for r in asked) == [0, 0, 1, 1, 2, 2, 3, 3]
    assert {r.temperature for r in asked} == {0.7}


async def test_a_repeat_that_fails_is_left_out():
    replies = ["Correct", LlmError("refused", "no"), "Incorrect"]
    evidence = Court(RECORD, lambda r, llm: replies[r.ordinal])
    score = await panel(RECORD, evidence, repeats=3)
    assert score.raw["confidence"] == 0.5 and score.raw["flips"] == 1.0


async def test_asked_once_a_judge_has_no_flips():
    score = await sit()
    assert "flips" not in score.raw and "flips" not in score.raw["judges"][0]
