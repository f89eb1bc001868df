"""selfcheck_prompt against the paper's equation 11, by hand."""

from __future__ import annotations

import math

import pytest
from llm_evidence import FixedReplies

from veridical.core.messages import LlmError, Reply
from veridical.core.records import Record, TokenLogprob
from veridical.errors import NotApplicable, UsageError
from veridical.scorers.judges.selfcheck_prompt import selfcheck_prompt

RECORD = Record(
    prompt="Who was Ada?",
    response="Ada was English. Ada was born in 1900.",
    samples=("Ada was English.\nShe wrote programs.", "Ada was born in 1815.", "Ada was English."),
    contexts=("Ada was English.", "Born in 1815."),
)


def by_words(request, llm):
    """Yes where the sentence's last word is in the sample."""
    text = request.messages[-1]["content"]
    sample, sentence = text.split("Sentence:")
    word = sentence.split("Is the sentence")[0].split(".")[0].split()[-1]
    return "Yes" if word in sample else "No"


async def test_mean_over_samples_then_over_sentences():
    evidence = FixedReplies(RECORD, by_words)
    score = await selfcheck_prompt(RECORD, evidence)
    # "English." is in samples 1 and 3: (0 + 1 + 0) / 3. "1900." is in none: 1.
    assert [u.raw for u in score.units] == pytest.approx([1 / 3, 1])
    assert score.risk == pytest.approx(2 / 3)
    assert [u.label for u in score.units] == ["supported", "unsupported"]
    assert [u.text for u in score.units] == ["Ada was English.", "Ada was born in 1900."]
    first = score.units[0].evidence[0]
    assert (first.kind, first.index, first.probability) == ("sample", 1, 1)
    assert first.text == RECORD.samples[1].text[first.start : first.end]
    assert len(evidence.asked) == 1 and len(evidence.asked[0][1]) == 6  # one round


async def test_all_sentences_of_a_sample_follow_each_other():
    evidence = FixedReplies(RECORD, by_words)
    await selfcheck_prompt(RECORD, evidence, fences=False, form="text")
    asked = [r.messages[-1]["content"].split("\n\n") for r in evidence.asked[0][1]]
    samples = [" ".join(s.text.splitlines()) for s in RECORD.samples]
    sentences = ["Ada was English.", "Ada was born in 1900."]
    assert [(c, s) for c, s, _ in asked] == [
        (f"Context: {sample}", f"Sentence: {sentence}")
        for sample in samples
        for sentence in sentences
    ]


async def test_published_prompts_line_breaks_of_samples_become_blanks():
    evidence = FixedReplies(RECORD, "Yes")
    await selfcheck_prompt(RECORD, evidence, template="selfcheck_package", form="published")
    assert evidence.asked[0][1][0].messages[-1]["content"] == (
        "Context: Ada was English. She wrote programs.\n\nSentence: Ada was English.\n\n"
        "Is the sentence supported by the context above? Answer Yes or No.\n\nAnswer: "
    )
    await selfcheck_prompt(RECORD, evidence, form="text")
    assert evidence.asked[1][1][0].messages[-1]["content"].endswith("Answer Yes or No:")


async def test_token_probabilities_grade_the_answer():
    def answer(request, llm):
        top = [{"token": " No", "logprob": math.log(0.2)}]
        token = {"token": "Yes", "logprob": math.log(0.6), "top": top}
        return Reply("Yes", "stop", (TokenLogprob.model_validate(token),))

    score = await selfcheck_prompt(RECORD, FixedReplies(RECORD, answer))
    assert score.risk == pytest.approx(0.2 / 0.8)


async def test_unclear_answers_are_left_out_and_counted_or_a_half_as_in_the_paper():
    def answer(request, llm):
        return "It depends" if "1815" in request.messages[-1]["content"] else "No"

    score = await selfcheck_prompt(RECORD, FixedReplies(RECORD, answer))
    assert score.risk == 1
    assert score.raw["unclear"] == 2 and score.raw["texts"] == ["It depends", "It depends"]
    paper = await selfcheck_prompt(RECORD, FixedReplies(RECORD, answer), unclear="half")
    assert paper.risk == pytest.approx((1 + 0.5 + 1) / 3)


async def test_mostly_unclear_answers_fail_and_keep_the_text():
    score = await selfcheck_prompt(RECORD, FixedReplies(RECORD, "It depends"))
    assert score.status == "failed" and score.raw["text"] == "It depends"
    lost = FixedReplies(RECORD, lambda request, llm: LlmError("timeout", "nobody answered"))
    assert (await selfcheck_prompt(RECORD, lost)).raw["trouble"] == "timeout"


async def test_one_context_that_supports_is_enough():
    score = await selfcheck_prompt(
        RECORD, FixedReplies(RECORD, by_words), against="contexts", fences=False
    )
    assert [u.raw for u in score.units] == [0, 1]
    assert [len(u.evidence) for u in score.units] == [1, 1]


async def test_what_does_not_apply():
    with pytest.raises(NotApplicable, match="no samples"):
        await selfcheck_prompt(Record(response="a"), FixedReplies(RECORD, "Yes"))
    with pytest.raises(UsageError, match=r"must contain \{sample\} and \{sentence\}"):
        await selfcheck_prompt(RECORD, FixedReplies(RECORD, "Yes"), template="likert")
