"""The plan of a run that asks an LLM: calls and their worst case are those of the run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import veridical
from veridical.cli.planned import plan_lines
from veridical.core.messages import ChatRequest, user
from veridical.llm.budget import worst_case
from veridical.llm.endpoints import Endpoint
from veridical.llm.fake import FakeLlm
from veridical.sampling.adaptive import Adaptive
from veridical.sampling.sampling import Sampling

PROMPTS = [{"prompt": f"question {i}"} for i in range(6)]
ADAPTIVE = Sampling(adaptive=Adaptive(2, 8))


def priced(answer: Any = "an answer") -> FakeLlm:
    llm = FakeLlm(answer)
    llm.endpoint = Endpoint("fake", "fake:fake", "fake", price_in=3.0, price_out=5.0)
    return llm


def plan(llm: FakeLlm, scorers: str, rows: Any = PROMPTS, **settings: Any) -> dict[str, Any]:
    return veridical.plan(rows, scorers, llm=llm, processes=0, **settings)["llm"]


def test_calls_tokens_and_cost_of_answering_prompts() -> None:
    found = plan(priced(), "exact_match", samples=3)
    assert found["calls"] == found["least"]["calls"] == found["sampling"]["calls"] == 6 * 4
    assert found["scoring"]["calls"] == 0 and found["complete"]
    assert found["tokens_out"] == 6 * 4 * 512
    expected = (found["tokens_in"] * 3.0 + found["tokens_out"] * 5.0) / 1e6
    assert found["cost"] == pytest.approx(expected) and found["tokens_in"] > 0
    bound = worst_case(priced().endpoint, ChatRequest(user("question 1"), max_tokens=512))
    assert found["cost"] <= bound * 24


def test_the_range_of_adaptive_sampling_holds_the_run(tmp_path: Path) -> None:
    found = plan(priced(), "exact_match", sampling=ADAPTIVE)
    assert (found["least"]["calls"], found["calls"]) == (6 * 3, 6 * 9)
    assert found["least"]["cost"] < found["cost"] and found["complete"]
    for answer in ("the same", lambda r: f"another {r.ordinal}", lambda r: "ab"[r.ordinal % 2]):
        llm = priced(answer)
        settings: dict[str, Any] = {"sampling": ADAPTIVE, "processes": 0}
        results = veridical.check(PROMPTS, "exact_match", llm=llm, **settings)
        assert results.ledger is not None
        assert 6 * 3 <= results.ledger["calls"] <= 6 * 9
        assert results.ledger["cost"] <= found["cost"]
    first = Sampling(adaptive=Adaptive(2, 8), response="first")
    drawn = plan(priced(), "exact_match", sampling=first)
    assert (drawn["least"]["calls"], drawn["calls"]) == (6 * 3, 6 * 9)


@pytest.mark.local
def test_what_a_model_here_need_not_read_is_estimated(tmp_path: Path) -> None:
    """Two samples and three sentences: of six prompts, each sample is read once. Roughly."""
    pytest.importorskip("xllamacpp")
    path = tmp_path / "m.gguf"
    path.write_bytes(b"GGUF" + b"\0" * 64)
    samples = ["One sample says this. " * 60, "Another says that. " * 60]
    rows = [{"response": "It is so. It was so. It will be so.", "samples": samples}]
    settings: dict[str, Any] = {"processes": 0, "store": None}
    local = veridical.plan(rows, "selfcheck_prompt", llm=f"local:{path}", **settings)["llm"]
    assert local["calls"] == 6
    once = 2 * 60 * 20 / 4
    assert local["tokens_in"] > 3 * once
    assert 1.5 * once < local["tokens_cached"] < local["tokens_in"] - once
    (line, _) = plan_lines(local)
    assert f"(about {local['tokens_cached']} of them saved by shared prefixes)" in line
    elsewhere = plan(priced(), "selfcheck_prompt", rows)
    assert elsewhere["tokens_cached"] == 0 and "shared prefixes" not in plan_lines(elsewhere)[0]


def test_what_is_journaled_is_not_counted(tmp_path: Path) -> None:
    llm, settings = priced(), {"store": tmp_path, "samples": 3}
    data = PROMPTS[:2]
    veridical.check(data, "exact_match", llm=llm, processes=0, **settings)
    asked = sum(llm.asked.values())
    found = plan(llm, "exact_match", **settings)
    assert (found["calls"], found["journaled"]) == (4 * 4, 2 * 4)
    found = plan(llm, "judge", data, **settings)
    assert found["sampling"]["calls"] == 0 and found["scoring"]["calls"] == 2
    assert found["complete"], "the answers are there"
    assert sum(llm.asked.values()) == asked


def test_what_scorers_ask_of_answers_to_come_is_a_least() -> None:
    found = plan(priced(), "judge, selfcheck_prompt", samples=3)
    assert not found["complete"] and not found["scoring"]["complete"]
    # one sentence an answer: a verdict of each, and by each of three samples
    assert found["scoring"]["calls"] == 6 * (1 + 3)
    assert found["calls"] == 6 * 4 + 6 * 4
    told = plan(priced(), "judge, selfcheck_prompt", sampling=ADAPTIVE)
    assert told["scoring"]["calls"] == 6 * (1 + 2), "with the fewest samples"
    assert told["least"]["calls"] == 6 * 3 + 6 * 3
    given = [{"prompt": "p", "response": "One. Two.", "samples": ["a", "b"]}]
    exact = plan(priced(), "judge, selfcheck_prompt", given)
    assert exact["sampling"] is None and exact["complete"]
    assert exact["calls"] == exact["scoring"]["calls"] == 1 + 2 * 2


def test_unknown_is_unknown() -> None:
    llm = FakeLlm("x")
    llm.endpoint = Endpoint("fake", "fake:fake", "fake")
    assert plan(llm, "exact_match", samples=2)["cost"] is None
    found = plan(priced(), "exact_match", sampling=Sampling(n=2, max_tokens=None))
    assert found["calls"] == 18 and found["tokens_in"] > 0
    assert found["tokens_out"] is None and found["cost"] is None and found["tokens"] is None
    (line,) = plan_lines(found)[:1]
    assert "at most unknown out; cost: unknown" in line


def test_replies_without_a_verdict_may_be_asked_for_once_more() -> None:
    given = [{"prompt": "p", "response": "One. Two.", "samples": ["a", "b"]}]
    found = plan(priced(), "judge, p_true, selfcheck_prompt, exact_match", given)
    assert found["calls"] == 1 + 1 + 2 * 2 == found["again"]["calls"]
    assert found["complete"], "what a dry run goes on with are verdicts, of p_true too"
    assert found["again"]["tokens_in"] > found["tokens_in"]
    assert found["again"]["cost"] > found["cost"]
    assert plan(priced(), "exact_match", given)["again"]["calls"] == 0


def test_people_are_told_what_is_a_range_a_least_and_a_worst_case() -> None:
    told = plan_lines(plan(priced(), "judge", sampling=ADAPTIVE))
    answering, scoring, total, again, note = told
    assert "answer prompts: 18 to 54 (0 more are journaled)" in answering
    assert "cost: at most" in answering and not answering.endswith("counted")
    assert "scorers: at least 6 " in scoring and scoring.endswith("for those counted")
    assert "in all: at least 24 " in total and "one short sentence" in note
    assert "without a clear verdict: at most 6; cost: at most" in again
    line, again = plan_lines(plan(priced(), "judge", [{"prompt": "p", "response": "r"}]))
    assert line.startswith("LLM calls: 1 (0 more are journaled)")
    assert "without a clear verdict: at most 1; cost: at most" in again
    json.dumps(plan(priced(), "judge"))
