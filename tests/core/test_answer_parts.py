"""The parameter ``answer`` of every scorer that has it."""

from __future__ import annotations

import math

import numpy as np
import pytest
from embedding_evidence import FixedEvidence
from nli_evidence import FixedVerdicts

import veridical
from veridical.core.answer_parts import NoAnswerPart, answer_parts
from veridical.core.evidence import score_locally
from veridical.core.records import Record
from veridical.core.registry import REGISTRY
from veridical.core.resolving import resolve
from veridical.errors import UsageError
from veridical.serve.request_options import Offers

TAKING = {
    "bert_score", "cluster_probability", "cosine", "degree", "eccentricity", "eigv", "entailment",
    "exact_match", "kle", "noncontradiction", "semantic_density", "semantic_entropy",
    "semantic_negentropy", "semantic_sets", "snne",
}  # fmt: skip
RECORD = Record(
    response="I say 42 in all",
    samples=["the answer is 42.0", "so 41", "nobody knows", "forty and two: no idea, 42"],
)
#: What the parts entail: numbers that are not equal contradict each other.
TABLE = {("42", "41"): (0.0, 0.0, 1.0), ("41", "42"): (0.0, 0.0, 1.0)}


def test_the_scorers_that_take_it() -> None:
    assert {s.name for s in REGISTRY.all() if "answer" in s.parameters} == TAKING
    for name in TAKING - {"cluster_probability"}:
        (bound,) = REGISTRY.parse(name)
        assert "answer" not in bound.signature()  # stored scores stay valid
        (bound,) = REGISTRY.parse(f"{name}(answer=number)")
        assert bound.key == f"{name}(answer=number)" and "answer:number" in bound.signature()


def test_what_is_found_is_compared() -> None:
    parts = answer_parts(RECORD, "samples", "number")
    assert parts.response == "42" and parts.others == ["42", "41", None, "42"]
    assert parts.found == [0, 1, 3]
    (score,) = score_locally(RECORD, REGISTRY.parse("exact_match(answer=number)"))
    assert score.raw == 0.5  # the sample without a number does not equal


@pytest.mark.parametrize(
    ("spec", "response", "samples", "raw"),
    [
        ("regex:[A-D]", "It is B.", ["(B)", "C", "none"], 1 / 3),
        ("json:city", '{"city": "Paris"}', ['so {"city": "Paris", "x": 1}', '{"city": 3}'], 0.5),
    ],
)
def test_patterns_and_fields(spec: str, response: str, samples: list[str], raw: float) -> None:
    record = Record(response=response, samples=samples)
    (score,) = score_locally(record, [REGISTRY.bind("exact_match", {"answer": spec})])
    assert score.raw == pytest.approx(raw)


def test_two_answers_without_the_part_never_match() -> None:
    for response, samples, where in (
        ("no idea", ["no idea", "42"], "response"),
        ("42", ["no idea", "none"], "samples"),
    ):
        record = Record(response=response, samples=samples)
        (score,) = score_locally(record, REGISTRY.parse("exact_match(answer=number)"))
        assert score.status == "failed" and score.risk is None
        assert score.reason == f"NoAnswerPart: answer=number is not found in the {where}"
    twice = Record(response="42", samples=["no idea", "no idea", "42"])
    (score,) = score_locally(twice, REGISTRY.parse("exact_match(answer=number)"))
    assert score.raw == pytest.approx(1 / 3)


@pytest.mark.parametrize("name", sorted(TAKING - {"bert_score", "cosine", "exact_match"}))
async def test_nli_scorers_judge_the_parts(name: str) -> None:
    evidence = FixedVerdicts(RECORD, TABLE)
    (bound,) = REGISTRY.parse(f"{name}(answer=number)")
    found = await bound(RECORD, evidence)
    asked = {text for pairs in evidence.asked for pair in pairs for text in pair}
    assert asked == {"42", "41"}
    # as by a record of the parts, of which the missing one contradicts all
    plain = Record(response="42", samples=["42", "41", "?", "42"])
    odd = {pair: (0.0, 0.0, 1.0) for a in ("42", "41") for pair in ((a, "?"), ("?", a))}
    expected = await REGISTRY.parse(name)[0](plain, FixedVerdicts(plain, TABLE | odd))
    assert found.risk == pytest.approx(expected.risk)
    blank = Record(response="none", samples=["42"])
    with pytest.raises(NoAnswerPart, match="response"):
        await bound(blank, FixedVerdicts(blank))


async def test_two_samples_without_it_are_two_meanings() -> None:
    record = Record(response="42", samples=["none", "none", "42"])
    (bound,) = REGISTRY.parse("semantic_entropy(answer=number)")
    found = await bound(record, FixedVerdicts(record))
    assert found.raw == pytest.approx(math.log(4) - 0.5 * math.log(2))  # shares 1/2, 1/4, 1/4


async def test_a_model_without_contradiction() -> None:
    (bound,) = REGISTRY.parse("semantic_sets(answer=number)")
    found = await bound(RECORD, FixedVerdicts(RECORD, contradicts=False))
    assert found.raw == pytest.approx((5 - 3) / 4)  # 42 three times, 41, nothing


async def test_embeddings() -> None:
    vectors = {"42": (1, 0), "41": (0.6, 0.8)}
    (bound,) = REGISTRY.parse("cosine(answer=number)")
    found = await bound(RECORD, FixedEvidence(RECORD, vectors))
    assert found.raw == pytest.approx(np.mean([1, 0.6, -1, 1]))
    (bound,) = REGISTRY.parse("snne(answer=number,similarity=cosine)")
    found = await bound(RECORD, FixedEvidence(RECORD, vectors))
    s = np.eye(5)
    at = [0, 1, 2, 4]
    v = np.array([vectors[x] for x in ("42", "42", "41", "42")])
    s[np.ix_(at, at)] = 0.5 + v @ v.T / 2
    assert found.raw == pytest.approx(-np.log(np.exp(s).sum(axis=1)).mean(), abs=1e-6)


def test_bert_score_with_a_real_encoder() -> None:
    rows = [RECORD.model_dump(include={"response", "samples"}) | {"samples": RECORD.sample_texts}]
    (whole,) = veridical.check(
        [{"response": "42", "samples": ["42", "41", "42"]}], "bert_score", store=None
    )
    (part,) = veridical.check(rows, "bert_score", answer="number", store=None)
    raw, expected = (next(iter(r.scores.values())).raw["f1"] for r in (part, whole))
    assert raw == pytest.approx(expected * 3 / 4, abs=1e-5)  # the sample without one is 0


def test_the_option_sets_it_where_it_can_be() -> None:
    bound = resolve("exact_match, ngram, cosine(answer='json:a')", answer="number")
    assert [b.key for b in bound] == [
        "exact_match(answer=number)", "ngram", "cosine(answer=json:a)",
    ]  # fmt: skip
    with pytest.raises(UsageError, match=r"requires a scorer that compares parts"):
        resolve("ngram", answer="number")
    with pytest.raises(UsageError, match=r"answer must be regex:PATTERN, number or json:FIELD"):
        resolve("exact_match", answer="nummer")
    with pytest.raises(UsageError, match=r"exact_match\(answer='regex:\('\): is no valid pattern"):
        REGISTRY.bind("exact_match", {"answer": "regex:("})
    with pytest.raises(UsageError, match="compares whole answers; remove answer"):
        resolve("bert_score(form=matrix)", answer="number")


def test_a_request_to_a_server_may_not_bring_a_pattern() -> None:
    offers = Offers()
    offers.check_text("exact_match(answer=number), cosine(answer='json:a.b')")
    with pytest.raises(UsageError, match="which this server does not offer"):
        offers.check_text("exact_match(answer='regex:(a+)+b')")
