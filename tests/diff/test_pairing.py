"""Which answers are paired, by what, and when that is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from result_lines import line, write_lines

from veridical.diff import Diff, diff
from veridical.errors import UsageError


def compare(folder: Path, a: list[Any], b: list[Any], **options: Any) -> Diff:
    return diff(write_lines(folder / "a", a), write_lines(folder / "b", b), **options)


def test_ids_pair_in_any_order(tmp_path: Path) -> None:
    a = [line(i, id=f"q{i}") for i in range(6)]
    b = [line(5 - i, "contradicted" if i == 0 else "supported", id=f"q{i}") for i in range(6)]
    made = compare(tmp_path, a, b[::-1])
    assert (made.paired_by, made.n_pairs) == ("id", 6)
    assert [f.id for f in made.flips] == ["q0"]
    assert (made.flips[0].a.row, made.flips[0].b.row) == (0, 5)


def test_numbers_and_texts_are_the_same_id(tmp_path: Path) -> None:
    assert compare(tmp_path, [line(0, id=7)], [line(3, id="7")]).n_pairs == 1


def test_those_without_another_are_told_of(tmp_path: Path) -> None:
    a, b = [line(i, id=f"q{i}") for i in range(5)], [line(i, id=f"q{i}") for i in range(2, 6)]
    made = compare(tmp_path, a, b)
    assert (made.n_pairs, made.n_only_a, made.n_only_b) == (3, 2, 1)
    assert any("left out: 2" in note for note in made.notes)


def test_ids_that_repeat_pair_by_row_where_rows_agree(tmp_path: Path) -> None:
    a = [line(i, id="same") for i in range(4)]
    made = compare(tmp_path, a, a)
    assert (made.paired_by, made.n_pairs) == ("row", 4)
    assert "ids repeat" in made.notes[0]


def test_ids_that_repeat_and_move_are_refused(tmp_path: Path) -> None:
    a = [line(i, id=x) for i, x in enumerate("aab")]
    b = [line(i, id=x) for i, x in enumerate("aba")]
    with pytest.raises(UsageError, match=r"ids repeat, such as 'a'.*pair_by=row"):
        compare(tmp_path, a, b)
    with pytest.raises(UsageError, match=r"'a' occurs twice"):
        compare(tmp_path, a, b, pair_by="id")
    made = compare(tmp_path, a, b, pair_by="row")
    assert made.n_pairs == 3 and "2 of 3 pairs have different ids" in made.notes[0]


def test_nothing_in_common(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no id in common"):
        compare(tmp_path, [line(0, id="x")], [line(0, id="y")])


def test_files_have_no_prompts(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"no prompt to pair by.*pair_by=id"):
        compare(tmp_path, [line(0)], [line(0)], pair_by="prompt")


def test_rows_that_repeat(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot be paired by row"):
        compare(tmp_path, [line(0), line(0)], [line(0)], pair_by="row")
