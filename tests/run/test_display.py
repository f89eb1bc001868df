"""How far work is, as it is shown."""

from __future__ import annotations

import io
import re
import sys
from types import SimpleNamespace
from typing import Any

import pytest
from rich.console import Console

import veridical
from veridical.engine.progress import Progress
from veridical.llm.ledger import Ledger
from veridical.run import display
from veridical.run.display import Display, StageEstimate, details_of, display_for, time_left


def test_a_share_never_falls_and_is_not_full_before_the_end() -> None:
    estimate = StageEstimate(0)
    shares = []
    for second, share in enumerate([None, 0.0, 0.3, 0.2, None, 0.6, 1.0]):
        estimate.update(second, share)
        shares.append(estimate.share)
    assert shares == [None, 0.0, 0.3, 0.3, 0.3, 0.6, 0.99]


def test_time_left_is_told_after_enough_time_and_work() -> None:
    estimate = StageEstimate(0)
    estimate.update(100, 0.0)  # loading took its time
    estimate.update(104, 0.4)
    assert estimate.left is None, "too early"
    estimate.update(110, 0.5)
    assert estimate.left == pytest.approx(10)
    slow = StageEstimate(0)
    slow.update(0, 0.0)
    slow.update(600, 0.04)
    assert slow.left is None, "too little"


def test_time_left_is_of_what_this_run_does() -> None:
    estimate = StageEstimate(0)
    estimate.update(0, 0.9)  # by an earlier run
    estimate.update(10, 0.95)
    assert estimate.left == pytest.approx(10)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (3, "a few seconds left"),
        (52, "about 50 s left"),
        (120, "about 2 min left"),
        (8000, "about 2 h left"),
    ],
)
def test_spans_are_told_as_one_says_them(seconds: float, text: str) -> None:
    assert time_left(seconds) == text


def test_a_log_gets_few_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr(display.time, "monotonic", lambda: now[0])
    out = io.StringIO()
    with Display(Console(file=out, width=300)) as shown:
        for second in range(400):
            now[0] = float(second)
            shown.update("scoring", second / 400, [f"{second} of 400 records", "x" * 70])
    lines = out.getvalue().splitlines()
    assert 8 <= len(lines) <= 10 and max(map(len, lines)) <= 80
    assert lines[0] == "scoring 10 %, 40 of 400 records, about 6 min left"
    now[0], out = 0.0, io.StringIO()
    with Display(Console(file=out)) as shown:
        for second in range(200):
            now[0] = float(second)
            shown.update("scoring", None, ["5 records"])
    assert out.getvalue().splitlines() == 3 * ["scoring, 5 records"], "one a minute"


def test_a_terminal_gets_one_line_that_fits() -> None:
    out = io.StringIO()
    console = Console(file=out, force_terminal=True, width=60)
    with Display(console) as shown:
        shown.update("scoring", 0.4, ["26 of 64 records", "3 bad rows", "not enough room for it"])
    text = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", out.getvalue())
    assert "scoring 40 %, 26 of 64 records, 3 bad rows" in text and "room" not in text
    assert "…" not in text and max(map(len, re.split(r"[\r\n]", text))) <= 60


def test_a_notebook_gets_a_bar_that_is_escaped(monkeypatch: pytest.MonkeyPatch) -> None:
    bundles: list[Any] = []
    handle = SimpleNamespace(update=lambda bundle, raw: bundles.append(bundle))

    def show(bundle: Any, *, raw: bool, display_id: bool) -> Any:
        bundles.append(bundle)
        return handle

    module = SimpleNamespace(
        get_ipython=lambda: SimpleNamespace(kernel=object()),
        display=SimpleNamespace(display=show),
    )
    monkeypatch.setitem(sys.modules, "IPython", module)
    shown = display_for(None)
    assert shown is not None and display_for(False) is None
    with shown:
        shown.update("scoring <b>", 0.5, ["1 of 2 records"])
        shown.update("scoring <b>", None, ["2 of 2 records"])
    assert bundles[0]["text/plain"] == "scoring <b> 50 %, 1 of 2 records"
    assert "<b>" not in bundles[0]["text/html"] and 'value="0.500"' in bundles[0]["text/html"]
    assert "2 of 2" in bundles[1]["text/html"] and bundles[-1]["text/html"] == ""


def test_where_it_is_shown() -> None:
    terminal = io.StringIO()
    terminal.isatty = lambda: True  # type: ignore[method-assign]
    assert display_for(None, io.StringIO()) is None
    assert display_for(True, io.StringIO()) is not None
    assert display_for(None, terminal) is not None and display_for(False, terminal) is None


def test_check_shows_it_where_it_is_asked_to(capsys: pytest.CaptureFixture[str]) -> None:
    rows = [{"response": "a", "samples": ["a", "b"]}] * 3
    results = veridical.check(rows, "exact_match", progress=True)
    assert len(results) == 3 and capsys.readouterr().out == ""
    assert len(veridical.check(rows, "exact_match")) == 3
    assert capsys.readouterr().err == ""


async def test_acheck_shows_it_too(monkeypatch: pytest.MonkeyPatch) -> None:
    out = io.StringIO()
    monkeypatch.setattr(sys, "stderr", out)
    monkeypatch.setattr(display, "LINE_EVERY", 0.0)
    monkeypatch.setattr(display, "LINE_SHARE", -1.0)
    rows = [{"response": "a", "samples": ["a", "b"]}] * 3
    results = await veridical.acheck(rows, "exact_match", progress=True)
    assert len(results) == 3 and "records" in out.getvalue()


def test_details_tell_the_most_useful_first() -> None:
    ledger = Ledger(calls=1200, known_cost=0.5)
    p = Progress(records=5, row_errors=2, resumed=10, total=40, seen=17, ledger=ledger)
    assert details_of(p) == [
        *("15 of 38 records", "2 bad rows", "1,200 LLM calls", "cost 0.5000", "10 resumed"),
    ]
    assert details_of(Progress(records=1200)) == ["1,200 records"]
