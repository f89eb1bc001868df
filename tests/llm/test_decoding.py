"""Decodings: what they are called, and which back ends have them."""

from __future__ import annotations

import pytest

from veridical.errors import UsageError
from veridical.llm.decoding import MIRAGE, endpoint_for, parse_decoding
from veridical.llm.endpoints import Endpoint

VLLM = Endpoint("here", "http://127.0.0.1:8000/v1", "m")
OPENAI = Endpoint("openai:m", "https://api.openai.com/v1", "m")
OLLAMA = Endpoint("ollama:m", "http://127.0.0.1:11434/v1", "m")
TORCH = Endpoint("torch:m", "torch:m", "m")


def test_names_are_read_as_written() -> None:
    for text in MIRAGE:
        assert str(parse_decoding(text)) == text
    found = {t: (d.draws, d.top_p, d.top_k) for t in MIRAGE for d in [parse_decoding(t)]}
    assert found == {
        "greedy": (False, None, None),
        "beam:3": (False, None, None),
        "ancestral": (True, 1.0, None),
        "top_k:40": (True, 1.0, 40),
        "top_p:0.95": (True, 0.95, None),
    }


@pytest.mark.parametrize(
    "text",
    ["", "beam", "beam:1", "beam:x", "top_k:0", "top_k:2.5", "top_p:0", "top_p:nan", "greedy:1"],
)
def test_what_is_no_decoding(text: str) -> None:
    with pytest.raises(UsageError, match="unknown decoding"):
        parse_decoding(text)


@pytest.mark.parametrize("endpoint", [VLLM, OPENAI, OLLAMA])
def test_servers_have_no_beam_search(endpoint: Endpoint) -> None:
    with pytest.raises(UsageError, match="torch:FOLDER"):
        endpoint_for(parse_decoding("beam:3"), endpoint)


def test_a_model_run_here_has_beam_search() -> None:
    told = endpoint_for(parse_decoding("beam:3"), TORCH)
    assert told.extra_body == {"num_beams": 3} and told.identity != TORCH.identity


def test_servers_that_cut_by_default_are_told_not_to() -> None:
    told = endpoint_for(parse_decoding("ancestral"), VLLM)
    assert told.extra_body == {"min_p": 0.0, "top_k": -1} and told.identity != VLLM.identity
    assert endpoint_for(parse_decoding("top_k:40"), VLLM).extra_body == {"min_p": 0.0}
    assert endpoint_for(parse_decoding("greedy"), VLLM) == VLLM


@pytest.mark.parametrize("endpoint", [OPENAI, OLLAMA])
def test_top_k_where_there_is_none(endpoint: Endpoint) -> None:
    with pytest.raises(UsageError, match="not support top_k"):
        endpoint_for(parse_decoding("top_k:40"), endpoint)
    assert endpoint_for(parse_decoding("top_p:0.9"), endpoint) == endpoint
