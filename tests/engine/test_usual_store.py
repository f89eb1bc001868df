"""The store is there unless it is declined, once a process, and never stands in the way."""

from __future__ import annotations

from pathlib import Path

import pytest

import veridical
from veridical import Engine, UsageError
from veridical.files.store import open_store
from veridical.notices import reset_warnings

ROWS = [{"response": "It is in Mali.", "samples": ["It is in Chad.", "It is in Mali."]}]


def test_python_has_the_store_of_the_command_line(usual_store: Path) -> None:
    from veridical.cli.options import STORE

    assert str(usual_store.relative_to(Path.cwd())) == STORE
    veridical.check(ROWS, "cosine")
    with Engine() as engine:
        assert engine.store is not None and len(engine.store) > 0
        veridical.check(ROWS, "cosine", engine=engine)
        assert all(work.batches == 0 for work in engine.work().values())


@pytest.mark.parametrize("none", [None, "none"])
def test_it_can_be_declined(usual_store: Path, none: str | None) -> None:
    veridical.check(ROWS, "cosine", store=none)
    assert not usual_store.exists()
    assert veridical.plan(ROWS, "cosine", store=none)["records"] == 1


def test_every_command_reads_none_as_no_store() -> None:
    from veridical.cli.options import store_of

    assert store_of("none") is None and store_of(Path("none")) is None
    assert store_of(Path("kept")) == Path("kept")


def test_a_plan_makes_none(usual_store: Path) -> None:
    veridical.plan(ROWS, "cosine")
    assert not usual_store.exists()


def test_where_it_cannot_be_made_the_run_goes_without_and_says_so_once(
    usual_store: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    usual_store.parent.write_text("a file in the place of the folder")
    reset_warnings()
    for _ in range(2):
        (result,) = veridical.check(ROWS, "cosine")
        assert result.risk is not None
    assert capsys.readouterr().err.count("cannot be used") == 1
    with pytest.raises(UsageError, match="cannot open store"):  # this one was asked for
        veridical.check(ROWS, "cosine", store=usual_store.parent / "own")


def test_a_store_is_opened_once_a_process(tmp_path: Path) -> None:
    with Engine(store=tmp_path / "s") as one, Engine(store=tmp_path / "." / "s") as two:
        assert one.store is two.store
        assert one.store is not None and one.store.writable
        one.close()
        assert two.store is not None and two.store.open
    again = open_store(tmp_path / "s")
    assert again is not two.store and again.writable and not two.store.open
    again.close()
