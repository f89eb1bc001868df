"""Scores of a whole response from its tokens' probabilities, against UQLM's formulas by hand."""

from __future__ import annotations

import numpy as np
import pytest
from llm_evidence import FixedReplies
from scipy.stats import entropy, gmean
from token_records import reading_of, record_of, sample_of, token

from veridical.core.evidence import guarded, score_locally
from veridical.core.registry import REGISTRY
from veridical.core.scores import Score
from veridical.errors import ModelError, NotApplicable
from veridical.scorers.probability._units import TOKENS_SHOWN
from veridical.scorers.probability.cocoa import cocoa
from veridical.scorers.probability.token_alternatives import probability_margin, token_negentropy
from veridical.scorers.probability.token_probabilities import (
    min_probability,
    monte_carlo_probability,
    perplexity,
    sequence_probability,
)

TOKENS = [
    token("Paris", 0.5, 0.25, 0.25),
    token(" is", 0.9, 0.06, 0.04),
    token(" big.", 0.2, 0.7, 0.1),
]
P = [0.5, 0.9, 0.2]
CONFIDENCES = (
    "min_probability",
    "sequence_probability",
    "token_negentropy",
    "probability_margin",
    "monte_carlo_probability",
    "cocoa",
)


async def score(scorer, record, **parameters):
    readings = parameters.pop("readings", None)
    scores = parameters.pop("scores", None)
    evidence = FixedReplies(record, readings=readings, scores=scores)
    return await scorer(record, evidence, **parameters)


async def test_min_probability():
    found = await score(min_probability, record_of(TOKENS))
    assert (found.raw, found.risk) == pytest.approx((0.2, 0.8))
    assert [(u.level, u.text) for u in found.units] == [
        ("token", "Paris"),
        ("token", " is"),
        ("token", " big."),
    ]
    assert [u.risk for u in found.units] == pytest.approx([0.5, 0.1, 0.8])
    assert [u.raw for u in found.units] == pytest.approx(P)


async def test_sequence_probability_and_its_logarithm():
    record = record_of(TOKENS)
    found = await score(sequence_probability, record)
    assert (found.raw, found.risk) == pytest.approx((gmean(P), 1 - gmean(P)))
    found = await score(sequence_probability, record, length_normalize=False)
    assert (found.raw, found.risk) == pytest.approx((0.09, 0.91))
    found = await score(sequence_probability, record, length_normalize=False, log=True)
    surprise = -np.log(0.09)  # lm-polygraph's maximum sequence probability
    assert (found.raw, found.risk) == pytest.approx((-surprise, surprise / (surprise + 1)))


async def test_logarithms_tell_long_texts_apart_whose_products_are_zero():
    texts = [[{"token": f" w{i}", "logprob": -4.0} for i in range(n)] for n in (1000, 1001)]
    records = [record_of(tokens) for tokens in texts]
    products = [await score(sequence_probability, r, length_normalize=False) for r in records]
    assert [f.raw for f in products] == [0.0, 0.0]
    logs = [await score(sequence_probability, r, length_normalize=False, log=True) for r in records]
    assert [f.raw for f in logs] == [-4000.0, -4004.0]
    assert logs[0].risk < logs[1].risk < 1


async def test_perplexity():
    found = await score(perplexity, record_of(TOKENS))
    assert (found.raw, found.risk) == pytest.approx((1 / gmean(P), 1 - gmean(P)))


async def test_token_negentropy():
    shares = [1 - entropy(t) / np.log(3) for t in ([0.5, 0.25, 0.25], [0.9, 0.06, 0.04])]
    shares.append(1 - entropy([0.2, 0.7, 0.1]) / np.log(3))
    found = await score(token_negentropy, record_of(TOKENS))
    assert (found.raw, found.risk) == pytest.approx((np.mean(shares), 1 - np.mean(shares)))
    found = await score(token_negentropy, record_of(TOKENS), stat="min")
    assert found.raw == pytest.approx(min(shares))
    found = await score(token_negentropy, record_of(TOKENS), stat="min", k=2)
    assert found.raw == pytest.approx(1 - entropy([0.5, 0.25]) / np.log(2))


async def test_negentropy_of_fewer_alternatives_is_relative_to_their_number():
    tokens = [token("a", 0.5, 0.5), token(" b", 0.25, 0.25, 0.25, 0.25), token(" c", 0.3)]
    found = await score(token_negentropy, record_of(tokens))
    assert (found.raw, found.risk) == pytest.approx((0, 1))
    assert [u.text for u in found.units] == ["a", " b"]


async def test_probability_margin():
    found = await score(probability_margin, record_of(TOKENS))
    expected = np.mean(
        [0.5 - 0.25, 0.9 - 0.06, 0.7 - 0.2]
    )  # of the two likeliest, not of the token
    assert (found.raw, found.risk) == pytest.approx((expected, 1 - expected))
    partly = [*TOKENS, token(" Yes.", 0.3)]
    assert (await score(probability_margin, record_of(partly))).raw == pytest.approx(expected)


@pytest.mark.parametrize("scorer", [token_negentropy, probability_margin])
async def test_alternatives_are_needed(scorer):
    with pytest.raises(NotApplicable, match="alternatives"):
        await score(scorer, record_of([token("a", 0.5), token(" b", 0.5)]))


async def test_monte_carlo_probability():
    samples = [sample_of([token("No", 0.4)]), sample_of([token("A", 0.9), token(" b", 0.1)])]
    record = record_of(TOKENS, samples=samples)
    found = await score(monte_carlo_probability, record)
    expected = np.mean([gmean(P), 0.4, gmean([0.9, 0.1])])
    assert (found.raw, found.risk) == pytest.approx((expected, 1 - expected))
    found = await score(monte_carlo_probability, record, length_normalize=False)
    assert found.raw == pytest.approx(np.mean([0.09, 0.4, 0.09]))


async def test_monte_carlo_probability_by_a_proxy_needs_none_on_record():
    record = record_of([], response="a", samples=["b"])
    readings = {("", "a"): reading_of(["a"], [0.5]), ("", "b"): reading_of(["b"], [0.1])}
    (bound,) = REGISTRY.parse("monte_carlo_probability(proxy=m)")
    assert bound.needs == {"samples"}
    found = await guarded(bound, record, FixedReplies(record, readings=readings))
    assert found.raw == pytest.approx(0.3)


async def test_cocoa_is_consistency_times_confidence():
    record = record_of(TOKENS, samples=["Paris is large."])
    scores = {"cosine(rescale=true)": Score.of(0.2, raw=0.8)}
    found = await score(cocoa, record, scores=scores)
    assert (found.raw, found.risk) == pytest.approx((0.8 * gmean(P), 1 - 0.8 * gmean(P)))
    found = await score(cocoa, record, scores=scores, length_normalize=False)
    assert found.raw == pytest.approx(0.8 * 0.09)


async def test_cocoa_without_a_cosine():
    record = record_of(TOKENS, samples=["Paris is large."])
    missing = {"cosine(rescale=true)": Score.not_applicable("it reads Latin script")}
    with pytest.raises(NotApplicable, match="it reads Latin script"):
        await score(cocoa, record, scores=missing)
    broken = {"cosine(rescale=true)": Score.failed("ModelError: no memory")}
    with pytest.raises(ModelError, match="cosine: ModelError: no memory"):
        await score(cocoa, record, scores=broken)


def test_cocoa_with_the_embedded_encoder():
    from veridical import check

    same = record_of(TOKENS, samples=["Paris is big."])
    other = record_of(TOKENS, samples=["Fish swim in the deep sea."])
    found = [r.scores["cocoa"] for r in check([same, other], "cocoa", processes=0)]
    assert found[0].raw == pytest.approx(gmean(P), abs=1e-4)
    assert found[1].raw < 0.75 * found[0].raw
    assert "embedder:" in found[0].signature


async def test_units_are_the_riskiest_tokens_and_no_blanks():
    tokens = [token(f" w{i}", 0.9 - i / 100) for i in range(40)]
    tokens.insert(20, token("\n\n", 0.001))
    found = await score(min_probability, record_of(tokens))
    assert found.raw == pytest.approx(0.001)
    texts = [u.text for u in found.units]
    assert texts == [f" w{i}" for i in range(40 - TOKENS_SHOWN, 40)]
    assert all(u.level == "token" for u in found.units)


@pytest.mark.parametrize("name", [*CONFIDENCES, "perplexity"])
def test_failures_have_their_reason(name):
    (bound,) = REGISTRY.parse(name)
    wrong = record_of(TOKENS, response="Paris was big.", samples=[sample_of(TOKENS)])
    (found,) = score_locally(wrong, [bound])
    assert found.status == "failed" and "token 1 is ' is'" in found.reason
    bare = record_of([], response="Paris", samples=["b"])
    (found,) = score_locally(bare, [bound])
    assert (found.status, found.reason) == ("not_applicable", "the record has no logprobs")


@pytest.mark.parametrize("name", CONFIDENCES)
def test_registered_as_confidences(name):
    scorer = REGISTRY.get(name)
    assert (scorer.raw_is, scorer.cost, scorer.presets) == (
        "confidence",
        "probabilities",
        {"all", "auto"} if name == "min_probability" else {"all"},
    )
    assert scorer.costs == {"probabilities", *(["embed"] if name == "cocoa" else [])}


@pytest.mark.parametrize(
    "name",
    [
        "avg_logprob",
        "max_logprob",
        "sequence_probability",
        "sequence_probability(log=true)",
        "min_probability",
        "perplexity",
    ],
)
def test_one_certain_token_has_no_risk_and_no_minus_sign(name):
    (found,) = score_locally(record_of([token("Yes", 1.0)]), REGISTRY.parse(name))
    assert (found.status, found.risk) == ("scored", 0)
    assert "-0.0" not in found.model_dump_json()


@pytest.mark.parametrize("more", [{}, {"top": [{"token": "Yes", "logprob": 0}]}])
@pytest.mark.parametrize(
    "name", ["avg_entropy", "max_entropy", "token_negentropy", "probability_margin"]
)
def test_one_alternative_is_no_choice(name, more):
    record = record_of([token("Yes", 1.0) | more])
    (found,) = score_locally(record, REGISTRY.parse(name))
    assert found.status == "not_applicable" and "alternatives" in found.reason
