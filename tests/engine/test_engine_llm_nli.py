"""An LLM as the NLI model, and MQAG by an LLM, through the engine."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import veridical
from veridical import UsageError
from veridical.core.messages import ChatRequest
from veridical.engine.engine import Engine
from veridical.errors import ModelError
from veridical.llm.fake import FakeLlm

ROWS = [
    {"response": "It is in Mali. It is old.", "samples": ["It is in Mali.", "It is in Chad."]},
    {"response": "It is in Chad.", "samples": ["It is in Mali.", "It is in Chad."]},
]
#: Sentences with each sample; what equals its sample is not asked about.
PAIRS = 2 * 2 - 1 + 2 - 1


def judge(request: ChatRequest) -> str:
    text = str(request.messages[-1]["content"])
    if "Options:" in text:
        return "A"
    if "multiple-choice" in text:
        question = {"question": "Where is it?", "answer": "Mali", "wrong": ["Chad", "Togo", "Peru"]}
        return json.dumps({"questions": [question]})
    if "Can the" in text:
        return "No"
    return "contradiction" if "Mali" in text and "Chad" in text else "neutral"


def scores(llm: FakeLlm, scorers: str, **settings) -> list[dict]:
    with Engine(llm=llm, processes=0, **settings) as engine:
        results = veridical.check(ROWS, scorers, engine=engine)
        return [json.loads(line)["scores"] for line in results.lines()]


def test_an_llm_judges_the_pairs_of_every_nli_scorer() -> None:
    llm = FakeLlm(judge)
    found = scores(llm, "selfcheck_nli, noncontradiction", nli="llm")
    first, second = (s["selfcheck_nli"] for s in found)
    assert [u["raw"] for u in first["units"]] == [0.5, 0.5]  # 0 and 1; neutral twice
    assert second["raw"] == 0.5
    assert "nli:llm@" in first["signature"] and "llm:fake@fake" in first["signature"]
    assert found[0]["noncontradiction"]["status"] == "scored"
    assert all(n == 1 for n in llm.asked.values())


def test_two_classes_are_enough_for_grounding_alone() -> None:
    found = scores(FakeLlm(judge), "entailment, selfcheck_nli", nli="llm?classes=2")
    assert found[0]["entailment"]["status"] == "scored"
    assert found[0]["selfcheck_nli"]["status"] == "not_applicable"


@pytest.mark.parametrize("scorer", ["nli_grounding", "claims", "claims(nli='llm')"])
def test_an_llm_is_asked_of_whole_passages_alone(scorer: str) -> None:
    """Expect one call: an embedded model also reads sentences, but each pair costs a call."""
    llm = FakeLlm(lambda request: "entailment")
    row = {"response": "It is in Mali.", "contexts": ["It is in Mali, they say. It is old."]}
    with Engine(llm=llm, processes=0, nli="mini" if "=" in scorer else "llm") as engine:
        (result,) = veridical.check([row], scorer, engine=engine)
    (score,) = result.scores.values()
    assert score.status == "scored"
    assert sum(llm.asked.values()) == 1


#: About Mali: the nearest sentences of "It is in Mali." are in the first four.
PASSAGES = [f"Part {i} says it is in Mali. The rest is old." for i in range(4)]
APART = [f"Tea {i} is served at noon. Cakes are baked at one." for i in range(3)]


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("scorer", ["nli_grounding", "claims"])
def test_an_llm_reads_the_passages_that_can_matter_until_one_entails(
    scorer: str, classes: int
) -> None:
    row = {"response": "It is in Mali.", "contexts": [*APART, *PASSAGES]}
    every = len(row["contexts"])

    def read(entailing: str, scorer: str) -> tuple[int, float | None]:
        def follows(request: ChatRequest) -> str:
            premise = str(request.messages[-1]["content"]).partition("Hypothesis")[0]
            yes, no = ("Yes", "No") if classes == 2 else ("entailment", "neutral")
            return yes if entailing in premise else no

        llm = FakeLlm(follows)
        with Engine(llm=llm, processes=0, nli=f"llm?classes={classes}") as engine:
            planned = veridical.plan([row], scorer, engine=engine)["llm"]["calls"]
            (result,) = veridical.check([row], scorer, engine=engine)
        (score,) = result.scores.values()
        calls = sum(llm.asked.values())
        assert calls <= planned
        return calls, score.risk

    all_of_them = "nli_grounding(top=0)" if scorer == "nli_grounding" else "claims(select=all)"
    calls, risk = read("Mali", scorer)
    assert (calls, risk) == (1, read("Mali", all_of_them)[1])
    late, risk = read("Part 3", scorer)
    assert 1 < late <= len(PASSAGES)
    assert (every, risk) == read("Part 3", all_of_them)
    none, risk = read("nowhere", scorer)
    assert (none, risk) == (len(PASSAGES), read("nowhere", all_of_them)[1])


def test_an_unreadable_verdict_fails_its_record_and_no_other() -> None:
    def vague(request: ChatRequest) -> str:
        return "Well..." if "old" in str(request.messages) else judge(request)

    first, second = (s["selfcheck_nli"] for s in scores(FakeLlm(vague), "selfcheck_nli", nli="llm"))
    assert first["status"] == "failed" and "no clear verdict" in first["reason"]
    assert second["status"] == "scored"


def test_journaled_verdicts_are_not_asked_for_again(tmp_path: Path) -> None:
    cold = FakeLlm(judge)
    first = scores(cold, "selfcheck_nli", nli="llm", store=tmp_path)
    assert sum(cold.asked.values()) == PAIRS
    warm = FakeLlm(judge)
    assert scores(warm, "selfcheck_nli", nli="llm", store=tmp_path) == first
    assert not warm.asked


def test_the_plan_counts_the_calls() -> None:
    with Engine(llm=FakeLlm(judge), nli="llm", processes=0) as engine:
        found = veridical.plan(ROWS, "selfcheck_nli", engine=engine)
    assert found["llm"]["calls"] == PAIRS
    assert found["models"] == []


def test_the_plan_of_mqag_counts_every_round() -> None:
    llm = FakeLlm(judge)
    arguments = "backend=llm, questions=3"
    with Engine(llm=llm, processes=0) as engine:
        found = veridical.plan(ROWS, f"selfcheck_qa({arguments})", engine=engine)
    # Three sentences with three pretended questions each. The first record's six are answered by
    # three passages, and of two it is asked whether they can; the second's three by two passages,
    # as its response is one of its samples, and of both it is asked.
    assert found["llm"]["calls"] == 3 + 6 * 3 + 6 * 2 + 3 * 2 + 3 * 2
    assert found["llm"]["complete"]
    assert not llm.asked


def test_mqag_runs_on_the_runs_llm() -> None:
    found = scores(FakeLlm(judge), "selfcheck_qa(backend=llm, questions=1)")
    assert found[0]["selfcheck_qa(backend=llm,questions=1)"]["status"] == "scored"


def test_a_checkpoint_that_cannot_be_had_stops_a_run_before_it_begins(tmp_path: Path) -> None:
    scorer = f'selfcheck_qa(writer="{tmp_path}")'
    with (
        Engine(processes=0) as engine,
        pytest.raises(ModelError, match=r"config\.json|pip install torch"),
    ):
        veridical.check(ROWS, scorer, engine=engine)


def test_mqag_by_a_chat_model_needs_one() -> None:
    with Engine(processes=0) as engine, pytest.raises(UsageError, match="LLM"):
        veridical.check(ROWS, "selfcheck_qa(backend=llm)", engine=engine)


def test_without_an_llm_named_the_nli_role_says_so() -> None:
    with Engine(nli="llm", processes=0) as engine, pytest.raises(UsageError, match="LLM"):
        veridical.check(ROWS, "selfcheck_nli", engine=engine)
