"""Pairs of a comparison page by page: those of ``diff``, in its order."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from veridical.diff import diff
from veridical.diff.paging import SideBySide
from veridical.diff.reading import Side


def line(row: int, verdict: str, risk: float | None) -> dict[str, Any]:
    status = "scored" if risk is not None else "failed"
    score = {"risk": risk, "raw": risk, "status": status, "signature": "s|v1"}
    score |= {"reason": None if risk is not None else "it failed", "units": []}
    told = {"id": f"q{row}", "row": row, "risk": risk, "by": "s", "decision": None}
    return {**told, "verdict": verdict, "reason": None, "scores": {"s": score}}


def results(path: Path, *lines: tuple[str, float | None]) -> Path:
    given = [line(i, *one) for i, one in enumerate(lines)]
    path.write_text("".join(json.dumps(one) + "\n" for one in given), "utf-8")
    return path


def test_pages_are_the_pairs_of_diff(tmp_path: Path) -> None:
    good, bad, none = ("supported", 0.1), ("contradicted", 0.9), ("unchecked", None)
    first = results(tmp_path / "a.jsonl", good, good, bad, bad, ("supported", 0.2), good)
    second = results(
        tmp_path / "b.jsonl", good, bad, good, ("unsupported", 0.95), ("supported", 0.3), none
    )
    told = diff(first, second, allow_different=True)
    both = SideBySide(Side(first), Side(second))
    changed = both.page(0, 50)
    assert [p.id for p in changed.pairs] == [flip.id for flip in told.flips]
    assert [p.direction for p in changed.pairs] == [flip.direction for flip in told.flips]
    assert [(p.a, p.b) for p in changed.pairs] == [(flip.a, flip.b) for flip in told.flips]
    assert (changed.total, both.diff.n_flips) == (4, told.n_flips)
    assert [p.id for p in both.page(0, 50, "worse").pairs] == ["q1"]
    assert [p.id for p in both.page(0, 50, "better").pairs] == ["q2"]
    assert [p.id for p in both.page(0, 50, "other").pairs] == ["q3", "q5"]
    moved = both.page(0, 50, "risk").pairs
    assert [p.id for p in moved] == ["q1", "q4", "q3", "q5", "q2"]  # by the rise
    assert moved[0].scores == [("s", 0.1, 0.9)] and moved[3].scores == []
    assert both.page(0, 50, "all").pairs[0].scores == []


def test_a_page_that_is_not_there_is_the_last_one(tmp_path: Path) -> None:
    lines = [("supported", 0.1)] * 7
    sides = Side(results(tmp_path / "a.jsonl", *lines)), Side(results(tmp_path / "b.jsonl", *lines))
    both = SideBySide(*sides)
    last = both.page(9, 3, "all")
    assert (last.number, last.pages, last.total) == (2, 3, 7)
    assert [p.id for p in last.pairs] == ["q6"]
    empty = both.page(4, 3)
    assert (empty.number, empty.pages, empty.total, empty.pairs) == (0, 1, 0, [])
