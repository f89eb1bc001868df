from __future__ import annotations

import asyncio
import io
import re
from collections.abc import Iterator

import pytest
from rich.console import Console

from veridical import Evidence, Record, Score
from veridical.api import Job
from veridical.cli import progress
from veridical.registry import REGISTRY, scorer


@pytest.fixture
def slow() -> Iterator[str]:
    async def sleepy(record: Record, evidence: Evidence) -> Score:
        """Takes its time."""
        await asyncio.sleep(0.02 * (record.row + 1))
        return Score.of(0.5)

    scorer("test_sleepy", level="response", source="test", cost="embed")(sleepy)
    yield "test_sleepy"
    REGISTRY._scorers.pop("test_sleepy")


def watched(slow: str, terminal: bool) -> str:
    out = io.StringIO()
    console = Console(file=out, force_terminal=terminal, width=100)
    data = [{"response": "a"}] * 30 + [{"prompt": "bad"}]
    results = progress.watch(Job(data, slow), console)
    assert len(results) == 30
    return out.getvalue()


def test_a_terminal_gets_a_bar_with_rate(slow: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "_TICK", 0.05)
    text = watched(slow, True)
    assert re.search(r"\d+ records, 1 bad rows, [\d.]+/s", text)


def test_elsewhere_plain_lines(slow: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "_TICK", 0.05)
    monkeypatch.setattr(progress, "_LINE_EVERY", 0.1)
    text = watched(slow, False)
    assert "\x1b" not in text
    lines = re.findall(r"^(\d+) %, (\d+) records", text, re.MULTILINE)
    assert len(lines) >= 2
    for percent, records in lines:  # all is read at once, and counts when it is through
        assert abs(int(percent) - 100 * (int(records) + 1) / 31) <= 4


def test_ctrl_c_cancels_the_job(slow: str, monkeypatch: pytest.MonkeyPatch) -> None:
    job = Job([{"response": "a"}] * 500, slow)

    def interrupted(timeout: float | None = None) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(job, "wait", interrupted)
    with pytest.raises(KeyboardInterrupt):
        progress.watch(job, Console(file=io.StringIO()))
    assert job.future.cancelled()
