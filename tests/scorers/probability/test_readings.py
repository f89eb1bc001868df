"""Where token probabilities come from: the record, or a proxy that reads after the prompt."""

from __future__ import annotations

import numpy as np
import pytest
from llm_evidence import FixedReplies
from token_records import reading_of, record_of, sample_of, token

from veridical.core.records import Record
from veridical.core.tokens import FLOOR
from veridical.errors import NotApplicable
from veridical.scorers.probability._readings import conversation, read_answers, read_response
from veridical.text.token_spans import MisalignedTokens


async def test_alternatives_are_sorted_and_filled_up():
    tokens = [token("a", 0.1, 0.6, 0.2), token(" b", 0.5), token(" c", 0.3, 0.4)]
    record = record_of(tokens)
    reading = await read_response(record, FixedReplies(record), None, "all")
    with np.errstate(divide="ignore"):
        expected = np.log([[0.6, 0.2, 0.1], [0, 0, 0], [0.4, 0.3, 0]])
    assert np.allclose(reading.tokens.top, expected)
    assert reading.tokens.entropy is None and reading.tokens.lowest is None
    assert reading.tokens.starts.tolist() == [0, 1, 3]


async def test_values_a_little_over_zero_are_certain():
    record = record_of([{"token": "a", "logprob": 9e-7}])
    reading = await read_response(record, FixedReplies(record), None, "all")
    assert reading.tokens.logprobs.tolist() == [0.0]


async def test_what_a_proxy_says_is_kept_within_bounds():
    record = record_of([], response="ab")
    read = reading_of(["a", "b"], [1.0, 1e-320], top=[[1.0, 1e-320], [0.5, 0.5]])
    reading = await read_response(
        record, FixedReplies(record, readings={("", "ab"): read}), "m", "all"
    )
    assert reading.tokens.logprobs.tolist() == [0.0, FLOOR]
    assert reading.tokens.top.min() == FLOOR


async def test_a_proxy_that_finds_no_tokens():
    record = record_of([], response="\u200b")
    evidence = FixedReplies(record, readings={("", "\u200b"): reading_of([], [])})
    with pytest.raises(NotApplicable, match="no tokens"):
        await read_response(record, evidence, "m", "all")


CONDITIONS = [
    ({"prompt": "Q?"}, "all", "Q?"),
    ({"prompt": "Q?"}, "none", ""),
    ({"prompt": "Q?", "contexts": ["C1.", "C2."]}, "all", "C1.\n\nC2.\n\nQ?"),
    ({"prompt": "Q?", "contexts": ["C1."]}, "prompt", "Q?"),
    ({"contexts": ["C1."]}, "all", "C1."),
    ({"contexts": ["C1."]}, "prompt", ""),
    ({"prompt": "Given C1. answer", "contexts": ["C1."]}, "all", "Given C1. answer"),
    ({}, "all", ""),
    ({"prompt": " \n"}, "all", ""),
    (
        {
            "prompt": [
                {"role": "system", "content": "Be brief."},
                {
                    "role": "user",
                    "content": [
                        {"type": "text", "text": "What"},
                        {"type": "image_url", "image_url": {"url": "http://x/y.png"}},
                        {"type": "text", "text": "is it?"},
                    ],
                },
            ],
            "contexts": ["C1."],
        },
        "all",
        "Be brief.\n\nC1.\n\nWhat\nis it?",
    ),
]


@pytest.mark.parametrize(("fields", "condition", "prompt"), CONDITIONS)
async def test_what_a_proxy_reads_first(fields, condition, prompt):
    record = Record(response="Yes", **fields)
    read = reading_of(["Yes"], [0.5])
    evidence = FixedReplies(record, readings={(prompt, "Yes"): read})
    await read_response(record, evidence, "m", condition)
    assert [tuple(t) for t in evidence.read_texts] == [(prompt, "Yes")]


def test_contexts_come_as_the_users_where_the_assistant_spoke_last():
    prompt = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Well:"}]
    record = Record(response="x", prompt=prompt, contexts=["C."])
    roles = [m["role"] for m in conversation(record, contexts=True)]
    assert roles == ["user", "assistant", "user"]
    odd = Record(response="x", prompt=[{"content": None}, {"role": "user"}])
    assert [m["content"] for m in conversation(odd, contexts=True)] == ["", ""]


async def test_answers_are_the_response_and_the_samples_with_a_text():
    tokens = [token("Yes", 0.5)]
    samples = [sample_of([token("No", 0.2), token(" way", 0.1)]), {"image": "x.png"}, ""]
    record = record_of(tokens, samples=samples)
    found = await read_answers(record, FixedReplies(record), None, "all")
    assert [r.text for r in found] == ["Yes", "No way"]
    bare = record_of(tokens, samples=[sample_of(tokens), "Hm"])
    with pytest.raises(NotApplicable, match="sample 1 has no logprobs"):
        await read_answers(bare, FixedReplies(bare), None, "all")
    wrong = record_of(tokens, samples=[{"text": "Hm", "logprobs": tokens}])
    with pytest.raises(MisalignedTokens, match=r"sample 0: .* 'Hm', token 0 is 'Yes'"):
        await read_answers(wrong, FixedReplies(wrong), None, "all")


async def test_a_proxy_reads_all_answers_in_one_round():
    record = record_of([], response="a", samples=["b", "c"], prompt="Q")
    readings = {("Q", t): reading_of([t], [0.5]) for t in "abc"}
    evidence = FixedReplies(record, readings=readings)
    assert [r.text for r in await read_answers(record, evidence, "m", "all")] == ["a", "b", "c"]
    assert len(evidence.read_texts) == 3
