"""Labelled answers of the default's fit that are put together from statements on a document."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest
from training_scripts import training_script


@pytest.fixture
def module() -> Iterator[ModuleType]:
    with training_script("default_data") as found:
        yield found


def _row(group: str, label: str, statement: str, kind: str = "written") -> str:
    row = {"document": f"About {group}.", "statement": statement, "label": label}
    return json.dumps(row | {"kind": kind, "group": group})


@pytest.fixture
def held_out(tmp_path: Path) -> Path:
    rows = [
        _row(group, label, f"{group} {label} {i}.", kind)
        for group in "abcdef"
        for kind in ("written", "written_long")
        for label in ("supported", "contradicted", "not_stated")
        for i in range(2)
    ]
    rows += [_row("a", "supported", "Not of this kind.", "records")]
    decoy = json.loads(_row("b", "supported", "b supported more."))
    rows += [json.dumps(decoy | {"document": "Another one. About b."})]
    path = tmp_path / "dev.jsonl"
    path.write_text("\n".join(rows) + "\n", encoding="utf-8")
    return path


def test_pairs_differ_by_one_statement_that_is_wrong(module: ModuleType, held_out: Path) -> None:
    items = module.written(held_out, 24)
    assert [label for _, label, _ in items] == [0.0, 1.0] * 12
    for right, wrong in zip(items[::2], items[1::2], strict=True):
        group = right[2]
        assert wrong[2] == group
        assert right[0]["contexts"] == wrong[0]["contexts"] == f"About {group}."
        said = [answer["response"].split(". ") for answer, _, _ in (right, wrong)]
        differ = [(a, b) for a, b in zip(*said, strict=True) if a != b]
        assert len(differ) == 1
        assert all("supported" in text for text in said[0])
        assert "supported" not in differ[0][1]
        assert "records" not in right[0]["response"]


def test_answers_have_one_to_three_statements_and_documents_count_alike(
    module: ModuleType, held_out: Path
) -> None:
    items = module.written(held_out, 24)
    lengths = [answer["response"].count(".") for answer, _, _ in items]
    assert {n: lengths.count(n) for n in sorted(set(lengths))} == {1: 8, 2: 8, 3: 8}
    groups = [group for _, _, group in items]
    assert {groups.count(group) for group in "abcdef"} == {4}
    assert items == module.written(held_out, 24)
    assert len(module.written(held_out, 7)) == 6
