from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from embedding_evidence import FixedEvidence, ModelEvidence
from hypothesis import given, settings
from hypothesis import strategies as st

from veridical.core.records import Record
from veridical.core.registry import REGISTRY
from veridical.errors import NotApplicable, UsageError
from veridical.scorers.consistency.checkembed import (
    LOWEST_COSINE,
    checkembed,
    frobenius,
    off_diagonal,
    outliers,
    rebased,
    similarity_matrices,
    spearman_matrix,
)

RNG = np.random.default_rng(11)
RANDOM = RNG.standard_normal((7, 40)) + 0.4


# ---- the kernels against independent implementations ------------------------------------------


def test_matrices_agree_with_numpy_and_pandas():
    cosine, pearson = similarity_matrices(RANDOM)
    for i, a in enumerate(RANDOM):
        for j, b in enumerate(RANDOM):
            by_hand = a @ b / (np.linalg.norm(a) * np.linalg.norm(b))
            assert cosine[i, j] == pytest.approx(by_hand, abs=1e-12)
            assert pearson[i, j] == pytest.approx(np.corrcoef(a, b)[0, 1], abs=1e-12)
    frame = pd.DataFrame(RANDOM.T)
    np.testing.assert_allclose(pearson, frame.corr(), atol=1e-12)
    np.testing.assert_allclose(spearman_matrix(RANDOM), frame.corr("spearman"), atol=1e-12)


def test_spearman_shares_ranks_among_equal_values():
    tied = RNG.integers(0, 4, (4, 30)).astype(float)
    expected = pd.DataFrame(tied.T).corr("spearman")
    np.testing.assert_allclose(spearman_matrix(tied), expected, atol=1e-12)


def test_empty_texts_follow_the_published_convention():
    vectors = np.vstack([RANDOM[0], np.zeros(40), np.zeros(40)])
    for matrix in (*similarity_matrices(vectors), spearman_matrix(vectors)):
        np.testing.assert_array_equal(matrix, [[1, -1, -1], [-1, 1, 1], [-1, 1, 1]])


def test_a_constant_vector_has_no_pearson_correlation_but_has_a_cosine():
    vectors = np.vstack([np.full(40, 0.158), RANDOM[0]])
    cosine, pearson = similarity_matrices(vectors)
    assert -1 < cosine[0, 1] < 1
    np.testing.assert_array_equal(pearson, [[1, -1], [-1, 1]])


def test_off_diagonal_takes_every_entry_but_the_diagonal():
    matrix = np.arange(16.0).reshape(4, 4)
    assert off_diagonal(matrix).tolist() == [1, 2, 3, 4, 6, 7, 8, 9, 11, 12, 13, 14]


def test_frobenius_with_the_published_mapping():
    cosine, _ = similarity_matrices(RANDOM)
    k, total = len(cosine), 0.0
    for i in range(k):
        for j in range(k):
            if i != j:
                total += (cosine[i, j] + 1) ** 2
    assert frobenius(off_diagonal(cosine)) == pytest.approx(np.sqrt(total / (4 * k * (k - 1))))
    assert frobenius(np.ones(6)) == 1
    assert frobenius(-np.ones(6)) == 0


def test_rebasing_spreads_the_range_and_clips():
    lowest = LOWEST_COSINE["stella_400m"]
    values = np.array([1.0, lowest, 0.0, (1 + lowest) / 2])
    np.testing.assert_allclose(rebased(values, lowest), [1, -1, -1, 0], atol=1e-12)
    for wrong in (1.0, -1.5, float("nan")):
        with pytest.raises(ValueError, match="rebase"):
            rebased(values, wrong)


def test_outliers_against_the_definition():
    matrix, _ = similarity_matrices(RANDOM)
    for i in range(len(matrix)):
        rest = [j for j in range(len(matrix)) if j != i]
        among = np.mean([matrix[a, b] for a in rest for b in rest if a != b])
        assert outliers(matrix)[i] == pytest.approx(among - matrix[i, rest].mean())
    assert outliers(np.ones((2, 2))).tolist() == [0, 0]


@settings(max_examples=50, deadline=None)
@given(st.integers(1, 6), st.integers(1, 9), st.integers(0, 10**6))
def test_matrices_are_symmetric_bounded_and_free_of_nan(n, d, seed):
    vectors = np.random.default_rng(seed).integers(-2, 3, (n, d)).astype(np.float32)
    for matrix in (*similarity_matrices(vectors), spearman_matrix(vectors)):
        assert np.array_equal(matrix, matrix.T)
        assert np.abs(matrix).max() <= 1
        assert np.array_equal(np.diag(matrix), np.ones(n))


# ---- the scorer -------------------------------------------------------------------------------

VECTORS = {"a": [1, 0, 0.0], "b": [1, 1, 0.0], "c": [0, 1, 0.0], "far": [0, 0, 1.0]}
HALF = np.sqrt(0.5)


async def score(response, samples, reference=(), **parameters):
    record = Record(response=response, samples=samples, reference=reference)
    return await checkembed(record, FixedEvidence(record, VECTORS), **parameters)


async def test_published_form_summarises_the_samples_only():
    found = await score("far", ["a", "b", "c"], judged="samples")
    entries = np.array([HALF, 0, HALF, HALF, 0, HALF])
    assert found.raw["value"] == found.raw["cosine"]["mean"] == pytest.approx(entries.mean())
    assert found.raw["cosine"]["std"] == pytest.approx(entries.std())
    norm = np.sqrt(((entries + 1) ** 2).sum() / (4 * 3 * 2))
    assert found.raw["cosine"]["frobenius"] == pytest.approx(norm)
    assert found.risk == pytest.approx((1 - entries.mean()) / 2)
    assert (await score("a", ["a", "b", "c"], judged="samples")).risk == found.risk
    by_norm = await score("far", ["a", "b", "c"], judged="samples", stat="frobenius")
    assert by_norm.raw["value"] == pytest.approx(norm)
    assert by_norm.risk == pytest.approx(1 - norm)


async def test_default_form_averages_the_samples_and_the_response_row():
    found = await score("a", ["b", "c"])
    assert found.raw["response"] == pytest.approx(HALF / 2)
    assert found.raw["value"] == pytest.approx((HALF + HALF / 2) / 2)


async def test_the_odd_one_out_is_riskier_than_its_samples():
    agreeing = await score("a", ["a"] * 5)
    odd = await score("far", ["a"] * 5)
    assert agreeing.risk == pytest.approx(0)
    assert odd.risk == pytest.approx(0.25)  # samples agree (1), the response's row is 0
    assert odd.raw["outlier"][0] == pytest.approx(1)
    assert odd.raw["outlier"][1:] == pytest.approx([6 / 10 - 4 / 5] * 5)
    one_bad_sample = await score("a", ["a", "a", "far"])
    assert int(np.argmax(one_bad_sample.raw["outlier"])) == 3


async def test_matrix_with_response_samples_and_references_is_kept():
    found = await score("a", ["b", "c"], reference=["far", "a"])
    assert found.raw["order"] == ["response", "sample 0", "sample 1", "reference 0", "reference 1"]
    matrix = np.array(found.raw["matrix"])
    assert matrix.shape == (5, 5)
    assert matrix[0].tolist() == [1, 0.7071, 0, 0, 1]
    without = await score("a", ["b", "c"])
    assert without.raw["value"] == found.raw["value"]  # references are shown, never summarised
    json.dumps(found.model_dump(mode="json"), allow_nan=False)


async def test_rule_of_thumb_needs_a_high_mean_and_a_low_deviation():
    assert (await score("a", ["a", "a", "a"])).raw["rule"] is True
    assert (await score("a", ["a", "a", "b"])).raw["rule"] is False
    assert (await score("a", ["a"])).raw["rule"] is False  # one sample: nothing to agree


@pytest.mark.parametrize("measure", ["cosine", "pearson", "spearman"])
async def test_measures_give_their_own_matrix(measure):
    vectors = {f"t{i}": v for i, v in enumerate(RANDOM)}
    record = Record(response="t0", samples=["t1", "t2", "t3"])
    found = await checkembed(record, FixedEvidence(record, vectors), measure=measure)
    cosine, pearson = similarity_matrices(RANDOM[:4])
    expected = {"cosine": cosine, "pearson": pearson, "spearman": spearman_matrix(RANDOM[:4])}
    np.testing.assert_allclose(found.raw["matrix"], expected[measure], atol=1e-4)
    for name, matrix in expected.items():
        mean = off_diagonal(matrix[1:, 1:]).mean()
        assert found.raw[name]["mean"] == pytest.approx(mean, abs=1e-6)


async def test_rebasing_changes_cosine_only_and_not_the_rule():
    plain = await score("a", ["b", "a", "b"])
    spread = await score("a", ["b", "a", "b"], rebase=0.5)
    assert spread.raw["response"] == pytest.approx(
        np.mean([2 * (HALF - 0.5) / 0.5 - 1, 1, 2 * (HALF - 0.5) / 0.5 - 1])
    )
    assert spread.raw["pearson"] == plain.raw["pearson"]
    named = await score("a", ["b", "a"], rebase="e5")
    lowest = LOWEST_COSINE["e5"]
    assert named.raw["cosine"]["mean"] == pytest.approx(2 * (HALF - lowest) / (1 - lowest) - 1)
    assert (await score("a", ["a", "a"], rebase="sfr")).raw["rule"] is True
    with pytest.raises(ValueError, match="rebase"):
        await score("a", ["b"], rebase=1.0)


def test_parameters_are_read_and_checked_by_the_registry():
    (bound,) = REGISTRY.parse("checkembed(rebase=stella_400m, judged=samples, stat=frobenius)")
    assert bound.arguments == {"rebase": "stella_400m", "judged": "samples", "stat": "frobenius"}
    (bound,) = REGISTRY.parse("checkembed(rebase=0.3)")
    assert bound.arguments == {"rebase": 0.3}
    with pytest.raises(UsageError, match="rebase"):
        REGISTRY.parse("checkembed(rebase=bert)")


async def test_few_samples():
    one = await score("a", ["b"])
    assert one.raw["value"] == pytest.approx(HALF)
    assert one.raw["cosine"] is None and one.raw["outlier"] == [0, 0]
    with pytest.raises(NotApplicable):
        await score("a", ["b"], judged="samples")
    with pytest.raises(NotApplicable):
        await score("a", [])
    with pytest.raises(NotApplicable, match="empty"):
        await score("", ["a", "b"])


async def test_empty_samples_count_as_unlike_and_images_are_left_out():
    record = Record(response="a", samples=["a", "", {"image": "x.png"}, " "])
    found = await checkembed(record, FixedEvidence(record, VECTORS))
    assert found.raw["order"] == ["response", "sample 0", "sample 1", "sample 3"]
    assert found.raw["matrix"] == [[1, 1, -1, -1], [1, 1, -1, -1], [-1, -1, 1, 1], [-1, -1, 1, 1]]


async def test_real_model(encoder):
    same = ["Paris is the capital of France.", "The capital of France is Paris."] * 3

    async def of(response, samples):
        record = Record(response=response, samples=samples)
        return await checkembed(record, ModelEvidence(record, encoder))

    agreeing = await of(same[0], same)
    odd = await of("The capital of Australia is Canberra.", same)
    apart = await of(same[0], ["Lyon is in the east.", "Bananas are yellow.", "He died in 1912."])
    assert agreeing.risk < odd.risk < apart.risk
    assert agreeing.raw["rule"] is True
    assert int(np.argmax(odd.raw["outlier"])) == 0
    assert len(json.dumps(odd.model_dump(mode="json"))) < 4000
