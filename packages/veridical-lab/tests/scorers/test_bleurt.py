"""BLEURT: the pair's order, the map to risk, and a tiny regressor read by transformers."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
from checkpoint_evidence import FixedCheckpoints

import veridical
from veridical.core.records import Record
from veridical.core.registry import REGISTRY
from veridical.engine.engine import Engine


def record(**fields) -> Record:
    return Record(**{"response": "hyp", "reference": ["a", "b"], "contexts": ["c", "d"], **fields})


async def score(rate, to: Record | None = None, **arguments):
    evidence = FixedCheckpoints(to or record(), rate=rate)
    return await REGISTRY.bind("bleurt", arguments)(evidence.record, evidence), evidence


async def test_the_reference_comes_first_and_the_best_counts() -> None:
    table = {("a", "hyp"): 0.2, ("b", "hyp"): 0.9}
    found, _ = await score(lambda *p: table[p])
    assert found.raw == pytest.approx(0.9)
    assert found.risk == pytest.approx(1 / (1 + math.exp(4 * 0.4)))


async def test_contexts_are_one_text() -> None:
    found, evidence = await score(lambda *p: 0.5, against="contexts")
    assert evidence.asked[0][1] == [("c\nd", "hyp")]
    assert found.risk == pytest.approx(0.5)


@pytest.mark.parametrize("raw", [-500.0, -1.0, 0.0, 0.5, 1.0, 500.0])
async def test_any_number_has_a_risk(raw: float) -> None:
    found, _ = await score(lambda *p: raw)
    assert 0 <= found.risk <= 1 and found.raw == raw


async def test_risk_falls_as_the_number_rises() -> None:
    risks = [(await score(lambda *p, r=r: r))[0].risk for r in (-1.5, -0.2, 0.4, 0.6, 1.1)]
    assert risks == sorted(risks, reverse=True) and len(set(risks)) == 5


@pytest.mark.torch
def test_numbers_are_the_librarys_own(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    from reader_checkpoints import save_reader

    folder = save_reader(tmp_path / "bleurt", "bert", "SequenceClassification", num_labels=1)
    row = {"response": "Paris is in France.", "reference": ["The Seine runs through Paris."]}
    with Engine(processes=0) as engine:
        (found,) = veridical.check([row], f"bleurt(model='{folder}')", engine=engine)
    (scored,) = found.scores.values()
    model = transformers.AutoModelForSequenceClassification.from_pretrained(folder).eval()
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    with torch.no_grad():
        inputs = tokenizer(row["reference"][0], row["response"], return_tensors="pt")
        expected = float(model(**inputs).logits)
    assert scored.raw == pytest.approx(expected, abs=1e-5)
    assert "regressor:bleurt@" in scored.signature
