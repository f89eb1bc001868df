"""Prompts as text: one rule for judges, proxies, NLI models and searches."""

from __future__ import annotations

from typing import Any

import pytest

from veridical.core.prompt_text import (
    images,
    last_question,
    message_text,
    prompt_text,
    qualified,
    question_text,
)
from veridical.errors import ModelError
from veridical.models.causal.chat import plain_prompt

IMAGE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}
CHAT: list[dict[str, Any]] = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": [{"type": "text", "text": "What is"}, IMAGE, "this?"]},
    {"role": "assistant", "content": None},
]


def test_a_message_is_its_texts_a_line_each() -> None:
    assert [message_text(m["content"]) for m in CHAT] == ["Be brief.", "What is\nthis?", ""]
    assert message_text(7) == message_text([{"type": "text"}, 7]) == ""


def test_messages_are_paragraphs_and_those_without_text_are_left_out() -> None:
    assert prompt_text(CHAT) == "Be brief.\n\nWhat is\nthis?"
    assert (prompt_text(None), prompt_text("Q"), prompt_text([])) == ("", "Q", "")


def test_a_judge_is_told_who_speaks_and_where_an_image_stands() -> None:
    shown = "system: Be brief.\n\nuser: What is\n[image 1]\nthis?\n\nassistant: "
    assert question_text(CHAT) == shown
    assert question_text(CHAT[1:2]) == "What is\n[image 1]\nthis?"
    assert images(CHAT) == [IMAGE] and images("Q") == images(None) == []


def test_a_model_that_reads_text_gets_a_blank_line_behind_it_and_no_image() -> None:
    assert plain_prompt(CHAT[:1]) == "Be brief.\n\n" and plain_prompt([]) == ""
    with pytest.raises(ModelError, match="images"):
        plain_prompt(CHAT)


@pytest.mark.parametrize("bedrock", [False, True])
def test_the_question_is_the_query_and_never_a_grounding_source(bedrock: bool) -> None:
    def block(qualifier: str, text: str) -> dict[str, Any]:
        if bedrock:
            return {"guardContent": {"text": {"text": text, "qualifiers": [qualifier]}}}
        return {"type": qualifier, "text": text}

    plain = {"type": "text", "text": "Be brief."}
    parts = [block("grounding_source", "A long source."), plain, block("query", "Who was Ada?")]
    assert last_question([{"role": "user", "content": parts}]) == "Who was Ada?"
    assert last_question([{"role": "user", "content": parts[:2]}]) == "Be brief."
    assert qualified(parts[0]) == ("grounding_source", "A long source.")
    assert qualified(plain) is None
    for odd in (None, "x", {"guardContent": 7}, {"guardContent": {"text": {"text": 7}}}):
        assert qualified(odd) is None
