"""Code with what became of its tests, in one's own file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import veridical

BODIES = ["    return a + b\n", "    # a sum\n    return (a + b)", "    return a - b", " "]


def humaneval(passed: list[Any]) -> list[dict[str, Any]]:
    return [
        {"task_id": "T/0", "completion": body, "passed": p, "result": "..."}
        for body, p in zip(BODIES, passed, strict=True)
    ]


def test_results_as_humaneval_writes_them(load: Any, write: Any) -> None:
    loaded = load("code", write("samples.jsonl_results.jsonl", humaneval([True, 1, 0.25, False])))
    assert [i.record.response for i in loaded.items] == BODIES
    assert [i.record.label for i in loaded.items] == [0, 0, 0.75, 1]
    assert len({i.group for i in loaded.items}) == 1
    others = [i.record.sample_texts for i in loaded.items]
    assert others[0] == [BODIES[1], BODIES[2]]  # not the blank one, nor itself
    assert others[3] == BODIES[:3]
    (task,) = loaded.tasks.values()
    assert task.truth.tolist() == [0, 0, 1, 1] and "fails its tests" in task.positive


def test_samples_parts_and_labels_of_the_file(load: Any, write: Any) -> None:
    rows = [
        {"prompt": "p", "response": "a", "samples": ["b"], "label": 1, "language": "java"},
        {"prompt": "p", "response": "c", "samples": ["d"], "label": 0, "language": "sql"},
        {"response": "e", "samples": ["f"], "passed": "False", "language": "sql"},
    ]
    loaded = load(
        "code",
        write(
            "mine.csv",
            [
                {**r, "samples": json.dumps(r["samples"])}
                for r in ({"prompt": "", "passed": "", "label": "", **row} for row in rows)
            ],
        ),
    )
    assert [i.record.sample_texts for i in loaded.items] == [["b"], ["d"], ["f"]]
    assert [i.part for i in loaded.items] == ["java", "sql", "sql"]
    assert [i.record.label for i in loaded.items] == [1, 0, 1]
    assert set(loaded.tasks) == {"java", "sql"}


@pytest.mark.parametrize("passed", ["maybe", 2, -0.5, [True], None])
def test_a_row_without_an_outcome_is_named(load: Any, write: Any, passed: Any) -> None:
    loaded = load("code", write("a.jsonl", humaneval([True, passed, False, False])))
    (bad,) = loaded.bad
    assert (bad.error.row, bad.error.field) == (1, "passed")
    assert len(loaded.items) == 3


def test_bench_tells_right_code_from_wrong(write: Any, tmp_path: Path) -> None:
    rows = [
        {"task_id": f"T/{n}", "completion": body.replace("a", "abcdefgh"[n]), "passed": n_body < 2}
        for n in range(8)
        for n_body, body in enumerate(BODIES[:3])
    ]
    data = write("results.jsonl", rows)
    bench = veridical.bench(
        "code",
        data=data,
        scorers="functional_equivalence, exact_match",
        out=tmp_path / "run",
        bootstrap=0,
    )
    found = {r.scorer: r.value for r in bench.rows if r.metric == "average_precision"}
    assert found["functional_equivalence"] == 1
    assert found["exact_match"] == pytest.approx(1 / 3)  # no two are equal as text
