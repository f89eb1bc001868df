"""The user's own data: columns, groups, parts, annotators, units, and the errors for labels."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from places import ROOT

from veridical.errors import UsageError


def known(task: Any) -> list[float]:
    return [float(y) for y in task.truth[~np.isnan(task.truth)]]


def test_labels_only(write: Any, load: Any) -> None:
    rows = [{"response": "a", "label": 0}, {"answer": "b", "label": True}, {"output": "c"}]
    loaded = load("graded", write("mine.jsonl", rows))
    assert list(loaded.tasks) == ["all"] and known(loaded.tasks["all"]) == [0, 1]
    assert np.isnan(loaded.tasks["all"].truth[2])
    assert len({i.group for i in loaded.items}) == 3


@pytest.mark.parametrize("extension", ["jsonl", "json", "csv", "parquet"])
def test_formats_agree(extension: str, write: Any, load: Any) -> None:
    rows = [
        {"question": "q1", "answer": "right", "context": "c", "label": 0.0},
        {"question": "q1", "answer": "half", "context": "c", "label": 0.5},
        {"question": "q2", "answer": "wrong", "context": "c", "label": 1.0},
    ]
    path = write(f"in/mine.{extension}", rows)
    for place in (path, path.parent):
        loaded = load("graded", place)
        assert not loaded.bad
        assert [i.record.response for i in loaded.items] == ["right", "half", "wrong"]
        assert [i.record.prompt for i in loaded.items] == ["q1", "q1", "q2"]
        assert known(loaded.tasks["all"]) == [0, 1, 1]
        assert known(loaded.tasks["graded"]) == [0, 0.5, 1]
        assert loaded.tasks["graded"].headline == "spearman"
        first, second, third = (i.group for i in loaded.items)
        assert first == second != third  # one prompt, one group


def test_units(write: Any, load: Any) -> None:
    unit = {"start": 0, "end": 2}
    rows = [
        {"response": "abcd", "unit_labels": [{**unit, "label": 0.2}, {**unit, "label": 0.5}]},
        {"response": "abcd", "unit_labels": []},
        {"response": "abcd", "unit_labels": [{**unit, "label": False}]},
        {"response": "abcd", "label": 1},
    ]
    loaded = load("graded", write("mine.jsonl", rows))
    assert list(loaded.tasks) == ["all", "units", "spans"]
    units, spans = loaded.tasks["units"], loaded.tasks["spans"]
    assert (units.on, units.level, known(units)) == ("units", "sentence", [0, 1, 0])
    assert (spans.on, spans.kind, spans.level) == ("items", "spans", "span")
    assert spans.truth[:3].tolist() == [1, 0, 0] and np.isnan(spans.truth[3])
    assert known(loaded.tasks["all"]) == [1]


def test_parts(write: Any, load: Any) -> None:
    rows = [
        {"response": "a", "label": 1, "split": "dev"},
        {"response": "b", "label": 0.25, "part": "test", "unit_labels": []},
        {"response": "c", "label": 0, "split": "dev"},
        {"response": "d", "label": 0},
    ]
    tasks = load("graded", write("mine.jsonl", rows)).tasks
    assert {k: known(t) for k, t in tasks.items()} == {
        "dev": [1, 0],
        "test": [0],
        "test/graded": [0.25],
        "test/spans": [0],
        "all": [0],
    }


def test_groups(write: Any, load: Any) -> None:
    messages = [{"role": "user", "content": "hi"}]
    rows = [
        {"response": "a", "label": 1, "group": "5", "prompt": "p"},
        {"response": "b", "label": 1, "group": 5, "prompt": "q"},
        {"response": "c", "label": 1, "prompt": "5"},
        {"response": "d", "label": 1, "prompt": messages},
        {"response": "e", "label": 1, "prompt": messages},
        {"response": "f", "label": 1},
        {"response": "g", "label": 1, "group": None},
        {"response": "h", "label": 1, "group": '"5"'},
    ]
    a, b, c, d, e, f, g, h = (i.group for i in load("graded", write("m.jsonl", rows)).items)
    assert a == b and d == e
    assert len({a, c, d, f, g, h}) == 6


def test_rows_of_two_files_do_not_depend_on_each_other(write: Any, load: Any) -> None:
    write("in/a.jsonl", [{"response": "a", "label": 1}])
    path = write("in/b.jsonl", [{"response": "b", "label": 0}])
    write("in/prompts.jsonl", [{"prompt": "no answer"}])
    write("in/plain.jsonl", [{"response": "no label"}])
    loaded = load("graded", path.parent)
    assert [i.record.response for i in loaded.items] == ["a", "b"]
    assert len({i.group for i in loaded.items}) == 2


def test_annotators(write: Any, load: Any) -> None:
    rows = [
        {"response": "a", "annotators": {"ann": 1, "bob": 0, "cy": None}},
        {"response": "b", "annotators": [1, None, True]},
        {"response": "c", "annotators": {"ann": 0}, "label": 1},
        {"response": "d", "annotators": {}},
    ]
    items = load("graded", write("m.jsonl", rows)).items
    assert [i.annotators for i in items] == [
        {"ann": 1.0, "bob": 0.0},
        {"1": 1.0, "3": 1.0},
        {"ann": 0.0},
        {},
    ]
    assert [i.record.label for i in items] == [0.5, 1.0, 1.0, None]
    words = load("graded", write("w.jsonl", [{"response": "a", "annotators": {"x": "wrong"}}]))
    assert words.items[0].annotators == {"x": 1.0}
    cells = [{"response": "a", "annotators": '{"ann": 1}'}, {"response": "b", "annotators": ""}]
    loaded = load("graded", write("m.csv", cells))
    assert [i.annotators for i in loaded.items] == [{"ann": 1.0}, {}]


@pytest.mark.parametrize(
    ("change", "field", "said"),
    [
        ({"label": "hallucinated"}, "label", "0 (right) to 1 (hallucinated)"),
        ({"label": "maybe"}, "label", "good/bad, got 'maybe'"),
        ({"label": 2}, "label", "got 2"),
        ({"label": -0.1}, "label", "0 (right)"),
        ({"label": [1]}, "label", "0 (right)"),
        ({"label": 0, "unit_labels": [{"start": 0, "end": 1, "label": 3}]}, "unit_labels", "got 3"),
        ({"label": 0, "unit_labels": [{"start": 0, "end": 99, "label": 1}]}, "unit_labels", "out"),
        ({"annotators": {"ann": 4}}, "annotators.ann", "good/bad, got 4"),
        ({"annotators": [0, "maybe"]}, "annotators.2", "got 'maybe'"),
        ({"annotators": 3}, "annotators", "an object or a list"),
        ({"annotators": "{bad"}, "annotators", "not JSON"),
        ({"label": 0, "group": [1]}, "group", "text or a number"),
        ({"label": 0, "split": {"a": 1}}, "split", "text or a number"),
    ],
)
def test_a_bad_row_is_named(
    change: dict[str, Any], field: str, said: str, write: Any, load: Any
) -> None:
    good = {"response": "a", "label": 1, "split": "dev"}
    path = write("m.jsonl", [good, {"response": "b", **change}, good])
    loaded = load("graded", path)
    assert len(loaded.items) == 2
    (bad,) = loaded.bad
    assert bad.part == "dev"  # its neighbours'
    assert bad.error.row == 1 and bad.error.file == str(path)
    assert (bad.error.field or "").startswith(field) and said in bad.error.error


def test_leading_bad_rows_go_to_the_first_part(write: Any, load: Any) -> None:
    rows = [{"label": 1}, {"response": "a", "label": 1, "split": "test"}]
    loaded = load("graded", write("m.jsonl", rows))
    assert [b.part for b in loaded.bad] == ["test"]


def test_wrong_words_everywhere(write: Any, load: Any) -> None:
    rows = [{"response": "a", "label": "faithful"}, {"response": "b", "label": "hallucinated"}]
    path = write("m.jsonl", rows)
    for place in (path, path.parent):
        with pytest.raises(UsageError) as e:
            load("graded", place)
        told = str(e.value)
        assert "row 0: field 'label'" in told and "0 (right) to 1 (hallucinated)" in told
        assert "readers (" in told and "wikibio, halueval, ragtruth" in told


def test_no_labels(write: Any, load: Any) -> None:
    path = write("m.jsonl", [{"response": "a", "verdict": "good", "reward": 1}])
    with pytest.raises(UsageError, match=r"no row has a label or unit_labels.*verdict, reward"):
        load("graded", path)
    with pytest.raises(UsageError, match="no file in the folder"):
        load("graded", path.parent)


def test_the_example(load: Any) -> None:
    """Counts of examples/README.md: 34 and 29 of 63, 28 labels of 0 and 20 of 1."""
    path = ROOT / "examples" / "answers.jsonl"
    loaded = load("graded", path)
    assert known(loaded.tasks["all"]).count(1) == 29 and len(loaded.items) == 63
    grades = known(loaded.tasks["graded"])
    assert grades.count(0) == 28 and grades.count(1) == 20
    folder = load("graded", path.parent)
    assert [i.record.response for i in folder.items] == [i.record.response for i in loaded.items]
    with path.open(encoding="utf-8", newline="\n") as f:
        raw = [json.loads(line) for line in f]
    assert [i.record.label for i in loaded.items] == [r["label"] for r in raw]
