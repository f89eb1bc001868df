from __future__ import annotations

import math

import pytest
from llm_evidence import FixedReplies
from scipy.stats import entropy
from token_records import reading_of, record_of, token

from veridical.errors import NotApplicable
from veridical.scorers.probability.first_token_entropy import first_token_entropy, first_word

SURE = (0.97, 0.02, 0.01)
TORN = (0.5, 0.3, 0.2)


async def score(tokens, prompt=None, **parameters):
    record = record_of(tokens, prompt=prompt)
    return await first_token_entropy(record, FixedReplies(record), **parameters)


def share(p) -> float:
    """Entropy by scipy over the logarithm of the number of alternatives."""
    return float(entropy(p) / math.log(len(p)))


async def test_entropy_of_the_first_token_of_content():
    tokens = [token('"', *SURE), token("It", *SURE), token(" is", *SURE), token(" Par", *TORN)]
    found = await score([*tokens, token("is", *SURE), token(".", *SURE)])
    assert (found.raw, found.risk) == pytest.approx((share(TORN), share(TORN)))
    assert [(u.level, u.text) for u in found.units] == [("token", " Par")]


async def test_words_of_the_question_are_skipped():
    tokens = [token("The", *SURE), token(" capital", *SURE), token(" is", *SURE)]
    tokens += [token(" Lyon", *TORN), token(".", *SURE)]
    assert (await score(tokens)).raw == pytest.approx(share(SURE))
    asked = await score(tokens, prompt="What is the capital of France?")
    assert asked.raw == pytest.approx(share(TORN))


async def test_only_the_k_likeliest_count():
    found = await score([token("Lyon", *TORN)], k=2)
    assert found.raw == pytest.approx(share([0.5 / 0.8, 0.3 / 0.8]))


async def test_reasoning_is_no_answer():
    tokens = [token("<think>", *SURE), token("Lyon", *SURE), token("</think>", *SURE)]
    found = await score([*tokens, token("Paris", *TORN)])
    assert found.raw == pytest.approx(share(TORN))


@pytest.mark.parametrize(
    ("answer", "question", "word"),
    [
        ("The answer is Paris.", "Capital?", "answer"),
        ("Larger is B", "Which is larger, B or C?", "Larger"),  # all words are the question's
        ("It is.", "", "It"),
        ("«42»", "How many?", "42"),
    ],
)
def test_first_word(answer, question, word):
    assert first_word(answer, question).text == word


async def test_a_proxy_reads_what_is_not_on_record():
    record = record_of([], response="Lyon")
    readings = {("", "Lyon"): reading_of(["Lyon"], [0.5], top=[TORN])}
    found = await first_token_entropy(record, FixedReplies(record, readings=readings), proxy="m")
    assert found.raw == pytest.approx(share(TORN))


async def test_not_applicable_without_a_word_or_alternatives():
    with pytest.raises(NotApplicable, match="no word"):
        await score([token("...", *SURE)])
    with pytest.raises(NotApplicable, match="'Lyon' has no alternatives"):
        await score([token("Lyon", 0.5), token(" it", *SURE)])
    with pytest.raises(NotApplicable, match="alternatives"):
        await score([token("Lyon", 0.5)])
