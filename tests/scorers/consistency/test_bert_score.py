from __future__ import annotations

import numpy as np
import pytest
from embedding_evidence import FixedEvidence, ModelEvidence

from veridical.core.records import Record
from veridical.errors import NotApplicable
from veridical.scorers.consistency.bert_score import bert_score, frobenius, rescaled

PAIRS = {("r", "s"): (0.9, 0.8), ("r", "t"): (0.6, 0.7)}
F1 = [2 * 0.9 * 0.8 / 1.7, 2 * 0.6 * 0.7 / 1.3]


async def score(response="r", samples=("s", "t"), pairs=PAIRS, **parameters):
    record = Record(response=response, samples=samples)
    return await bert_score(record, FixedEvidence(record, pairs=pairs), **parameters)


async def test_mean_f1_over_the_samples_as_in_equation_12():
    found = await score()
    assert found.raw == {
        "value": pytest.approx(np.mean(F1)),
        "f1": pytest.approx(np.mean(F1)),
        "precision": pytest.approx(0.75),
        "recall": pytest.approx(0.75),
    }
    assert found.risk == pytest.approx(1 - np.mean(F1))


async def test_headline_may_be_precision_or_recall():
    pairs = {("r", "s"): (0.9, 0.5)}
    precision = await score(samples=["s"], pairs=pairs, stat="precision")
    recall = await score(samples=["s"], pairs=pairs, stat="recall")
    assert (precision.raw["value"], precision.risk) == (0.9, pytest.approx(0.1))
    assert (recall.raw["value"], recall.risk) == (0.5, 0.5)


async def test_baseline_rescales_raw_values_and_leaves_the_risk():
    plain, spread = await score(), await score(baseline=0.83)
    for key in ("f1", "precision", "recall"):
        assert spread.raw[key] == pytest.approx((plain.raw[key] - 0.83) / 0.17)
    assert spread.risk == plain.risk
    for wrong in (1.0, -0.1, float("nan")):
        with pytest.raises(ValueError, match="baseline"):
            await score(baseline=wrong)


async def test_matrix_form_is_checkembeds_norm_over_pairs_of_samples():
    pairs = {(a, b): (0.5, 0.5) for a in "stu" for b in "stu"} | {
        ("s", "t"): (0.9, 0.9),
        ("t", "s"): (0.9, 0.9),
    }
    pairs |= {(a, a): (1.0, 1.0) for a in "stu"}
    found = await score(samples=list("stu"), pairs=pairs, form="matrix")
    by_hand = np.sqrt((2 * 0.9**2 + 4 * 0.5**2) / (3 * 2))
    assert found.raw["value"] == pytest.approx(by_hand)
    assert found.risk == pytest.approx(1 - by_hand)
    assert found.raw["order"] == ["sample 0", "sample 1", "sample 2"]
    assert found.raw["matrix"] == [[1, 0.9, 0.5], [0.9, 1, 0.5], [0.5, 0.5, 1]]
    with pytest.raises(NotApplicable, match="at least two"):
        await score(samples=["s"], form="matrix")


def test_values_below_minus_one_are_clipped_in_the_norm():
    # A pair far under the baseline; the published code meant to clip it.
    assert frobenius(rescaled(np.array([[1.0, 0.1], [0.1, 1.0]]), 0.83)) == pytest.approx(1)
    assert rescaled(np.array([0.3]), None).tolist() == [0.3]


async def test_requests_and_other_things_to_compare_with():
    record = Record(response="r", contexts=["s", "t"], reference="t")
    evidence = FixedEvidence(record, pairs=PAIRS)
    best = await bert_score(record, evidence, against="contexts")
    assert best.raw["f1"] == pytest.approx(max(F1))  # of contexts the best, not the mean
    found = await bert_score(record, evidence, against="reference", idf=True)
    assert found.raw["f1"] == pytest.approx(F1[1])
    assert evidence.asked == [(("r",), ("s", "t"), False), (("r",), ("t",), True)]
    with pytest.raises(NotApplicable):
        await bert_score(record, evidence)
    with pytest.raises(NotApplicable, match="empty"):
        await score(response="  ")


async def test_real_model(encoder):
    async def of(samples, **parameters):
        record = Record(response="Paris is the capital of France.", samples=samples)
        return await bert_score(record, ModelEvidence(record, encoder), **parameters)

    same = await of(["Paris is the capital of France."])
    near = await of(["The capital of France is Paris.", "France's capital city is Paris."])
    far = await of(["Bananas are rich in potassium.", "He scored twice in the final."])
    assert same.raw["f1"] == pytest.approx(1, abs=1e-6) and same.risk == pytest.approx(0, abs=1e-6)
    assert same.risk < near.risk < far.risk
    weighted = await of(["The capital of France is Paris.", "Bananas are yellow."], idf=True)
    assert 0 < weighted.raw["f1"] < 1
    mixed = ["Paris is in France.", "Paris is in France.", "He was born in 1912."]
    matrix = np.array((await of(mixed, form="matrix")).raw["matrix"])
    assert matrix[0, 1] == 1 and matrix[0, 2] < 0.9
    np.testing.assert_allclose(matrix, matrix.T, atol=1e-4)
