"""Reading verdicts: strict text, JSON, and hand-worked token probabilities."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from veridical.core.messages import LlmError, Reply
from veridical.core.records import TokenLogprob
from veridical.llm.statements import stated
from veridical.llm.structured import read_json
from veridical.llm.verdicts import read_verdict
from veridical.prompts import Choices, load_prompt, prompt_names

TUNABLE = load_prompt("correct_incorrect")
CONTINUOUS = load_prompt("continuous")
LIKERT = load_prompt("likert")
YES_NO = load_prompt("selfcheck_paper")
LETTERS = load_prompt("mirage_begin")
PROBABILITY = load_prompt("verbalized")
JUDGING = [n for n in prompt_names() if load_prompt(n).scale is not None]


def token(text: str, p: float, **others: float) -> TokenLogprob:
    """A written token, its probability, and the alternatives' (``_`` stands for a blank)."""
    top = [{"token": text, "logprob": math.log(p)}]
    top += [{"token": t.replace("_", " "), "logprob": math.log(q)} for t, q in others.items()]
    return TokenLogprob.model_validate({"token": text, "logprob": math.log(p), "top": top})


def said(prompt, text: str):
    return read_verdict(Reply(text, "stop"), prompt)


def value(prompt, text: str) -> float | None:
    try:
        return said(prompt, text).value
    except LlmError as e:
        assert e.trouble == "malformed" and e.text == text
        return None


@pytest.mark.parametrize(
    ("prompt", "text", "expected"),
    [
        (TUNABLE, "Correct", 1),
        (TUNABLE, " incorrect.\n", 0),  # "incorrect" is not "correct"
        (TUNABLE, '"I am not sure"', 0.5),
        (TUNABLE, "**Incorrect**", 0),
        (TUNABLE, "Incorrect. The correct answer is Paris.", 0),
        (TUNABLE, "Correct: Paris is the capital.", 1),
        (TUNABLE, "Score: Incorrect\nExplanation: Washington was the correct answer.", 0),
        (TUNABLE, "Correct answer: Paris", None),  # names the right answer, judges nothing
        (TUNABLE, "Correct? Hard to say.", None),
        (TUNABLE, "Correct or Incorrect", None),
        (TUNABLE, "Correct, Incorrect", None),
        (TUNABLE, "Correct\nScore: Incorrect", None),  # two verdicts
        (TUNABLE, "Score: Correct\nScore: Correct", 1),
        (TUNABLE, "Not correct", 0),
        (TUNABLE, "incorrectly stated", None),
        (TUNABLE, "That is right", 1),
        (TUNABLE, "The brightest answer", None),  # "right" inside another word
        (TUNABLE, '{"score": "Incorrect"}', 0),
        (TUNABLE, '```json\n{"score": "Correct"}\n```', 1),
        (TUNABLE, '{"score": "Correct", "score": "Incorrect"}', None),
        (TUNABLE, '{"score": "Correct"} {"score": "Incorrect"}', None),
        (TUNABLE, '{"verdict": "Correct"}', None),
        (TUNABLE, '{"score": "Correct answer: Paris"}', None),
        (TUNABLE, '{"score": ["Correct"]}', None),
        (TUNABLE, '{"score": "Correct"', None),
        (YES_NO, "Yes", 0),
        (YES_NO, "no, it is not.", 1),
        (YES_NO, "Nothing supports it", None),
        (YES_NO, "Yes/No", None),
        (YES_NO, "Answer: No", 1),
        (LETTERS, "explanation: it adds a date, answer: (B)", 1),
        (LETTERS, "(A) The submitted response is a subset of the knowledge snippet", 0),
        (LETTERS, "A response like this is hard to judge", None),
        (LETTERS, "D.", 1),
        (LETTERS, "E) differs", 0),
        (LETTERS, "A, B", None),
        (LETTERS, '{"explanation": "\\"choice\\": \\"A\\"", "choice": "D"}', 1),
        (CONTINUOUS, "95", 95),
        (CONTINUOUS, "95 out of 100", 95),
        (CONTINUOUS, "95/100", 95),
        (CONTINUOUS, "95%", 95),
        (CONTINUOUS, "95.", 95),
        (CONTINUOUS, "95.0", 95),
        (CONTINUOUS, "4 (highly certain the proposed answer is incorrect)", 4),
        (CONTINUOUS, "Score: 95\nExplanation: of 100 such answers, 3 are wrong", 95),
        (CONTINUOUS, "9/10", None),  # another scale than was asked for
        (CONTINUOUS, "95100", None),
        (CONTINUOUS, "-5", None),
        (CONTINUOUS, "85.5", None),
        (CONTINUOUS, "1,000", None),
        (CONTINUOUS, "80-90", None),
        (CONTINUOUS, "101", None),
        (CONTINUOUS, "1e2", None),
        (CONTINUOUS, "9 5", None),
        (CONTINUOUS, "٩٥", None),  # digits that int() would read
        (CONTINUOUS, '{"score": 95}', 95),
        (CONTINUOUS, '{"score": "95"}', 95),
        (CONTINUOUS, '{"score": 950}', None),
        (CONTINUOUS, '{"score": true}', None),
        (CONTINUOUS, '{"score": NaN}', None),
        (LIKERT, "3", 3),
        (LIKERT, "4/5", 4),
        (LIKERT, "5 - Completely correct", 5),
        (LIKERT, "3 - 4", None),
        (LIKERT, "0", None),
        (LIKERT, "80%", None),
        (PROBABILITY, "0.85", 0.85),
        (PROBABILITY, "Probability: 0.85", 0.85),
        (PROBABILITY, "85%", 0.85),
        (PROBABILITY, ".9", 0.9),
        (PROBABILITY, "1.0", 1),
        (PROBABILITY, "0,9", None),
        (PROBABILITY, "9", None),
        (PROBABILITY, "<the probability between 0.0 and 1.0>", None),
    ],
)
def test_the_text_is_read_strictly(prompt, text, expected):
    assert value(prompt, text) == expected


@pytest.mark.parametrize(
    ("reply", "trouble"),
    [
        (Reply("Correct. Bec", "length"), "length"),
        (Reply("", "stop"), "empty"),
        (Reply("Correct", "content_filter"), "refused"),
        (Reply("", "stop", refusal="I cannot help with that"), "refused"),
        (Reply("I think so", "stop"), "malformed"),
    ],
)
def test_each_failure_is_its_own_and_keeps_the_text(reply, trouble):
    with pytest.raises(LlmError) as e:
        read_verdict(reply, TUNABLE)
    assert e.value.trouble == trouble
    assert e.value.text == (reply.refusal or reply.text)


@pytest.mark.parametrize("name", JUDGING)
def test_every_template_reads_its_own_answers(name):
    prompt = load_prompt(name)
    scale = prompt.scale
    if isinstance(scale, Choices):
        for choice in scale.choices:
            for word in choice.words:
                for text in (word, f'{{"{prompt.key}": "{word}"}}', f"{prompt.key}: {word}"):
                    assert said(prompt, text).answer == choice.name
            assert said(prompt, choice.name).risk == scale.risk(choice.value)
    else:
        for number, risk in ((scale.best, 0.0), (scale.worst, 1.0)):
            for text in (f"{number:g}", f'{{"{prompt.key}": {number:g}}}'):
                assert said(prompt, text).risk == risk


def test_expected_value_over_the_answers():
    # 0.6 correct, 0.2 incorrect, 0.1 not sure, 0.1 elsewhere:
    # (0.6 * 1 + 0.2 * 0 + 0.1 * 0.5) / 0.9 = 0.7222...
    tokens = (token("Correct", 0.6, Inc=0.2, I=0.1, The=0.05),)
    found = read_verdict(Reply("Correct", "stop", tokens), TUNABLE)
    assert found.how == "probability"
    assert found.value == pytest.approx(0.65 / 0.9)
    assert found.risk == pytest.approx(1 - 0.65 / 0.9)
    assert found.outside == pytest.approx(0.1)
    assert found.probabilities == pytest.approx(
        {"Correct": 6 / 9, "Incorrect": 2 / 9, "I am not sure": 1 / 9}
    )


def test_one_probability_without_alternatives_is_no_spread():
    bare = TokenLogprob(token="Correct", logprob=math.log(0.6))
    for only in (bare, token("Correct", 0.6)):
        found = read_verdict(Reply("Correct", "stop", (only,)), TUNABLE)
        assert (found.how, found.value) == ("text", 1)
        assert found.probabilities is None and found.outside is None


def bare(text: str, p: float) -> TokenLogprob:
    """A written token of which only its own probability is told."""
    return TokenLogprob(token=text, logprob=math.log(p))


@pytest.mark.parametrize(
    ("text", "tokens", "yes"),
    [
        ("Yes", (bare("Yes", 0.9),), 0.9),
        ("No.", (bare("No", 0.7), bare(".", 0.2)), 0.3),  # what follows says nothing of it
        ('"No"', (bare('"', 0.1), bare("No", 0.7), bare('"', 0.5)), 0.3),
        ("Not supported", (bare("Not", 0.8), bare(" supported", 0.5)), 0.2),
        ('{"answer": "No"}', (bare('{"answer": "', 0.01), bare("No", 0.6), bare('"}', 1.0)), 0.4),
    ],
)
def test_of_two_answers_one_probability_tells_the_other(text, tokens, yes):
    found = read_verdict(Reply(text, "stop", tokens), YES_NO)
    assert found.how == "probability" and found.outside == pytest.approx(0)
    assert found.probabilities == pytest.approx({"Yes": yes, "No": 1 - yes})


def test_one_probability_alone_makes_no_verdict_of_what_states_none():
    with pytest.raises(LlmError, match="no clear verdict"):
        read_verdict(Reply("Nothing", "stop", (bare("Nothing", 0.9),)), YES_NO)
    with pytest.raises(LlmError, match="no clear verdict"):
        read_verdict(Reply("Not so", "stop", (bare("Not", 0.9), bare(" so", 0.9))), YES_NO)


def first_token(prompt, text: str, *tokens: TokenLogprob):
    """The verdict of a reply that was cut after the tokens wanted of it."""
    return read_verdict(Reply(text, "length", tokens), prompt, cut=True)


def test_a_first_token_is_a_verdict_by_its_probabilities():
    found = first_token(YES_NO, "No", token("No", 0.6, Yes=0.2, The=0.1))
    assert (found.answer, found.how) == ("No", "probability")
    assert found.value == pytest.approx(0.75) and found.outside == pytest.approx(0.2)
    # of "Inc" it is not known what would have followed, nor is it of "Correct"
    found = first_token(TUNABLE, "In", token("In", 0.5, Correct=0.3, I=0.1, Part=0.05))
    shares = {"Correct": 0.3 / 0.95, "Incorrect": 0.5 / 0.95, "I am not sure": 0.15 / 0.95}
    assert found.probabilities == pytest.approx(shares) and found.answer == "Incorrect"
    found = first_token(LIKERT, "4\n", token("4", 0.8, **{"5": 0.2}), token("\n", 1.0))
    assert found.value == pytest.approx(4.2)
    # digits: of 8x nothing more is known, so what was written counts if it has surely ended
    digits = (token("9", 0.3, **{"8": 0.6}), token("5", 0.9, **{"0": 0.1}), token(" (", 1.0))
    found = first_token(CONTINUOUS, "95 (", *digits)
    assert (found.value, found.how) == (95, "text")


@pytest.mark.parametrize(
    ("prompt", "text", "tokens"),
    [
        (YES_NO, "The", (token("The", 0.6, No=0.3, Yes=0.1),)),  # begins a sentence
        (YES_NO, "No", (bare("No", 0.9),)),  # perhaps of "No doubt"
        (YES_NO, "No", ()),
        (YES_NO, "{", (token("{", 0.6, Yes=0.4),)),
        (TUNABLE, "Not", (token("Not", 0.9, Correct=0.1),)),  # correct? sure?
        (CONTINUOUS, "9", (token("9", 0.3, **{"8": 0.7}),)),  # 9, 90 to 99
    ],
)
def test_a_first_token_that_tells_none_is_no_verdict(prompt, text, tokens):
    with pytest.raises(LlmError) as e:
        first_token(prompt, text, *tokens)
    assert e.value.trouble == "malformed" and e.value.text == text
    with pytest.raises(LlmError) as e:  # nor is it where the whole was wanted
        read_verdict(Reply(text, "length", tokens), prompt)
    assert e.value.trouble == "length"


def test_rounding_lifts_no_value_off_its_scale():
    for p in (i / 600 for i in range(6, 200)):
        tokens = (token("Correct", p, correct=p, CORRECT=p),)
        found = read_verdict(Reply("Correct", "stop", tokens), TUNABLE)
        assert found.how == "probability" and 0 <= found.risk <= 1 and found.value <= 1


def test_an_answer_counts_from_the_token_that_tells_it():
    # "Inc" did become "Incorrect". P(correct) = 0.4 / 0.9.
    tokens = (token("Inc", 0.5, Correct=0.4), token("orrect", 0.7, omplete=0.3), token(".", 1.0))
    found = read_verdict(Reply("Incorrect.", "stop", tokens), TUNABLE)
    assert found.answer == "Incorrect"
    assert found.probabilities == pytest.approx({"Correct": 0.4 / 0.9, "Incorrect": 0.5 / 0.9})
    assert found.outside == pytest.approx(0.1)


def test_written_tokens_are_followed_while_they_can_become_several_answers():
    # "I" began "Incorrect" here, with 0.2 * 0.9; 0.2 * 0.1 was on "I am not sure"
    tokens = (token("I", 0.2, Correct=0.6), token("ncorrect", 0.9, _am=0.1))
    found = read_verdict(Reply("Incorrect", "stop", tokens), TUNABLE)
    assert found.probabilities == pytest.approx(
        {"Correct": 0.6 / 0.8, "Incorrect": 0.18 / 0.8, "I am not sure": 0.02 / 0.8}
    )


def test_letters_that_no_model_would_write_do_not_make_an_answer_unlikely():
    """llama.cpp, held to a schema, spells an answer letter by letter."""
    tokens = (token("C", 0.03, I=0.01), token("or", 0.0005, oral=0.1), token("rect", 1e-9))
    found = read_verdict(Reply("Correct", "stop", tokens), TUNABLE)
    assert found.probabilities == pytest.approx({"Correct": 0.75, "I am not sure": 0.25})
    assert found.outside == pytest.approx(0.96)


def test_an_unwritten_answer_is_followed_to_its_end():
    # "No" went on to "Nothing" and was none: only "Yes" was one, with too little
    tokens = (token("N", 0.7, Yes=0.2), token("othing", 0.9, o=0.1))
    with pytest.raises(LlmError, match="no clear verdict"):
        read_verdict(Reply("Nothing", "stop", tokens), YES_NO)


def test_the_verdict_in_json_is_found_by_its_place():
    text = '{"explanation": "No, yes", "answer": "No"}'
    tokens = (
        token('{"explanation": "', 1.0),
        token("No", 0.5, Yes=0.5),  # the explanation's words are not the verdict
        token(', yes", "answer": "', 1.0),
        token("No", 0.75, Yes=0.2),
        token('"}', 1.0),
    )
    found = read_verdict(Reply(text, "stop", tokens), YES_NO)
    assert found.value == pytest.approx(0.75 / 0.95)  # No is 1
    assert found.explanation == "No, yes"
    assert found.outside == pytest.approx(0.05)


def test_a_quote_in_the_same_token_as_the_verdict():
    tokens = (
        token('{"answer":', 1.0),
        token(' "Yes', 0.6, **{'_"No': 0.3, "_no": 0.1}),
    )
    text = '{"answer": "Yes"}'
    found = read_verdict(Reply(text, "stop", (*tokens, token('"}', 1.0))), YES_NO)
    assert found.probabilities == pytest.approx({"Yes": 0.6, "No": 0.4})


def test_a_five_point_scale():
    # G-Eval's sum of p(s) * s: (0.5 * 4 + 0.3 * 5 + 0.2 * 3) / 1 = 4.1
    tokens = (token("4", 0.5, **{"5": 0.3, "3": 0.2}),)
    found = read_verdict(Reply("4", "stop", tokens), LIKERT)
    assert found.value == pytest.approx(4.1)
    assert found.risk == pytest.approx((5 - 4.1) / 4)
    assert found.outside == pytest.approx(0, abs=1e-12)


def test_whole_numbers_as_single_tokens():
    # (0.5 * 90 + 0.3 * 80 + 0.1 * 5) / 0.9
    tokens = (token("90", 0.5, **{"80": 0.3, "5": 0.1}),)
    found = read_verdict(Reply("90", "stop", tokens), CONTINUOUS)
    assert found.value == pytest.approx((45 + 24 + 0.5) / 0.9)


def test_numbers_of_one_digit_a_token():
    """A first digit says too little of a number: what cannot be told does not count, and where
    that is more than what can, the text decides."""
    told = (token("9", 0.8, **{"8": 0.1}), token("5", 0.9, **{"0": 0.1}))
    found = read_verdict(Reply("95", "stop", told), CONTINUOUS)
    assert found.how == "probability"
    assert found.probabilities == pytest.approx({"90": 0.1, "95": 0.9})
    untold = (token("9", 0.3, **{"8": 0.6}), token("5", 0.9, **{"0": 0.1}))
    found = read_verdict(Reply("95", "stop", untold), CONTINUOUS)
    assert found.how == "text" and found.value == 95


def test_tokens_around_the_text_do_no_harm():
    """llama.cpp held to a schema writes a code fence, which its text then lacks."""
    tokens = (token(" ", 1.0), token(" No", 0.6, _Yes=0.4), token("<|im_end|>", 1.0))
    found = read_verdict(Reply("No", "stop", tokens), YES_NO)
    assert found.value == pytest.approx(0.6)
    pieces = ["```", "json", "\n", "{", "\n", "  ", '"', "answer", '":', ' "']
    tokens = (
        *(token(p, 0.001, The=0.3) for p in pieces),
        token("No", 0.02, Yes=0.06),
        *(token(p, 1.0) for p in ('"', "\n", "}", "\n", "```")),
    )
    found = read_verdict(Reply('{\n  "answer": "No"\n}', "stop", tokens), YES_NO)
    assert found.answer == "No"  # the schema's choice of a token of 2 %
    assert found.value == pytest.approx(0.25)
    assert found.outside == pytest.approx(0.92)


def test_an_unwritten_verdict_needs_most_of_the_probability():
    tokens = (token("The", 0.4, No=0.35, Yes=0.2), token(" sentence", 1.0))
    found = read_verdict(Reply("The sentence", "stop", tokens), YES_NO)
    assert found.answer == "No"
    assert found.value == pytest.approx(0.35 / 0.55)
    unlikely = (token("The", 0.6, No=0.2, Yes=0.1), token(" sentence", 1.0))
    with pytest.raises(LlmError, match=r"probability 0\.3"):
        read_verdict(Reply("The sentence", "stop", unlikely), YES_NO)


@pytest.mark.parametrize(
    "tokens",
    [
        (token("Something", 1.0),),  # they do not spell the text
        (token("No", 0.9, Yes=0.9),),  # more than all
        (),
    ],
)
def test_probabilities_that_cannot_be_are_left_aside(tokens):
    found = read_verdict(Reply("No", "stop", tokens), YES_NO)
    assert found.how == "text" and found.value == 1 and found.probabilities is None


@settings(deadline=None)
@given(st.text(), st.sampled_from(JUDGING))
def test_hostile_text_is_a_verdict_or_a_failure(text, name):
    prompt = load_prompt(name)
    try:
        found = read_verdict(Reply(text, "stop"), prompt)
    except LlmError as e:
        assert e.text == text
    else:
        assert 0 <= found.risk <= 1 and math.isfinite(found.value)


_PIECES = st.sampled_from(
    ["Yes", "No", " ", '"', "{", "}", ":", "answer", "\\", "```", "\n", "5", "100", ".", "/", "I"]
)


@settings(deadline=None)
@given(
    st.lists(st.tuples(_PIECES, st.floats(-20, 0)), min_size=1, max_size=12),
    st.lists(st.tuples(_PIECES, st.floats(-20, 0)), max_size=6),
    st.sampled_from(JUDGING),
)
def test_hostile_probabilities_are_a_verdict_or_a_failure(written, others, name):
    top = [{"token": t, "logprob": lp} for t, lp in others]
    tokens = tuple(
        TokenLogprob.model_validate({"token": t, "logprob": lp, "top": top}) for t, lp in written
    )
    text = "".join(t for t, _ in written)
    try:
        found = read_verdict(Reply(text, "stop", tokens), load_prompt(name))
    except LlmError as e:
        assert e.text == text
    else:
        assert 0 <= found.risk <= 1 and math.isfinite(found.value)
        if found.probabilities is not None:
            assert sum(found.probabilities.values()) == pytest.approx(1)
            assert 0 <= found.outside <= 1


@settings(deadline=None)
@given(st.text(max_size=30), st.text(max_size=30))
def test_a_word_around_an_answer_is_not_the_answer(before, after):
    found = stated(f"{before}xYesx{after}", YES_NO.scale, YES_NO.key).statement
    assert found is None or found.start != len(before) + 1


SCHEMA = {
    "type": "object",
    "properties": {"items": {"type": "array", "items": {"type": "string"}, "maxItems": 2}},
    "required": ["items"],
    "additionalProperties": False,
}


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        '{"items": [1]}',
        '{"items": ["a", "b", "c"]}',
        '{"items": [], "more": 1}',
        '{"items": []} and so on',
        "{'items': []}",
        '{"items": [],}',
        "[" * 100_000,
        '{"items": Infinity}',
        '```json\n{"items": []}\n```\n```json\n{"items": ["x"]}\n```',
    ],
)
def test_json_is_read_strictly(text):
    with pytest.raises(LlmError) as e:
        read_json(text, SCHEMA)
    assert e.value.trouble == "malformed" and e.value.text == text


def test_json_in_a_code_fence():
    assert read_json('```json\n{"items": ["a"]}\n```\n', SCHEMA) == {"items": ["a"]}
    assert read_json(' {"items": []} ', SCHEMA) == {"items": []}


@pytest.mark.parametrize("number", ["1" + "0" * 400, "-1" + "0" * 400, "1e999", "9" * 5000])
@pytest.mark.parametrize("name", ["continuous", "likert", "verbalized"])
def test_numbers_out_of_range_are_no_verdict(number, name):
    prompt = load_prompt(name)
    for text in (f'{{"{prompt.key}": {number}}}', f"{prompt.key}: {number}"):
        with pytest.raises(LlmError) as e:
            read_verdict(Reply(text, "stop"), prompt)
        assert e.value.trouble == "malformed" and e.value.text == text
