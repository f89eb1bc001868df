"""``bench --threshold``: labels at a stated risk, beside an independent library and by hand."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import graded_data
import pytest
from sklearn.metrics import balanced_accuracy_score, f1_score, matthews_corrcoef

import veridical
from veridical.errors import UsageError
from veridical_lab.bench.benchmark import Bench
from veridical_lab.bench.report.bench_document import markdown
from veridical_lab.bench.result import Row

pytestmark = pytest.mark.usefixtures("test_scorers")


def row(made: Bench, scorer: str, metric: str, split: str | None = None) -> Row:
    (found,) = (
        r
        for r in made.rows
        if (r.scorer, r.metric) == (scorer, metric) and (split is None or r.split == split)
    )
    return found


def test_labels_are_those_of_the_stated_risk(tmp_path: Path) -> None:
    data = graded_data.rows(120, 60)
    data[0]["signal"] = 0.3  # at the threshold is wrong
    path = graded_data.write(tmp_path, data)
    made = veridical.bench("graded", path, "t_good", bootstrap=100, threshold=0.3)
    labels = [r["label"] for r in data]
    called = [int(r["signal"] >= 0.3) for r in data]
    assert row(made, "t_good", "balanced_accuracy").value == pytest.approx(
        balanced_accuracy_score(labels, called)
    )
    assert row(made, "t_good", "f1").value == pytest.approx(f1_score(labels, called))
    assert row(made, "t_good", "mcc").value == pytest.approx(matthews_corrcoef(labels, called))
    f1 = row(made, "t_good", "f1")
    assert f1.threshold == 0.3 and "threshold_fitted_on_test" not in f1.flags
    assert f1.ci_low is not None and f1.ci_high is not None and f1.ci_low < f1.ci_high
    assert row(made, "length", "f1").threshold == "cross-fitted"
    assert not made.splits[0].suggested
    shown = markdown(made)
    assert "a risk of 0.3 or more is called wrong" in shown
    assert "No threshold is suggested: none was fitted on other folds." in shown
    ranked = veridical.bench("graded", path, "t_good", bootstrap=0)
    assert row(ranked, "t_good", "auroc").value == row(made, "t_good", "auroc").value
    assert made.run != ranked.run and made.settings["threshold"] == 0.3


@pytest.mark.parametrize(
    ("threshold", "precision", "recall"), [(0.5, 0.9, 0.6), (0.6, 0.7, 14 / 15)]
)
def test_right_answers_are_those_under_it(
    threshold: float, precision: float, recall: float, tmp_path: Path
) -> None:
    """Ten answers each that both, one and none of two samples repeat: 9, 5 and 1 are right."""
    answers = []
    for agreeing, right in ((2, 9), (1, 5), (0, 1)):
        for i in range(10):
            text = "42" if i < right else "41"
            samples = [text] * agreeing + ["?"] * (2 - agreeing)
            answers.append(
                {
                    "prompt": f"question {agreeing} {i}",
                    "response": text,
                    "samples": samples,
                    "reference": "42",
                    "dataset": "gsm8k",
                }
            )
    path = tmp_path / "answers.jsonl"
    path.write_text("".join(json.dumps(a) + "\n" for a in answers))
    made = veridical.bench("qa", path, "exact_match", bootstrap=0, threshold=threshold)
    assert row(made, "exact_match", "precision", "gsm8k-right").value == pytest.approx(precision)
    assert row(made, "exact_match", "recall", "gsm8k-right").value == pytest.approx(recall)
    assert f"Answers of a risk under {threshold} are called right" in markdown(made)


@pytest.mark.data
def test_balanced_accuracy_of_wrong_and_of_right_sentences_is_the_same(shared_data: Path) -> None:
    """As SelfCheckGPT's authors say of their table of balanced accuracies."""
    made = veridical.bench(
        "wikibio", shared_data / "wikibio_gpt3", "support", bootstrap=0, threshold=0.5, limit=40
    )
    wrong, right = (
        row(made, "support(against=samples)", "balanced_accuracy", split)
        for split in ("nonfact", "factual")
    )
    assert wrong.value == pytest.approx(right.value) and wrong.value != 0.5


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"threshold": 0}, "threshold must be above 0 and at most 1, not 0"),
        ({"threshold": 1.5}, "threshold must be above 0 and at most 1, not 1.5"),
        ({"threshold": float("nan")}, "threshold must be above 0 and at most 1, not nan"),
        ({"threshold": "half"}, "threshold"),
        ({"as_published": True}, "as_published fits the thresholds that threshold gives"),
        ({"study": True}, "study fits thresholds of its own: leave threshold out"),
    ],
)
def test_what_does_not_go_with_it_is_refused_before_any_work(
    options: dict[str, Any], said: str, tmp_path: Path
) -> None:
    with pytest.raises(UsageError, match=said):
        veridical.bench("graded", tmp_path / "absent.jsonl", **{"threshold": 0.5, **options})


def test_a_suite_without_two_classes_is_refused(tmp_path: Path) -> None:
    path = graded_data.write(
        tmp_path, [{"response": f"a {i}", "label": i / 4, "samples": ["a"]} for i in range(5)]
    )
    veridical.bench("graded", path, "t_length", bootstrap=0, threshold=0.5)  # binary too
    lines = [
        {
            "setting": "zero_context", "dataset": "nq", "model": "m", "id": str(i), "response": "r",
            "triplet": ["a", "b", str(i)], "human_label": "Neutral",
        }
        for i in range(3)
    ]  # fmt: skip
    claims = tmp_path / "claims.jsonl"
    claims.write_text("".join(json.dumps(x) + "\n" for x in lines), encoding="utf-8")
    with pytest.raises(UsageError, match="no selected split of 'refchecker' has"):
        veridical.bench("refchecker", claims, "t_three", threshold=0.5)
    with pytest.raises(UsageError, match="claims have no risk"):
        veridical.bench("extraction", claims, "clauses", threshold=0.5)
