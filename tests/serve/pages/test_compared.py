"""Comparisons that a page waits for: prepared aside, told how far they are, and equal to diff's."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest
from review_runs import make_run, rows

from veridical.diff import diff
from veridical.errors import UsageError
from veridical.serve.pages.compared import RunComparison
from veridical.serve.pages.open_run import OpenRun


@pytest.fixture
def both(tmp_path: Path) -> tuple[Path, Path]:
    """Two runs over the same questions, with other answers in two rows."""
    second = rows(12)
    for row in (3, 7):
        second[row]["response"] = "It is nowhere."
    return make_run(tmp_path, rows(12), "one"), make_run(tmp_path, second, "two")


def test_a_page_is_told_how_far_it_is_and_then_what_diff_says(both: tuple[Path, Path]) -> None:
    turn = threading.Lock()
    turn.acquire()  # another comparison is being made
    runs = [OpenRun(path) for path in both]
    made = RunComparison(runs[0], runs[1], turn)
    assert made.look() is None and made.share == 0 and made.holds()
    turn.release()
    found = made.wait()
    assert made.share == pytest.approx(0.9) and made.holds()
    told = diff(*both, allow_different=True)
    assert found.diff.endpoints == told.endpoints and found.diff.gate == told.gate
    assert (found.diff.a, found.diff.b, found.diff.notes) == (told.a, told.b, told.notes)
    moved = found.page(0, 50, "risk").pairs
    assert sorted(pair.b.row for pair in moved) == [3, 7]
    assert {pair.b.answer for pair in moved} == {"It is nowhere."}


def test_a_run_that_goes_on_is_compared_anew(both: tuple[Path, Path]) -> None:
    runs = [OpenRun(path) for path in both]
    made = RunComparison(runs[0], runs[1], threading.Lock())
    made.wait()
    with (both[1] / "results.jsonl").open("ab") as file:
        file.write(b"{}\n")  # a line that nobody sealed
    assert not made.holds()
    assert runs[1].read() is None  # what was read of it is older
    again = RunComparison(runs[0], runs[1], threading.Lock())
    assert again.wait().diff.endpoints == made.wait().diff.endpoints


def test_a_run_whose_input_is_gone_is_compared_by_its_results(both: tuple[Path, Path]) -> None:
    both[1].with_suffix(".jsonl").unlink()
    found = RunComparison(OpenRun(both[0]), OpenRun(both[1]), threading.Lock()).wait()
    assert any("only its results are read" in note for note in found.diff.notes)
    assert found.page(0, 50, "all").pairs[0].a.whole


def test_a_run_that_has_not_ended_is_not_compared(both: tuple[Path, Path]) -> None:
    lines = (both[1] / "results.jsonl").read_bytes().splitlines(keepends=True)
    (both[1] / "results.jsonl").write_bytes(b"".join(lines[:-1]))
    made = RunComparison(OpenRun(both[0]), OpenRun(both[1]), threading.Lock())
    with pytest.raises(UsageError, match="the run has not ended: 1 records have no result"):
        made.wait()
    assert not made.holds()  # it is tried again
