"""What a user is told of a download, at a terminal and elsewhere."""

from __future__ import annotations

import pytest
from fake_weights import weights_of

from veridical.weights.watching import Shown, Watch

WEIGHTS = weights_of(b"a" * 3_000_000, b"b" * 1_000_000)


@pytest.fixture(autouse=True)
def plain(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("FORCE_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE", "NO_COLOR"):
        monkeypatch.delenv(name, raising=False)


def test_a_line_for_each_part_where_nobody_watches(capsys: pytest.CaptureFixture[str]) -> None:
    with Shown(WEIGHTS) as watch:
        for size, done in ((0, 0), (1_000_000, 0), (3_000_000, 1), (3_500_000, 1), (4_000_000, 2)):
            watch.at(size, done)
        watch.say("not from [a] hub")
    told = capsys.readouterr()
    assert told.out == ""
    assert told.err.splitlines() == [
        "tiny: 1 of 2 parts, 3 of 4 MB",
        "tiny: 2 of 2 parts, 4 of 4 MB",
        "not from [a] hub",
    ]


def test_a_part_that_was_damaged_is_told_again(capsys: pytest.CaptureFixture[str]) -> None:
    with Shown(WEIGHTS) as watch:
        for size, done in ((3_000_000, 1), (0, 0), (3_000_000, 1)):
            watch.at(size, done)
    assert capsys.readouterr().err.count("1 of 2 parts") == 2


def test_a_bar_at_a_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "100")
    with Shown(WEIGHTS) as watch:
        watch.at(3_000_000, 1)
        watch.say("not from [a] hub")
    told = capsys.readouterr().err
    assert "tiny, part 2 of 2" in told and "3.0/4.0 MB" in told and "not from [a] hub" in told


def test_somebody_who_does_not_watch_is_told_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    watch = Watch()
    watch.at(1, 1)
    watch.say("something")
    assert capsys.readouterr() == ("", "")
