"""Table 1 and figure 1 of the tunable-ensemble paper in reports, from a stored benchmark."""

from __future__ import annotations

from pathlib import Path

import bench_builders as b
import pytest
from scipy.stats import binomtest

from veridical.stats.proportions import wilson
from veridical_lab.bench.benchmark import Bench
from veridical_lab.bench.report import qa as bench_qa
from veridical_lab.bench.report.bench_document import markdown
from veridical_lab.bench.report.html import write_bench_report
from veridical_lab.bench.report.view import views
from veridical_lab.bench.result import Curves


def qa(part: str = "gsm8k", scorer: str = "exact_match") -> Bench:
    of = {"suite": "qa", "level": "response", "prevalence": 0.5, "n_total": 30, "n_scored": 30}
    right = {**of, "split": f"{part}-right", "positive": "right"}
    wrong = {**of, "split": part, "positive": "wrong", "scorer": scorer}
    rows = [
        b.row(scorer, m, **right, value=v, ci_low=v - 0.1, ci_high=v + 0.1)
        for m, v in (("precision", 0.7), ("recall", 0.933), ("f1", 0.8))
    ]
    rows += [b.row("always_positive", "f1", **right, value=0.667)]
    rows += [b.row(metric=m, **wrong, value=0.856) for m in ("auroc", "average_precision")]
    # ten answers of risk 0 (nine right), ten of 0.5 (five), ten of 1 (one)
    taus = [i / 50 for i in range(51)]
    found = [(0.9, 1 / 3) if t < 0.5 else (0.7, 2 / 3) if t < 1 else (0.5, 1.0) for t in taus]
    curve = Curves(scorer=scorer, accuracy_at=[(t, *f) for t, f in zip(taus, found, strict=True)])
    shared = {"suite": "qa", "level": "response", "n_total": 30, "n_positive": 15, "n_groups": 30}
    splits = [
        b.split(**shared, split=part, positive="wrong", headline="auroc", scorers=[scorer],
                curves=[curve]),
        b.split(**shared, split=f"{part}-right", positive="right", headline="f1", scorers=[scorer]),
    ]  # fmt: skip
    return b.bench(suite="qa", rows=rows, splits=splits)


def test_table_1() -> None:
    table = bench_qa.table_1(views(qa()))
    assert table is not None and table.parts == ["gsm8k"]
    cells = {(r.group, r.figure): r.cells[0] for r in table.rows}
    assert cells["the model", "share right"].value == "0.500"
    assert cells["exact_match", "recall"][:2] == ("0.933", "[0.833, 1.033]")
    assert cells["baseline: all called right", "F1"].value == "0.667"
    assert cells["paper: Ensemble", "F1"].value == "0.567"
    assert any("other folds" in n for n in table.notes)
    assert any("do not describe the answers here" in n for n in table.notes)


def test_the_papers_rows_are_for_its_data_sets_only() -> None:
    table = bench_qa.table_1(views(qa("mine")))
    assert table is not None and not any("paper" in r.group for r in table.rows)
    assert bench_qa.table_1(views(b.full(2, 2, 60))) is None


def test_accuracy_above_a_confidence() -> None:
    figures = bench_qa.figures(views(qa()), {"exact_match": 0})
    filtered = figures[0]
    rows = {row[1]: row for row in filtered.rows}
    assert list(rows) == [f"{i / 10:g}" for i in range(10)]  # the paper's thresholds
    assert (rows["0"][2], rows["0"][4]) == ("0.500", "30")
    assert (rows["0.5"][2], rows["0.5"][4]) == ("0.700", "20")
    assert (rows["0.6"][2], rows["0.6"][4]) == ("0.900", "10")
    assert [f.title for f in figures[1:]] == ["Scorers by AUROC, gsm8k", "Scorers by AUPRC, gsm8k"]


@pytest.mark.parametrize(("right", "n"), [(0, 7), (9, 10), (14, 20), (30, 30)])
def test_intervals_are_wilsons(right: int, n: int) -> None:
    expected = binomtest(right, n).proportion_ci(0.95, "wilson")
    assert wilson(right / n, n) == pytest.approx((expected.low, expected.high), abs=1e-6)


def test_reports_hold_them(tmp_path: Path) -> None:
    made = qa(scorer="exact_match(x=<b>)")
    text = markdown(made)
    assert "| the model | share right | 0.500 |" in text.replace("`", "")
    page = tmp_path / "page.html"
    write_bench_report(made, page)
    html = page.read_text()
    assert "Detection of right answers" in html and "Accuracy above a confidence" in html
    assert "<b>)" not in html
