"""Replies of the MCP server: what they say, and that they are never longer than was said."""

from __future__ import annotations

import json
import random

import pytest
from places import ROOT
from tokenizers import Tokenizer

from veridical import check_one
from veridical.integrations.mcp_server import MOST_TOKENS, as_json, bounded, tokens

HEIGHT = "The tower is 57 m tall."


def test_wrong_sentences_come_with_evidence_and_right_ones_are_left_out() -> None:
    answer = "The tower is 57 m tall. The tower is 70 m tall."
    reply = json.loads(as_json(check_one(answer, contexts=["Other.", HEIGHT], store=None)))
    assert reply["verdict"] == "contradicted" and reply["statements"] == 2
    (wrong,) = reply["sentences"]
    assert wrong["text"] == "The tower is 70 m tall."
    assert wrong["evidence"][0] == {"source": 1, "start": 0, "text": HEIGHT}


def test_unchecked_says_why_and_what_to_do() -> None:
    reply = json.loads(as_json(check_one("The tower is 57 m tall.", store=None)))
    assert reply["verdict"] == "unchecked" and reply["risk"] is None
    assert "nothing to check" in reply["reason"] and "contexts" in reply["advice"]


@pytest.mark.parametrize(
    "alphabet", ["abc def", "0123456789", "漢字かな交じり文", "{}\\\"'\n\x00", "é🙂ß"]
)
def test_no_reply_is_too_long(alphabet: str) -> None:
    rng = random.Random(0)
    items = [{"text": "".join(rng.choices(alphabet, k=300))} for _ in range(100)]
    reply = bounded({"verdict": "contradicted"}, "sentences", items)
    parsed = json.loads(reply)
    assert parsed["sentences"] and len(parsed["sentences"]) + parsed["left_out"] == 100
    assert tokens(reply) <= MOST_TOKENS


def test_the_count_is_never_below_a_vocabulary_s() -> None:
    (file, *_) = sorted((ROOT / "src/veridical/models/data").glob("*/tokenizer.json"))
    tokenizer = Tokenizer.from_file(str(file))
    for text in (HEIGHT * 20, "supercalifragilistic " * 30, "ab12!? " * 50, "Straße 漢字 " * 30):
        assert len(tokenizer.encode(text, add_special_tokens=False).ids) <= tokens(text)
