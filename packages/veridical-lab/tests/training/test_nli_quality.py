"""The figures of the model card: batching, figures of labelled pairs, tables."""

from __future__ import annotations

import importlib.util
import sys
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from places import ROOT
from sklearn.metrics import accuracy_score, f1_score

from veridical.core.protocols import Window
from veridical.models import LABELS, Pair
from veridical_lab.bench.result import Row

SCRIPT = ROOT / "training/nli_quality.py"


@pytest.fixture(scope="module")
def quality() -> ModuleType:
    spec = importlib.util.spec_from_file_location("nli_quality", SCRIPT)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["nli_quality"] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


class Lengths:
    """Says of each pair how long it is: one window a word of the premise, joined by a mean."""

    batch_tokens = 6
    workers = 2
    batches: list[int]

    def __init__(self) -> None:
        self.batches = []

    def windows(self, pairs: list[Pair]) -> list[list[Window]]:
        return [[Window(len(w), (w, p.hypothesis)) for w in p.premise.split()] for p in pairs]

    def run(self, batch: list[Window]) -> list[float]:
        self.batches.append(max(w.length for w in batch) * len(batch))
        return [len(w.content[0]) / 10 for w in batch]

    def assemble(self, windows: list[Window], outputs: list[float]) -> Any:
        share = sum(outputs) / len(windows)
        return np.array([share, 1 - share, 0], np.float32)


def test_judge_gives_every_pair_its_own_windows_in_order(quality: ModuleType) -> None:
    model = Lengths()
    pairs = [Pair("a bbb", "x"), Pair("cccccccc", "x"), Pair("dd dd dd", "x"), Pair("e", "x")]
    found = quality.judge(model, pairs)
    np.testing.assert_allclose(found[:, 0], [0.2, 0.8, 0.2, 0.1], atol=1e-7)
    assert found.dtype == np.float64
    assert len(model.batches) > 1
    assert all(size <= model.batch_tokens for size in model.batches if size != 8)


def test_figures_of_three_classes_are_scikit_learns(quality: ModuleType) -> None:
    rng = np.random.default_rng(0)
    probabilities = rng.dirichlet([1, 1, 1], 60)
    labels = rng.choice(LABELS, 60, p=[0.5, 0.3, 0.2]).tolist()
    said = [LABELS[i] for i in probabilities.argmax(axis=1)]
    found = quality.Classified.of("some", probabilities, labels)
    assert found.pairs == 60
    assert found.accuracy == pytest.approx(accuracy_score(labels, said))
    assert found.macro_f1 == pytest.approx(f1_score(labels, said, average="macro"))
    expected = f1_score(labels, said, average=None, labels=list(LABELS))
    assert [found.f1[label] for label in LABELS] == pytest.approx(expected.tolist())
    assert found.majority == "entailment"
    always = ["entailment"] * 60
    assert found.majority_accuracy == pytest.approx(accuracy_score(labels, always))
    assert found.majority_macro_f1 == pytest.approx(
        f1_score(labels, always, average="macro", zero_division=0)
    )


def test_two_classes_add_up_what_is_not_entailment(quality: ModuleType) -> None:
    """0.4 entailment is the largest of three, but the rest outweighs it."""
    probabilities = np.array([[0.4, 0.3, 0.3], [0.6, 0.4, 0.0], [0.1, 0.1, 0.8]])
    found = quality.Classified.of(
        "two", probabilities, ["not_entailment", "entailment", "not_entailment"]
    )
    assert found.accuracy == 1
    assert set(found.f1) == {"entailment", "not_entailment"}
    assert found.majority == "not_entailment"
    assert found.majority_accuracy == pytest.approx(2 / 3)
    # confidences 0.6, 0.6 and 0.9, all right: bins are off by 0.4, 0.4 and 0.1
    assert found.ece == pytest.approx((0.4 + 0.4 + 0.1) / 3)


def test_an_unknown_label_is_refused(quality: ModuleType) -> None:
    with pytest.raises(ValueError, match="hidden"):
        quality.Classified.of("odd", np.full((1, 3), 1 / 3), ["hidden"])


def test_tables_are_the_cards(quality: ModuleType) -> None:
    figures = quality.Classified.of(
        "two", np.array([[0.75, 0.25, 0.0], [0.2, 0.3, 0.5]]), ["entailment", "not_entailment"]
    )
    last = quality.classification_table([figures]).splitlines()[-1]
    assert last == "| two | 2 | 1.000 | 1.000 | 1.000 / 1.000 | 0.225 | 0.500 | 0.333 |  |"


def test_detection_table_keeps_the_order_and_says_what_is_in_domain(quality: ModuleType) -> None:
    def row(scorer: str, metric: str, value: float | None, **more: Any) -> Row:
        return Row(
            suite="begin", scorer=scorer, split="cmu/dev", level="response", positive="not",
            metric=metric, value=value, n_total=9, n_scored=8, prevalence=0.25, **more,
        )  # fmt: skip

    wanted = quality.Detection("begin", "begin", (), ("second", "first"), "note")
    rows = [
        row("length", "auroc", 0.5),
        row("first", "auroc", 0.75, flags=["in_domain"]),
        row("first", "average_precision", 0.5, ci_low=0.25, ci_high=0.625),
        row("second", "auroc", None),
    ]
    lines = quality.detection_table(rows, wanted).splitlines()
    assert lines[0] == "| split | scorer | scored | positive | auroc | average precision |"
    assert lines[2:] == [
        "| cmu/dev | second | 8 of 9 | 0.250 | – | – |",
        "| cmu/dev | first (in-domain) | 8 of 9 | 0.250 | 0.750 | 0.500 (0.250 to 0.625) |",
        "| cmu/dev | length | 8 of 9 | 0.250 | 0.500 | – |",
    ]
