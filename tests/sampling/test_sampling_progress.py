"""How far sampling is: prompts of all, those of an earlier run among them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from veridical.api import Job
from veridical.engine.engine import Engine
from veridical.llm.fake import FakeLlm
from veridical.sampling.sampling import Answered, Failed, SamplingProgress


def test_prompts_of_an_earlier_run_are_done() -> None:
    p = SamplingProgress(before=10, total=40)
    assert p.done == 0.25
    p.count(Answered(10, b"{}", 3))
    p.count(Failed(11, None, "timeout", "late"))
    assert (p.finished, p.done) == (12, 0.3)
    assert SamplingProgress(fraction=0.5).done == 0.5 and SamplingProgress().done is None


def test_calls_that_are_waited_for_are_work(tmp_path: Path) -> None:
    """Answering prompts counts: the meter has the calls, and the total is the prompts'."""
    rows = [{"prompt": f"What is {i}?"} for i in range(6)]
    path = tmp_path / "prompts.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    with Engine(llm=FakeLlm("It is a number."), processes=0) as engine:
        job = Job(str(path), "exact_match", engine=engine, samples=2)
        assert len(job.wait()) == 6
        assert (job.progress.total, job.progress.done) == (6, 1)
        assert job.progress.meter is not None
        done, asked = job.progress.meter()
    assert done == asked == pytest.approx(18)
