"""Results as a number, a label and a reason; nothing unchecked passes."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from veridical import check_one
from veridical.integrations.judgement import judgement, texts_of

SOURCE = "The tower is 57 m tall."


@pytest.mark.parametrize(
    ("answer", "contexts", "label", "passed"),
    [
        ("The tower is 57 m tall.", SOURCE, "supported", True),
        ("The tower is 70 m tall.", SOURCE, "contradicted", False),
        ("The tower is 57 m tall.", None, "unchecked", False),
        ("", SOURCE, "unchecked", False),
    ],
)
def test_a_result(answer: str, contexts: str | None, label: str, passed: bool) -> None:
    told = judgement(check_one(answer, contexts=contexts, store=None))
    assert (told.label, told.passed, told.checked) == (label, passed, label != "unchecked")
    assert told.score <= 0.5 or passed
    if label == "contradicted":
        assert told.reason == (
            'contradicted: "The tower is 70 m tall."; context 1, characters 0-23: '
            '"The tower is 57 m tall."'
        )
    if label == "unchecked":
        assert told.value is None and told.score == 0 and told.reason.startswith("unchecked: The")


def test_words_alone_are_no_check() -> None:
    told = judgement(check_one(SOURCE, contexts=SOURCE, preset="fast", store=None))
    assert told.value is not None and told.label == "unchecked"
    assert told.score == 0 and not told.passed


def test_a_reason_is_one_harmless_line() -> None:
    answer = "The tower\x1b[31m is\n70 m \u202etall" + " very" * 500 + "."
    told = judgement(check_one(answer, contexts=SOURCE, store=None))
    assert told.reason.isprintable() and len(told.reason) < 700


def test_texts_that_other_tools_call_contexts() -> None:
    objects = [SimpleNamespace(context="b"), SimpleNamespace(page_content="c"), {"text": "d"}]
    assert texts_of(["a", *objects, None, "", 5]) == ["a", "b", "c", "d"]
    assert texts_of("one") == ["one"] and texts_of(None) == [] and texts_of(b"x") == []
