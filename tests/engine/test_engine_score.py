"""Records in memory, scored by a warm engine without a run directory."""

from __future__ import annotations

import json

import pytest

from veridical import Engine, check
from veridical.core.records import Record
from veridical.core.registry import REGISTRY
from veridical.engine.run import Task
from veridical.errors import RowError, UsageError

RECORDS = [
    Record(response="Paris.", samples=["Paris.", "Lyon."], row=0),
    Record(response="Rome is old.", samples=["Rome is old."], row=1),
]
TASK = Task(REGISTRY.parse("exact_match"))


def test_each_record_is_handed_over_with_the_line_of_a_run() -> None:
    found: dict[int, bytes] = {}
    with Engine(store=None, processes=0) as engine:
        scoring = engine.score(RECORDS, TASK, lambda r, line: found.update({r.row: line}))
        engine.submit(scoring).result()
        one = engine.submit(engine.score_one(RECORDS[1], TASK)).result()
        lines = [json.loads(line) for line in check(RECORDS, "exact_match", engine=engine).lines()]
    assert [json.loads(found[row]) for row in (0, 1)] == lines
    assert json.loads(one) == lines[1]
    assert lines[0]["scores"]["exact_match"]["raw"] == 0.5  # one of two samples agrees


class Broken:
    """An input whose only row is none."""

    read = 1

    def rows(self, start: int = 0):
        return iter([RowError(row=0, file="x", line=None, field="response", error="is missing")])

    def fraction(self) -> float | None:
        return None


def test_a_row_that_is_no_record_stops_it() -> None:
    with Engine(store=None, processes=0) as engine:
        scoring = engine.score(Broken(), TASK, lambda *_: None)
        with pytest.raises(UsageError, match="is missing"):
            engine.submit(scoring).result()
