"""The forms that a benchmark is written in, from Python and from the command line."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest
from bench_builders import full

from veridical.errors import UsageError
from veridical.report.forms import tex_of
from veridical_lab.bench.benchmark import Bench


@pytest.fixture
def made() -> Bench:
    return full(splits=1, scorers=2, n=60)


@pytest.mark.parametrize("ending", ["md", "html", "txt", "json", "csv", "tex"])
def test_a_path_that_is_text_names_the_form(made: Bench, tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"own.{ending}"
    made.write(str(path))
    assert made.rows[0].scorer.split("(")[0].replace("_", "") in path.read_text("utf-8").replace(
        "\\_", ""
    ).replace("_", "")
    if ending == "json":
        assert Bench.read(str(path)) == made


def test_an_unknown_form_is_refused(made: Bench, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"\.csv or \.tex, not 'own.doc'"):
        made.write(tmp_path / "own.doc")


def test_a_table_has_a_row_a_figure(made: Bench, tmp_path: Path) -> None:
    made.write(tmp_path / "own.csv")
    with (tmp_path / "own.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == len(made.rows)
    assert [row["scorer"] for row in rows] == [row.scorer for row in made.rows]
    frame = made.to_pandas()
    assert len(frame) == len(rows) and list(frame["metric"]) == [r.metric for r in made.rows]


def test_text_in_latex_is_inert() -> None:
    text = tex_of([{"scorer": "a_b & \\input{x} $1%", "value": 0.12345, "empty": None}])
    assert "a\\_b \\& \\textbackslash{}input\\{x\\} \\$1\\% & 0.123 \\\\" in text
    assert "empty" not in text and text.startswith("\\begin{tabular}{lr}")


def test_it_is_printed_as_text(made: Bench) -> None:
    assert len(repr(made)) < 200 and repr(made).startswith("<Bench ")
    assert made.rows[0].scorer.split("(")[0] in str(made)
