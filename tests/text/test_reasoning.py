"""Reasoning and special tokens are no part of an answer, and places stay."""

import pytest
from growing import MOST, growth
from hostile_texts import repeated

from veridical.core.records import Record
from veridical.core.stated import states_nothing, stating_sentences
from veridical.text.reasoning import answer_only

SAID = "Tea has caffeine."


@pytest.mark.parametrize(
    "text",
    [
        f"<think>Is it so? Herbal tea has none.</think>\n\n{SAID}",
        f"<Thinking>\nnone?\n</Thinking>{SAID}",
        f"<reasoning>x</reasoning> {SAID}",
        f"Herbal tea has none.</think>{SAID}",
        f"<think>a <think>b</think> c</think>{SAID}",
        f"<think>a</think><think>b</think>{SAID}",
        f"[THINK]none[/THINK]{SAID}",
        f"◁think▷none◁/think▷{SAID}",
        f"<|begin_of_thought|>none<|end_of_thought|>{SAID}",
        f"<seed:think>none</seed:think>{SAID}",
        f"<|channel|>analysis<|message|>none<|end|><|start|>assistant<|channel|>final<|message|>{SAID}",
        f"analysisWe need to check.assistantfinal{SAID}",
        f"{SAID}<|im_end|>",
        f"<|im_start|>assistant\n{SAID}<|im_end|>",
        f"<|start_header_id|>assistant<|end_header_id|>\n\n{SAID}<|eot_id|>",
        f"<s>{SAID}</s>",
        f"<s>[INST] Is there caffeine? [/INST] {SAID}</s>",
        f"{SAID} [/INST]",
        f"<start_of_turn>model\n{SAID}<end_of_turn>",
        f"{SAID}<｜end▁of▁sentence｜>",
        f"<think>x</think><answer>{SAID}</answer>",
        f"{SAID}\n<think>and now? It has none.",
    ],
)
def test_what_is_left_is_the_answer_at_its_place(text):
    left = answer_only(text)
    assert len(left) == len(text)
    assert left.strip() == SAID
    assert text[text.index(SAID) :][: len(SAID)] == left.strip()
    assert [s.text for s in Record(response=text).sentences] == [SAID]


@pytest.mark.parametrize(
    "text",
    [
        "a < b and c > d [1] [see INST]",
        "Write `<think>` before it, and `</think>` after it.",
        "```\n<think>\nx\n</think>\n```",
        "The analysis was final.",
        "I think so. Thinking helps.",
        "[Reason 1] It is hot.",
    ],
)
def test_other_texts_stay(text):
    assert answer_only(text) == text


def test_a_tag_within_a_line_hides_nothing():
    assert "has none" in answer_only("Tea, like <think> says, has none.")


@pytest.mark.parametrize("text", ["<think>Tea has caffeine.", "<think>Tea.</think>", "<|im_end|>"])
def test_reasoning_alone_states_nothing(text):
    record = Record(response=text, contexts=("Tea has caffeine.",))
    assert states_nothing(record)
    assert not stating_sentences(record)


def test_samples_are_compared_without_their_reasoning():
    record = Record(response="<think>no</think>Yes", samples=("<think>no</think>Yes", "Yes"))
    assert [s.text.strip() for s in record.against("samples")] == ["Yes", "Yes"]
    assert record.answer.strip() == "Yes"


@pytest.mark.parametrize(
    "piece",
    [
        "<think>",
        "</think>",
        "<|",
        "[INST] ",
        "`<think>",
        "<|channel|>analysis<|message|>",
        "<|start|>a<|channel|>",
        "<|im_start|>assistant",
        "<think>x</think>",
    ],
)
def test_time_grows_with_length_alone(piece):
    assert growth(answer_only, repeated(piece)) < MOST
