"""Labels and scores of graded tasks, drawn (SelfCheckGPT, figures 4, 6 and 10)."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import spearmanr

import veridical
from veridical_lab.bench.benchmark import Bench
from veridical_lab.bench.report.figures import graded_figures
from veridical_lab.bench.report.html import write_bench_report
from veridical_lab.bench.report.view import views

LABELS = [0.0, 0.25, 0.5, 1.0] * 10


@pytest.fixture
def made(tmp_path: Path) -> Bench:
    rows: list[dict[str, Any]] = []
    for i, label in enumerate(LABELS):
        said = ["never", "said"] if label > 0.4 else ["It", "is", "so"]
        rows.append(
            {"prompt": f"{i}", "response": " ".join(said), "samples": ["It is so."], "label": label}
        )
    path = tmp_path / "graded.jsonl"
    path.write_text("".join(json.dumps(r) + "\n" for r in rows), "utf-8")
    return veridical.bench("graded", path, "ngram, ngram_presence", bootstrap=20)


def graded_split(made: Bench) -> Any:
    return next(s for s in made.splits if s.kind == "graded")


def test_labels_are_counted_and_scores_stand_beside_them(made: Bench) -> None:
    split = graded_split(made)
    assert split.labels is not None and sum(split.labels.counts) == len(LABELS)
    assert split.labels.counts[0] == split.labels.counts[5] == split.labels.counts[-1] == 10
    points = {c.scorer: c.scatter for c in split.curves}
    assert {"ngram", "ngram_presence", "length"} <= set(points)
    labels, scores = zip(*points["ngram"], strict=True)
    assert sorted(labels) == sorted(LABELS)
    (row,) = (
        r for r in made.rows if (r.scorer, r.split, r.metric) == ("ngram", split.split, "spearman")
    )
    assert spearmanr(labels, scores).statistic == pytest.approx(row.value)


def test_they_are_drawn(made: Bench, tmp_path: Path) -> None:
    view = next(v for v in views(made) if v.split.kind == "graded")
    histogram, first, *_ = graded_figures(view)
    assert histogram.rows[0][1] == "10" and "<rect" in histogram.drawing
    assert first.drawing.count("<circle") == len(LABELS)
    assert [int(n) for _, n, _ in first.rows] == [10, 10, 10, 0, 10]
    page = tmp_path / "page.html"
    write_bench_report(made, page)
    text = page.read_text("utf-8")
    assert "by human label" in text and "Labels" in text
    assert not re.search(r"style=", text)


def test_a_stored_benchmark_of_before_is_still_read(made: Bench, tmp_path: Path) -> None:
    stored = made.model_dump()
    for split in stored["splits"]:
        del split["labels"]
        for curve in split["curves"]:
            del curve["scatter"]
    older = Bench.model_validate(stored)
    assert graded_figures(views(older)[0]) == []


def test_of_many_targets_some_are_drawn() -> None:
    from veridical_lab.bench.curves import scatter
    from veridical_lab.bench.judged import Judged, TaskTargets

    n = 1801
    where = np.arange(n)
    truth = np.linspace(0, 1, n)
    targets = TaskTargets(where, where, truth, where, np.ones(n))
    points = scatter("x", Judged(where, score=truth), targets).scatter
    assert 400 <= len(points) <= 500 and points[0] == (0.0, 0.0)
