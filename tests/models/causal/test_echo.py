"""Answers of completion servers to questions about given text, as the servers document them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from veridical.core.messages import LlmError
from veridical.core.tokens import GivenText
from veridical.models.causal.echo import echo_request, read_echo

GIVEN = GivenText("A: ", "Paris is")


def echoed(tokens: list[str], values: list[float | None], tops: Any = None, text: Any = None):
    return {
        "choices": [
            {
                "text": "".join(tokens) if text is None else text,
                "logprobs": {"tokens": tokens, "token_logprobs": values, "top_logprobs": tops},
            }
        ]
    }


def test_echo_gives_the_texts_tokens_and_leaves_out_prompt_and_answer() -> None:
    reply = echoed(
        ["A", ":", " Paris", " is", " nice"],
        [None, -1.0, -2.0, -0.5, -0.1],
        [None, {":": -1.0}, {" Lyon": -0.3, " Paris": -2.0}, {" is": -0.5}, {" nice": -0.1}],
    )
    found = read_echo(reply, GIVEN, "echo", 5)
    assert found.logprobs.tolist() == [-2.0, -0.5]
    # the token over the join counts as the text's, from 0
    assert found.starts.tolist() == [0, 5] and found.ends.tolist() == [5, 8]
    np.testing.assert_array_equal(found.top, [[-0.3, -2.0], [-0.5, -math.inf]])
    assert found.entropy is None and found.lowest is None
    request = echo_request(GIVEN, 5)
    assert request["prompt"] == "A: Paris is" and request["echo"] is True
    assert request["logprobs"] == 5 and request["max_tokens"] == 1


def test_prompt_logprobs_of_vllm() -> None:
    def entry(*pairs: tuple[str, float]) -> dict[str, Any]:
        ranks = sorted((-value, i) for i, (_, value) in enumerate(pairs))
        return {
            str(100 + i): {
                "logprob": value,
                "rank": [r for _, r in ranks].index(i) + 1,
                "decoded_token": token,
            }
            for i, (token, value) in enumerate(pairs)
        }

    lists = [
        None,
        entry((":", -1.0)),
        entry((" Paris", -2.0), (" Lyon", -0.3)),
        entry((" is", -0.5)),
    ]
    reply = {"choices": [{"text": " nice", "prompt_logprobs": lists}]}
    found = read_echo(reply, GIVEN, "prompt_logprobs", 20)
    assert found.logprobs.tolist() == [-2.0, -0.5]
    assert found.starts.tolist() == [0, 5] and found.ends.tolist() == [5, 8]
    np.testing.assert_array_equal(found.top, [[-0.3, -2.0], [-0.5, -math.inf]])
    assert echo_request(GIVEN, 20, "prompt_logprobs")["prompt_logprobs"] == 20


def test_a_token_that_is_not_among_the_likeliest_is_no_alternative() -> None:
    given = GivenText("A", " B")
    reply = echoed(["A", " B"], [None, -9.0], [None, {" C": -0.1, " D": -3.0, " B": -9.0}])
    found = read_echo(reply, given, "echo", 2)
    assert found.top.tolist() == [[-0.1, -3.0]] and found.logprobs.tolist() == [-9.0]


def test_tokens_of_half_a_character() -> None:
    given = GivenText("x", "\u6771y")
    reply = echoed(["x", "\ufffd", "\ufffd", "y", "!"], [None, -1, -2, -3, -4], text="x\u6771y!")
    found = read_echo(reply, given, "echo", 5)
    assert found.logprobs.tolist() == [-1, -2, -3]
    assert found.starts.tolist() == [0, 0, 1] and found.ends.tolist() == [1, 1, 2]


NAN = float("nan")


@pytest.mark.parametrize(
    ("reply", "trouble"),
    [
        (None, "malformed"),
        ({}, "malformed"),
        ({"choices": []}, "malformed"),
        ({"choices": ["x"]}, "malformed"),
        ({"choices": [{"text": "x"}]}, "rejected"),
        ({"choices": [{"text": "x", "logprobs": {"content": []}}]}, "rejected"),
        (echoed([" nice"], [-1.0]), "rejected"),  # echo was ignored, as llama.cpp does
        (echoed([], []), "rejected"),
        (echoed(["A", ":"], [None, -1.0], text="A: Paris is"), "malformed"),
        (echoed(["A", ":", " Paris", " is"], [None, -1, NAN, -1]), "malformed"),
        (echoed(["A", ":", " Paris", " is"], [None, -1, 0.7, -1]), "malformed"),
        (echoed(["A", ":", " Paris", " is"], [None, -1, "-2", -1]), "malformed"),
        (echoed(["A", ":", " Paris", " is"], [None, -1, None, -1]), "rejected"),
        (echoed(["A", ":", " Paris", 7], [None, -1, -1, -1], text="A: Paris is"), "malformed"),
    ],
)
def test_answers_that_cannot_be_used(reply: Any, trouble: str) -> None:
    with pytest.raises(LlmError) as e:
        read_echo(reply, GIVEN, "echo", 5)
    assert e.value.trouble == trouble


@pytest.mark.parametrize(
    "lists", [None, [], "x", [None, 3], [None, {}], [None, {"1": {"logprob": -1}}]]
)
def test_prompt_lists_that_cannot_be_used(lists: Any) -> None:
    with pytest.raises(LlmError):
        read_echo(
            {"choices": [{"text": "", "prompt_logprobs": lists}]}, GIVEN, 5, "prompt_logprobs"
        )


HUGE = 10**400
HOSTILE = [HUGE, -HUGE, math.nan, math.inf, -math.inf, 0.5, "-0.5", True, False, [-1.0], [[-1]], {}]


@pytest.mark.parametrize("value", HOSTILE, ids=lambda v: f"{type(v).__name__} {v!r:.8}")
@pytest.mark.parametrize("place", ["echo", "echo top", "prompt", "prompt top"])
def test_what_is_no_log_probability_is_malformed(value: Any, place: str) -> None:
    given = GivenText("q", "a")
    own, other = (value, -1.0) if not place.endswith("top") else (-1.0, value)
    if place.startswith("echo"):
        form, reply = "echo", echoed(["q", "a"], [None, own], [None, {"a": own, "b": other}])
    else:
        entry = {"1": {"logprob": own, "decoded_token": "a"}, "2": {"logprob": other}}
        form, reply = "prompt_logprobs", {"choices": [{"prompt_logprobs": [None, entry]}]}
    with pytest.raises(LlmError, match="returned log-probability") as caught:
        read_echo(reply, given, form, 5)  # type: ignore[arg-type]
    assert caught.value.trouble == "malformed"
    assert len(str(caught.value)) < 200


def test_very_small_probabilities_are_numbers() -> None:
    found = read_echo(echoed(["q", "a"], [None, -(10**30)]), GivenText("q", "a"), "echo", 5)
    assert found.logprobs.tolist() == [-1e30]
