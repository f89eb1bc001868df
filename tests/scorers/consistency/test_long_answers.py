"""The scorers of long answers from end to end: refusals, calls as planned, a real model."""

from __future__ import annotations

import json
from typing import Any

import pytest

import veridical
from veridical.core.messages import ChatRequest
from veridical.errors import UsageError
from veridical.llm.endpoints import Endpoint
from veridical.llm.fake import FakeLlm
from veridical.weights import download

BORN = "Marie Curie was born in Warsaw in 1867."
ROW = {
    "prompt": "Tell me about Marie Curie.",
    "response": f"{BORN} She won two Nobel Prizes.",
    "samples": ["She was born in Warsaw in 1867.", "Marie Curie was a physicist."],
}
SCORERS = ("claim_qa", "claim_graph(merge=llm)", "claim_frequency(merge=llm)")
ALL = (*SCORERS, "answer_relevancy(by=llm)", "claim_frequency(extractor=llm_jiang)")


def said(request: ChatRequest) -> str:
    """An answer of the form that the request asks for."""
    if request.schema is None:
        return BORN
    ((key, wanted),) = request.schema["properties"].items()
    if key == "same":
        return json.dumps({"same": [0] * wanted["minItems"]})
    if key == "claims":
        return json.dumps({"claims": [BORN, "Marie Curie won two Nobel Prizes."]})
    about = "born" if BORN in str(request.messages[-1]["content"]).split("Claim:")[-1] else "famous"
    texts = [f"Where was she {about}?", f"When was she {about}?", f"Why is she {about}?"]
    return json.dumps({"questions": texts[: wanted["minItems"]]})


def run(scorers: str, llm: Any) -> Any:
    (result,) = veridical.check([ROW], scorers, llm=llm, processes=0, store=None)
    return result


@pytest.mark.parametrize("scorer", ALL)
def test_without_an_llm_each_is_refused_before_a_run(scorer: str) -> None:
    with pytest.raises(UsageError, match="no LLM is named"):
        veridical.check([ROW], scorer, processes=0, store=None)


@pytest.mark.parametrize(
    ("scorer", "calls"),
    [
        # a claim: its questions, and to each of two three answers
        ("claim_qa", 2 * (1 + 2 * 3)),
        ("claim_qa(questions=1, answers=4)", 2 * (1 + 4)),
        ("claim_graph(merge=llm)", 2),  # a sample
        ("claim_frequency(merge=llm)", 2),
        ("answer_relevancy(by=llm)", 1),
    ],
)
def test_the_plan_counts_their_calls(scorer: str, calls: int) -> None:
    found = veridical.plan([ROW], scorer, llm=FakeLlm(said), processes=0, store=None)["llm"]
    counted = found["calls"]
    llm = FakeLlm(said)
    result = run(scorer, llm)
    (score,) = result.scores.values()
    assert score.status == "scored", score.reason
    assert sum(llm.asked.values()) == counted == found["least"]["calls"] == calls


def test_a_budget_is_kept() -> None:
    llm = FakeLlm(said)
    llm.endpoint = Endpoint("dear", "fake:dear", "dear", price_in=1e6, price_out=1e6)
    settings: dict[str, Any] = {"budget": 0.01, "processes": 0, "store": None}
    for scorer in ALL:
        (result,) = veridical.check([ROW], scorer, llm=llm, **settings)
        (score,) = result.scores.values()
        assert score.status == "failed" and "budget" in score.reason
    assert not llm.asked


@pytest.mark.local
@pytest.mark.skipif(
    download.find(download.SMOLLM2) is None,
    reason="LOCAL LLM ABSENT: veridical models get smollm2",
)
def test_a_small_model_keeps_to_the_forms() -> None:
    """It knows little: what it writes is read, or the score fails and says why."""
    pytest.importorskip("xllamacpp")
    scorers = "claim_qa(questions=1, answers=1), claim_graph(merge=llm), answer_relevancy(by=llm)"
    result = run(scorers, "local:smollm2")
    scores = {key.partition("(")[0]: s for key, s in result.scores.items()}
    for name in ("claim_qa", "claim_graph", "answer_relevancy"):
        score = scores[name]
        if score.status == "scored":
            assert 0 <= score.risk <= 1
        else:
            assert score.risk is None and score.reason.startswith("LlmError"), (name, score.reason)
