from __future__ import annotations

import numpy as np
import pytest
from embedding_evidence import FixedEvidence, ModelEvidence

from veridical.core.records import Record
from veridical.errors import NotApplicable
from veridical.scorers.grounding.knowledge_bertscore import knowledge_bertscore

PAIRS = {("r", "k"): (0.9, 0.3), ("r", "l"): (0.6, 0.8), ("r", ""): (0, 0)}
K, L = 2 * 0.9 * 0.3 / 1.2, 2 * 0.6 * 0.8 / 1.4


async def score(contexts, response="r", **parameters):
    record = Record(response=response, contexts=contexts)
    return await knowledge_bertscore(record, FixedEvidence(record, pairs=PAIRS), **parameters)


async def test_f1_with_the_knowledge():
    found = await score("k")
    assert found.raw == {
        "f1": pytest.approx(K),
        "precision": pytest.approx(0.9),
        "recall": pytest.approx(0.3),
        "best": 0,
    }
    assert found.risk == pytest.approx(1 - K)


async def test_the_best_of_several_contexts_counts():
    found = await score(["", "k", "l"])
    assert found.raw["best"] == 2  # its place in the record, empty ones included
    assert found.raw["f1"] == pytest.approx(L)
    assert found.raw["precision"] == pytest.approx(0.6)


async def test_baseline_and_reference():
    found = await score("k", baseline=0.2)
    assert found.raw["f1"] == pytest.approx((K - 0.2) / 0.8)
    assert found.raw["recall"] == pytest.approx(0.125)
    assert found.risk == pytest.approx(1 - K)
    record = Record(response="r", reference="l")
    evidence = FixedEvidence(record, pairs=PAIRS)
    found = await knowledge_bertscore(record, evidence, against="reference")
    assert found.raw["f1"] == pytest.approx(L)
    with pytest.raises(NotApplicable, match="no contexts"):
        await knowledge_bertscore(record, evidence)
    with pytest.raises(NotApplicable, match="empty"):
        await score("k", response="")


async def test_real_model_reads_a_long_context_to_its_end(encoder):
    filler = "The committee met again and postponed its decision. " * 80
    fact = "The bridge over the Tay was opened in June 1887."
    other = "A recipe for bread needs flour, water, yeast and salt."

    async def of(*contexts):
        record = Record(response=fact, contexts=list(contexts))
        return await knowledge_bertscore(record, ModelEvidence(record, encoder))

    with_fact, without = await of(filler + fact), await of(filler)
    assert with_fact.raw["precision"] > without.raw["precision"] + 0.2
    assert (await of(fact)).raw["f1"] == pytest.approx(1, abs=1e-6)
    several = await of(other, fact, filler)
    assert several.raw["best"] == 1 and several.risk == pytest.approx(0, abs=1e-6)
    assert np.isfinite([with_fact.risk, without.risk]).all()
