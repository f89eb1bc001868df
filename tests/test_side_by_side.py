"""The benchmark of packages side by side: same answers to all, kept as it goes, honest figures."""

from __future__ import annotations

import argparse
import importlib
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from places import ROOT


@pytest.fixture
def benchmark(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(ROOT / "benchmarks")
    return importlib.import_module("side_by_side")


def rows() -> list[dict[str, Any]]:
    context = "The tower is 57 m tall."
    texts = (("It is 57 m tall.", 0.0), ("It is 70 m tall.", 1.0), ("Nobody knows.", 1.0))
    return [
        {"prompt": "", "response": t, "context": context, "sentences": [t], "label": label}
        for t, label in texts
    ]


def test_a_package_is_asked_once(
    benchmark: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a process of its own; run again, what it said is read."""
    given = argparse.Namespace(out=tmp_path, peers=tmp_path, asked=2, llm="none", kept=False)
    method = next(m for m in benchmark.METHODS if m.name == "veridical, `knowledge_f1`")
    options = {"threads": 1, **method.options}
    made = benchmark.measure(method, {"a": rows()}, options, given)
    (figures,) = made["sets"].values()
    assert figures["risks"][0] < figures["risks"][1] < figures["risks"][2] == 1.0
    assert figures["seconds"] > 0 and figures["peak"] > 50e6 and not figures["errors"]
    monkeypatch.setattr(benchmark, "Peer", None)
    assert benchmark.measure(method, {"a": rows()}, options, given) == made


def test_a_package_that_cannot_start_does_not_end_the_others(
    benchmark: ModuleType, tmp_path: Path
) -> None:
    given = argparse.Namespace(out=tmp_path, peers=tmp_path, asked=2, llm="none", kept=False)
    method = benchmark.ours("broken", "a model", None, nli="no-such-model-anywhere")
    made = benchmark.measure(method, {"a": rows()}, {"threads": 1, **method.options}, given)
    assert made["sets"] == {} and "org/name (a hub id" in made["failed"]
    line = benchmark.line({**made, "name": method.name, "reads": "a model"}, None, rows())
    assert "| 3 | | did not end |" in line


def test_accuracy_is_the_area_under_the_curve(benchmark: ModuleType) -> None:
    from sklearn.metrics import roc_auc_score

    asked = [{"label": float(i % 2)} for i in range(40)]
    risks: list[float | None] = [((i * 7) % 11) / 11 + 0.2 * (i % 2) for i in range(40)]
    truth = [r["label"] for r in asked]
    found = benchmark.accuracy(risks, asked)
    assert found["value"] == pytest.approx(roc_auc_score(truth, risks))
    assert found["ci_low"] < found["value"] < found["ci_high"]
    risks[0] = None  # no score: left out, not counted as right
    assert benchmark.accuracy(risks, asked)["value"] == pytest.approx(
        roc_auc_score(truth[1:], risks[1:])
    )
    assert benchmark.accuracy([None] * 40, asked) is None
    assert benchmark.accuracy(risks[:10], asked[:10]) is None  # too few to tell


@pytest.mark.data
def test_length_tells_nothing_of_halueval(benchmark: ModuleType, shared_data: Path) -> None:
    found = benchmark.halueval(shared_data, 40)
    assert len(found) == 40 and sum(r["label"] for r in found) == 20
    lengths = benchmark.baselines(found)["length of the answer"]
    assert benchmark.accuracy(lengths, found)["value"] == 0.5


def test_the_page_has_every_method_and_what_is_missing(benchmark: ModuleType) -> None:
    page = (ROOT / "docs/evidence/side-by-side.md").read_text("utf-8")
    assert [m.name for m in benchmark.METHODS if f"| {m.name} | " not in page] == []
    assert [file for _, _, file in benchmark.MISSING if f"`{file}`" not in page] == []
    for part in ("BEGIN wow/test", "HaluEval qa, pairs of equal length"):
        assert f"## {part}: " in page
