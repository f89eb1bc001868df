"""Reviewers' labels from a file of their own, each put to the record that it is about."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import veridical
from veridical.cli.app import app
from veridical.errors import UsageError
from veridical.tuning.label_file import labels_and_draws, read_review
from veridical.tuning.tuning import tune

IDS = ["a", "b", "b", "7", None]


@pytest.fixture
def results(tmp_path: Path) -> veridical.Results:
    rows: list[dict[str, Any]] = [
        {"response": f"Answer {i}.", "samples": ["Answer 1."], "label": 0.25 if i == 1 else None}
        for i in range(len(IDS))
    ]
    for row, name in zip(rows, IDS, strict=True):
        if name is not None:
            row["id"] = name
    path = tmp_path / "in.jsonl"
    path.write_text("".join(json.dumps(r) + "\n" for r in rows), "utf-8")
    return veridical.check(path, "exact_match", store=None, processes=0, out=tmp_path / "run")


def written(folder: Path, text: str, name: str = "review.csv") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def test_labels_find_their_records_by_row_or_id(results: veridical.Results, tmp_path: Path) -> None:
    review = written(tmp_path, "id,row,label\na,,1\n,2,false\nb,1,0\n7,3,0.5\n,4,\n")
    labels, _ = labels_and_draws(read_review(review), results)
    assert labels == {0: 1.0, 1: 0.0, 2: 0.0, 3: 0.5, 4: None}
    assert len(read_review(review)) == 4


def test_labels_of_a_review_may_be_words(results: veridical.Results, tmp_path: Path) -> None:
    review = written(tmp_path, "id,row,label\na,,Wrong\n,2,no\nb,1, right \n7,3,pass\n")
    labels, _ = labels_and_draws(read_review(review), results)
    assert labels == {
        0: 1.0,
        1: 0.0,
        2: 1.0,
        3: 0.0,
        4: None,
    }


def test_what_is_not_reviewed_keeps_its_own_label(
    results: veridical.Results, tmp_path: Path
) -> None:
    labels, _ = labels_and_draws(read_review(written(tmp_path, "id,label\na,true\n")), results)
    assert (labels[0], labels[1]) == (1.0, 0.25)


def test_result_lines_with_a_label_more_are_a_review(
    results: veridical.Results, tmp_path: Path
) -> None:
    lines = [json.loads(line) for line in results.lines()]
    text = "".join(json.dumps({**line, "label": line["row"] % 2}) + "\n" for line in lines)
    labels, _ = labels_and_draws(read_review(written(tmp_path, text, "review.jsonl")), results)
    assert labels == {row: float(row % 2) for row in range(len(IDS))}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("id,label\na,2\n", r"line 2: label must be a number from 0"),
        ("id,label\na,wrng\n", r"line 2: label must be a number from 0.*'wrng'"),
        ("id,label\nnobody,1\n", r"line 2: no record has the id 'nobody'"),
        ("id,label\nb,1\n", r"line 2: rows 1, 2 have the id 'b'; add row"),
        ("row,label\n99,1\n", r"line 2: no record has row '99'"),
        ("row,label\n1e0,1\n", r"line 2: no record has row '1e0'"),
        ("row,id,label\n0,b,1\n", r"line 2: the record of row 0 does not have the id 'b'"),
        ("row,label\n0,1\n0,0\n", r"line 3: row 0 has a different label earlier"),
        ("label\n1\n", r"line 2: the row names no record"),
        ("id,verdict\na,1\n", r"no row has a label"),
    ],
)
def test_a_review_that_cannot_be_used_says_where(
    results: veridical.Results, tmp_path: Path, text: str, said: str
) -> None:
    with pytest.raises(UsageError, match=said):
        labels_and_draws(read_review(written(tmp_path, text)), results)


def test_tuning_by_a_review(tmp_path: Path) -> None:
    rows = [
        {"id": i, "response": "Yes." if i % 3 else f"No {i}.", "samples": ["Yes.", "Yes."]}
        for i in range(60)
    ]
    review = "".join(json.dumps({"id": i, "label": i % 3 == 0}) + "\n" for i in range(0, 60, 1))
    path = written(tmp_path, review, "review.jsonl")
    tuned = tune(
        rows, "exact_match, ngram_presence", labels=path, bootstrap=0, store=None, processes=0
    )
    assert (tuned.ensemble.fitted_on.n, tuned.ensemble.fitted_on.positive) == (60, 20)
    assert "review.jsonl" in tuned.ensemble.fitted_on.labels
    assert "60 labels are from review.jsonl" in tuned.notes
    for options in ({"grader": "exact"}, {"level": "sentence"}):
        with pytest.raises(UsageError, match="labels"):
            tune(rows, "exact_match", labels=path, **options)  # type: ignore[arg-type]


def test_a_review_that_is_not_there_is_told_before_the_run(tmp_path: Path) -> None:
    run = tmp_path / "run"
    with pytest.raises(UsageError, match=r"review\.csv"):
        tune([{"response": "A"}], "exact_match", labels=tmp_path / "review.csv", run=run)
    assert not run.exists()


def test_an_output_does_not_take_the_place_of_the_review(tmp_path: Path) -> None:
    review = written(tmp_path, "id,label\na,1\n")
    data = written(tmp_path, '{"response": "A"}\n', "in.jsonl")
    options = ["--labels", str(review), "--out", str(review)]
    made = CliRunner().invoke(app, ["tune", str(data), *options])
    assert "it is an input" in str(made.exception) + made.output


def test_labels_of_a_review_are_counted_first(tmp_path: Path) -> None:
    rows = [{"response": f"Answer {i}.", "samples": ["Answer 1."], "id": i} for i in range(40)]
    text = "".join(f"{i},{'wrong' if i % 4 == 0 else 'right'}\n" for i in range(40))
    said: list[str] = []
    tune(
        rows, "exact_match, ngram_presence", labels=written(tmp_path, "id,label\n" + text),
        store=None, processes=0, bootstrap=0, tell=said.append,
    )  # fmt: skip
    assert said[0] == "40 labels of review.csv: 30 right, 10 hallucinated"
