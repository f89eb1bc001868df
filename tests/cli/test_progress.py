from __future__ import annotations

import asyncio
import contextlib
import io
import re
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from rich.console import Console

from veridical import Evidence, Record, Score
from veridical.api import Job
from veridical.cli import progress
from veridical.core.registry import REGISTRY, scorer
from veridical.run import display


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


def test_a_terminal_gets_one_line(slow: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(display, "TICK", 0.05)
    text = watched(slow, True)
    assert re.search(r"scoring \d+ %, \d+ of 30 records, 1 bad rows", text)


def test_elsewhere_plain_lines(slow: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(display, "TICK", 0.05)
    monkeypatch.setattr(display, "LINE_EVERY", 0.1)
    text = watched(slow, False)
    assert "\x1b" not in text
    lines = re.findall(r"^scoring (\d+) %, (\d+) of 30 records", text, re.MULTILINE)
    assert len(lines) >= 2
    for percent, records in lines:  # all is read at once, and counts when it is through
        assert abs(int(percent) - 100 * int(records) / 30) <= 6
    shares = [int(percent) for percent, _ in lines]
    assert shares == sorted(shares)


def test_work_of_models_counts_before_records_are_finished(monkeypatch: pytest.MonkeyPatch) -> None:
    """Real embeddings and NLI: the share rises while records are under way, and is never full."""
    words = ["river", "town", "mayor", "bridge", "market", "school", "temple", "museum"]
    texts = [" ".join(words[i % 8 :] + words[: i % 8]) + f" {i}." for i in range(160)]
    data = [
        {"response": f"{texts[i]} {texts[i + 1]}", "contexts": [texts[i + 2], texts[i + 3]]}
        for i in range(0, 160, 4)
    ]
    job = Job(data, "nli_grounding, cosine(against=contexts)", processes=0)
    seen = []
    while not job.future.done():
        seen.append((job.progress.records, job.progress.done))
        with contextlib.suppress(TimeoutError):
            job.wait(0.005)
    job.wait()
    assert job.progress.total == 40 and job.progress.done == 1
    assert any(done for records, done in seen if not records), "nothing told before the end"


def test_a_limit_and_a_resumed_run_are_known_from_the_start(tmp_path: Path) -> None:
    data = [{"response": str(i)} for i in range(50)]
    first = Job(data, "exact_match", out=tmp_path / "run", limit=20, processes=0)
    first.wait()
    assert first.progress.total == 20 and first.progress.done == 1
    again = Job(data, "exact_match", out=tmp_path / "run", limit=20, processes=0)
    again.wait()
    assert (again.progress.resumed, again.progress.rows, again.progress.done) == (20, 20, 1)


def test_loading_is_said_on_a_terminal() -> None:
    out = io.StringIO()
    with progress.loading(Console(file=out, force_terminal=True, width=80)):
        pass
    assert "loading models" in out.getvalue()


def test_how_far_a_run_is_read_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    results = Job([{"response": "a"}], "exact_match").wait()
    shares = iter((0.25, 0.5))
    told = threading.Event()

    def fraction() -> float | None:
        share = next(shares, None)
        if share is None:
            told.set()
        return share

    monkeypatch.setattr(results, "fraction", fraction)
    monkeypatch.setattr(display, "TICK", 0.01)
    monkeypatch.setattr(display, "LINE_EVERY", 0.0)
    out = io.StringIO()
    with progress.reading(results, Console(file=out)):
        assert told.wait(20)
    assert out.getvalue().splitlines() == ["reading the run 25 %", "reading the run 50 %"]


def test_ctrl_c_cancels_the_job(slow: str, monkeypatch: pytest.MonkeyPatch) -> None:
    job = Job([{"response": "a"}] * 500, slow)

    def interrupted(timeout: float | None = None) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(job, "wait", interrupted)
    with pytest.raises(KeyboardInterrupt):
        progress.watch(job, Console(file=io.StringIO()))
    assert job.future.cancelled()
