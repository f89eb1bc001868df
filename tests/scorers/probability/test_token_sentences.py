"""avg_logprob, max_logprob, avg_entropy and max_entropy: by sentence and by passage."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from llm_evidence import FixedReplies
from meanings import now
from scipy.stats import entropy
from token_records import reading_of, record_of, token

from veridical.core.evidence import guarded, score_locally
from veridical.core.registry import REGISTRY
from veridical.core.tokens import FLOOR
from veridical.errors import NotApplicable
from veridical.scorers.probability.token_alternatives import avg_entropy, max_entropy
from veridical.scorers.probability.token_probabilities import avg_logprob, max_logprob
from veridical.text.token_spans import MisalignedTokens

SCORERS = ("avg_logprob", "max_logprob", "avg_entropy", "max_entropy")
#: Two sentences; the token between them is in neither; the third token is in the first only.
TOKENS = [
    token("Paris", 0.5, 0.25, 0.125),
    token(" is", 0.9, 0.05, 0.01),
    token(" big.", 0.2, 0.2, 0.2),
    token("  ", 0.8, 0.1, 0.05),
    token("Rome", 0.1, 0.6, 0.2),
    token(" too.", 0.7, 0.2, 0.05),
]
FIRST, SECOND = [0.5, 0.9, 0.2], [0.1, 0.7]


async def score(scorer, record, readings=None, **parameters):
    return await scorer(record, FixedReplies(record, readings=readings), **parameters)


async def test_average_by_sentence_and_over_all_tokens():
    found = await score(avg_logprob, record_of(TOKENS))
    assert [u.text for u in found.units] == ["Paris is big.", "Rome too."]
    expected = [-np.log(FIRST).mean(), -np.log(SECOND).mean()]
    assert [u.raw for u in found.units] == pytest.approx(expected)
    # of the passage: every token once, the blanks between the sentences too
    assert found.raw == pytest.approx(-np.log([*FIRST, 0.8, *SECOND]).mean())
    assert found.risk == pytest.approx(found.raw / (found.raw + 1))


async def test_maximum_by_sentence_and_the_mean_of_them():
    found = await score(max_logprob, record_of(TOKENS))
    assert [u.raw for u in found.units] == pytest.approx([-np.log(0.2), -np.log(0.1)])
    assert found.raw == pytest.approx((-np.log(0.2) - np.log(0.1)) / 2)
    assert found.units[1].risk == pytest.approx(np.log(10) / (np.log(10) + 1))


async def test_entropy_of_the_alternatives_made_to_sum_to_one():
    # as SelfCheckGPT's notebook has it: scipy's entropy of the normalised top probabilities
    tops = [[0.5, 0.25, 0.125], [0.9, 0.05, 0.01], [0.2, 0.2, 0.2], [0.8, 0.1, 0.05]]
    tops += [[0.1, 0.6, 0.2], [0.7, 0.2, 0.05]]
    h = [entropy(t) for t in tops]
    perplexity = [2 ** entropy(t, base=2) for t in tops]
    record = record_of(TOKENS)
    found = await score(avg_entropy, record)
    assert [u.raw for u in found.units] == pytest.approx([np.mean(h[:3]), np.mean(h[4:])])
    assert found.raw == pytest.approx(np.mean(h))
    found = await score(avg_entropy, record, form="perplexity")
    assert [u.raw for u in found.units] == pytest.approx(
        [np.mean(perplexity[:3]), np.mean(perplexity[4:])]
    )
    found = await score(max_entropy, record, form="perplexity")
    assert [u.raw for u in found.units] == pytest.approx([3.0, max(perplexity[4:])])
    assert found.raw == pytest.approx((3.0 + max(perplexity[4:])) / 2)
    two = [entropy(sorted(t)[-2:]) for t in tops]
    assert (await score(avg_entropy, record, k=2)).raw == pytest.approx(np.mean(two))


@pytest.mark.parametrize("form", ["entropy", "perplexity"])
async def test_risk_of_equally_likely_tokens_in_either_form(form):
    record = record_of([token("Yes", 0.25, 0.25, 0.25, 0.25)])
    found = await score(max_entropy, record, form=form)
    assert found.risk == pytest.approx(0.75)
    assert found.units[0].risk == pytest.approx(0.75)


async def test_a_proxy_knows_the_whole_vocabulary():
    record = record_of(TOKENS, prompt="Where?")
    pieces = ["Paris is", " big.", "  Rome too."]
    reading = reading_of(
        pieces, [0.5, 0.25, 0.1], top=[[0.5, 0.5], [0.9, 0.1], [0.6, 0.1]], entropy=[1.0, 2.0, 4.0]
    )
    readings = {("Where?", record.response): reading}
    found = await score(avg_entropy, record, readings, proxy="m")
    assert [u.raw for u in found.units] == [1.5, 4.0]  # the last token is in the second sentence
    assert found.raw == pytest.approx(7 / 3)
    found = await score(avg_entropy, record, readings, proxy="m", k=2)
    assert found.units[0].raw == pytest.approx(np.mean([np.log(2), entropy([0.9, 0.1])]))
    found = await score(avg_logprob, record, readings, proxy="m")
    assert found.raw == pytest.approx(-np.log([0.5, 0.25, 0.1]).mean())


async def test_a_token_across_two_sentences_is_in_both():
    record = record_of(
        [token("A b", 0.5), token(". C", 0.1), token(" d.", 0.9)], sentences=[(0, 4), (5, 9)]
    )
    found = await score(max_logprob, record)
    assert [u.raw for u in found.units] == pytest.approx([np.log(10)] * 2)
    found = await score(avg_logprob, record)
    assert found.raw == pytest.approx(-np.log([0.5, 0.1, 0.9]).mean())


async def test_given_sentences_are_found_by_their_offsets():
    # the same words twice: only offsets tell the two apart
    tokens = [token("Yes.", 0.5), token(" Yes.", 0.1), token(" Yes.", 0.9)]
    record = record_of(tokens, sentences=[(0, 4), (4, 9), (9, 14)])
    found = await score(avg_logprob, record)
    assert [u.raw for u in found.units] == pytest.approx([-np.log(p) for p in (0.5, 0.1, 0.9)])
    assert [(u.start, u.end) for u in found.units] == [(0, 4), (4, 9), (9, 14)]


async def test_evidence_is_the_least_likely_tokens_with_their_places():
    extra = [token("\n\n", 0.5), *TOKENS, token("<|im_end|>", 0.9)]
    record = record_of(extra, response="Paris is big.  Rome too.")
    found = await score(max_logprob, record)
    items = found.units[0].evidence
    assert [(e.kind, e.index, e.text) for e in items] == [
        ("token", 3, " big."),
        ("token", 1, "Paris"),
        ("token", 2, " is"),
    ]
    assert [e.probability for e in items] == pytest.approx([0.2, 0.5, 0.9])
    for unit in found.units:
        for e in unit.evidence:
            assert record.response[e.start : e.end] == e.text
            assert record.logprobs[e.index].token == e.text


async def test_split_characters_count_in_the_sentence_they_belong_to():
    tokens = [
        {"token": "\\xe2\\x82", "logprob": -1.0},
        {"token": "\\xac", "logprob": -3.0},
        {"token": " up.", "logprob": -0.5},
        {"token": " No.", "logprob": -7.0},
    ]
    record = record_of(tokens, response="€ up. No.")
    found = await score(max_logprob, record)
    assert [u.raw for u in found.units] == [3.0, 7.0]


@pytest.mark.parametrize("value", [-9999.0, -1e308, -3.4028235e38])
async def test_stand_ins_for_minus_infinity_count_as_the_least_a_float_holds(value):
    tokens = [token("Yes", 0.5), {"token": " no.", "logprob": value}]
    found = await score(avg_logprob, record_of(tokens))
    assert found.raw == pytest.approx((np.log(2) - FLOOR) / 2)
    assert pytest.approx(np.log(np.nextafter(np.float32(0), np.float32(1)).astype(float))) == FLOOR
    assert 0 < found.risk < 1
    tokens[1]["top"] = [{"token": "a", "logprob": -0.1}, {"token": "b", "logprob": value}]
    found = await score(avg_entropy, record_of(tokens))
    assert found.raw == pytest.approx(0, abs=1e-12) and found.risk >= 0


async def test_tokens_without_alternatives_are_passed_over():
    tokens = [token("Paris", 0.5, 0.5), token(" is.", 0.9), token(" No.", 0.4)]
    found = await score(avg_entropy, record_of(tokens))
    assert found.raw == pytest.approx(np.log(2))
    assert [(u.raw is None, u.risk is None) for u in found.units] == [(False, False), (True, True)]
    one = [{"token": "Yes", "logprob": -1, "top": [{"token": "Yes", "logprob": -1}]}]
    for tokens in (one, [token("Yes", 0.5)]):
        with pytest.raises(NotApplicable, match="alternatives"):
            await score(avg_entropy, record_of(tokens))


@pytest.mark.parametrize("name", SCORERS)
async def test_records_without_probabilities_are_not_applicable(name):
    (bound,) = REGISTRY.parse(name)
    for fields in ({}, {"logprobs": []}):
        record = record_of([], response="Yes.").model_copy(update=fields)
        (found,) = score_locally(record, [bound])
        assert (found.status, found.reason) == ("not_applicable", "the record has no logprobs")
    for response in ("", " \n"):
        (found,) = score_locally(record_of([token("x", 0.5)], response=response), [bound])
        assert (found.status, found.reason) == ("not_applicable", "the response is empty")


@pytest.mark.parametrize("name", SCORERS)
async def test_tokens_of_another_text_are_a_failure_that_names_the_difference(name):
    record = record_of([token("Paris", 0.5, 0.5), token(" was", 0.5, 0.5)], response="Paris is")
    (found,) = score_locally(record, REGISTRY.parse(name))
    assert found.status == "failed"
    assert "at character 6 the text has 'is', token 1 is ' was'" in found.reason


@pytest.mark.parametrize("name", SCORERS)
async def test_a_proxy_needs_no_log_probabilities_on_record(name):
    (bound,) = REGISTRY.parse(f"{name}(proxy=m)")
    assert bound.needs == set()
    record = record_of([], response="Yes.")
    reading = reading_of(["Yes."], [0.5], top=[[0.5, 0.5]])
    evidence = FixedReplies(record, readings={("", "Yes."): reading})
    assert (await guarded(bound, record, evidence)).status == "scored"


async def test_misaligned_is_an_error_of_its_own():
    with pytest.raises(MisalignedTokens):
        await score(avg_logprob, record_of([token("a", 0.5)], response="b"))


@given(st.lists(st.floats(-200, 0), min_size=1, max_size=12), st.integers(0, 11))
@settings(deadline=None, max_examples=60)
def test_less_likely_is_riskier(logs, place):
    place %= len(logs)

    def risks(values):
        tokens = [{"token": f" w{i}", "logprob": v} for i, v in enumerate(values)]
        record = record_of(tokens)
        both = [now(s(record, FixedReplies(record))) for s in (avg_logprob, max_logprob)]
        assert all(0 <= f.risk <= 1 and np.isfinite(f.raw) for f in both)
        return [f.risk for f in both]

    before = risks(logs)
    lower = risks([v - 1 if i == place else v for i, v in enumerate(logs)])
    assert all(b <= a for b, a in zip(before, lower, strict=True))
    if logs[place] - 1 > FLOOR:
        assert lower[0] > before[0]


@pytest.mark.parametrize("name", SCORERS)
def test_registered_as_risks_by_token_probabilities(name):
    scorer = REGISTRY.get(name)
    assert (scorer.raw_is, scorer.cost) == ("risk", "probabilities")
    assert scorer.presets == ({"all", "auto"} if name == "avg_logprob" else {"all"})
    assert (scorer.needs, scorer.level) == ({"logprobs"}, "sentence")
