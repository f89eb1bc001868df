"""The wrong pieces of an answer, from risks of words that are set by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from nli_evidence import FixedVerdicts

from veridical.core.records import Record
from veridical.core.registry import REGISTRY
from veridical.core.requests import GroundedAnswer
from veridical.core.scores import Score
from veridical.errors import NotApplicable
from veridical.scorers.grounding._source_windows import windowed
from veridical.scorers.grounding.nli_grounding import nli_grounding
from veridical.scorers.grounding.spans import spans
from veridical.text.words import lettered_spans

CONTEXT = "Ada Byron was born in London in 1815. She died in 1852."
ANSWER = "Ada was born in Paris, in 1851. She died in 1852."


class Told(FixedVerdicts):
    """Words are wrong by ``wrong``: premise -> word -> risk."""

    def __init__(self, record: Record, wrong: dict[str, dict[str, float]]) -> None:
        super().__init__(record)
        self.wrong = wrong
        self.words_asked: list[tuple[str, str]] = []
        self.requests: list[GroundedAnswer] = []

    async def wrong_words(self, pairs: Any, model: str | None = None) -> list[Any]:
        self.words_asked += pairs
        return [
            np.array([self.wrong.get(p, {}).get(w.text, 0.02) for w in lettered_spans(h)])
            for p, h in pairs
        ]

    async def ask(self, kind: str, requests: Any, model: str | None = None) -> list[Any]:
        assert (kind, model) == ("detector", "some/model")
        self.requests += requests
        return [
            np.array(
                [
                    self.wrong["\n".join(r.passages)].get(w.text, 0.02)
                    for w in lettered_spans(r.answer)
                ]
            )
            for r in requests
        ]


def pieces(score: Score, level: str = "span") -> list[tuple[str, float]]:
    return [(u.text, u.risk or 0.0) for u in score.units if u.level == level]


async def test_words_that_follow_one_another_are_one_piece() -> None:
    record = Record(response=ANSWER, contexts=[CONTEXT])
    evidence = Told(record, {CONTEXT: {"Paris": 0.9, "in": 0.1, "1851": 0.7, "died": 0.5}})
    score = await spans(record, evidence)
    assert pieces(score) == [("Paris", 0.9), ("1851", 0.7)]
    assert pieces(score, "sentence") == [
        ("Ada was born in Paris, in 1851.", 0.9),
        ("She died in 1852.", 0.0),  # as the context says
    ]
    assert (score.risk, score.raw) == (0.9, 0.9)
    assert all(ANSWER[u.start : u.end] == u.text for u in score.units)
    together = Told(record, {CONTEXT: {"Paris": 0.9, "in": 0.6, "1851": 0.7}})
    found = await spans(record, together)
    assert pieces(found)[0] == ("in Paris, in 1851", 0.9)  # the comma lies within


async def test_any_window_may_support_a_word_and_samples_are_averaged() -> None:
    other = "Ada went to Paris in 1851."
    risks = {CONTEXT: {"Paris": 0.9, "1851": 0.9}, other: {"Paris": 0.3, "born": 0.8}}
    record = Record(response=ANSWER, contexts=[CONTEXT, other])
    score = await spans(record, Told(record, risks))
    assert pieces(score) == [] and score.risk == pytest.approx(0.3)
    sampled = Record(response=ANSWER, samples=[CONTEXT, other])
    score = await spans(sampled, Told(sampled, risks), against="samples")
    assert pieces(score) == [("Paris", pytest.approx(0.6))]  # (0.9 + 0.3) / 2


async def test_asks_of_the_windows_that_nli_grounding_reads() -> None:
    long = " ".join(
        f"Item {i} was sold in {1900 + i} by the firm of Ada Byron." for i in range(300)
    )
    record = Record(response=ANSWER, contexts=[CONTEXT, long], prompt="Who was she?")
    evidence = Told(record, {})
    await spans(record, evidence)
    await nli_grounding(record, evidence)
    windows = evidence.words_asked
    # once by the first, and by the other what the first has asked
    asked = [pair for pairs in evidence.asked for pair in pairs]
    assert set(windows) <= set(asked)
    every = windowed(record, evidence, "contexts", 8).pairs()
    assert len(windows) == 3 < len(every)


async def test_a_short_answer_is_read_with_its_question() -> None:
    record = Record(prompt="Where was Ada born?", response="In Paris.", contexts=[CONTEXT])
    score = await spans(record, Told(record, {CONTEXT: {"Paris": 0.8, "born": 0.9}}))
    assert pieces(score) == [("Paris", 0.8)]  # not the question's own words
    told = Record(prompt="Was Ada born in Paris?", response="Yes.", contexts=[CONTEXT])
    score = await spans(told, Told(told, {CONTEXT: {"Paris": 0.8}}))
    assert pieces(score) == [("Yes", 0.8)]  # what it affirms is wrong


async def test_a_detector_reads_sources_question_and_answer() -> None:
    record = Record(
        prompt="Where was Ada born?", response="In Paris, in 1815.", contexts=["a", "b"]
    )
    evidence = Told(record, {"a\nb": {"Paris": 0.75}})
    score = await spans(record, evidence, detector="some/model")
    assert evidence.requests == [GroundedAnswer("Where was Ada born?", ("a", "b"), record.response)]
    assert pieces(score) == [("Paris", 0.75)] and not evidence.words_asked
    sampled = Record(response="In Paris.", samples=["a", "b"])
    evidence = Told(sampled, {"a": {"Paris": 1.0}, "b": {"Paris": 0.2}})
    score = await spans(sampled, evidence, against="samples", detector="some/model")
    assert [r.question for r in evidence.requests] == ["", ""] and score.risk == pytest.approx(0.6)


async def test_costs_follow_the_detector() -> None:
    assert REGISTRY.bind("spans", {}).costs == {"nli"}
    named = REGISTRY.bind("spans", {"detector": "some/model"})
    assert named.costs == {"detector"} and named.models("detector") == ("some/model",)


async def test_nothing_to_judge() -> None:
    for fields in (
        {"response": "?!", "contexts": [CONTEXT]},
        {"response": " "},
        {"response": "It."},
    ):
        empty = Record(**fields)  # type: ignore[arg-type]
        with pytest.raises(NotApplicable):
            await spans(empty, Told(empty, {}))


async def test_citations_have_no_words() -> None:
    record = Record(response="Ada was born in Paris [1], in 1851.[2]", contexts=[CONTEXT])
    score = await spans(record, Told(record, {CONTEXT: {"Paris": 0.9, "1851": 0.7}}))
    assert pieces(score) == [("Paris", 0.9), ("1851", 0.7)]


async def test_small_talk_has_no_wrong_words() -> None:
    wrong = {CONTEXT: {"Sure": 0.9, "Well": 0.9, "helps": 0.9, "Paris": 0.8}}
    text = "Sure! Well, Ada was born in Paris. I hope this helps."
    record = Record(response=text, contexts=[CONTEXT])
    score = await spans(record, Told(record, wrong))
    assert pieces(score) == [("Paris", 0.8)] and score.risk == 0.8
    assert [(u.text, u.risk) for u in score.units] == [
        ("Sure!", None),
        ("Well, Ada was born in Paris.", 0.8),
        ("Paris", 0.8),
        ("I hope this helps.", None),
    ]
    score = await spans(record, Told(record, wrong), detector="some/model")
    assert pieces(score) == [("Well", 0.9), ("Paris", 0.8)]  # a detector reads the whole answer
    thanks = Record(response="Sure! I hope this helps.", contexts=[CONTEXT])
    with pytest.raises(NotApplicable, match="states nothing"):
        await spans(thanks, Told(thanks, wrong))
