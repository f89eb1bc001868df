"""``check`` on prompts: sampled and scored in one stream, resumed, and read again."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from sampling_chat import prompts

from veridical.api import Job, reopen
from veridical.core.messages import ChatRequest, LlmError, Reply
from veridical.core.records import Record
from veridical.errors import StrictError, UsageError
from veridical.files.rundir import RunFiles
from veridical.io import open_source
from veridical.llm.fake import FakeLlm
from veridical.sampling.sampling import Sampling
from veridical.sampling.stream import Prompts, SampledSource

SCORERS = "exact_match, rouge_l(against=samples)"


def write(path: Path, rows: Sequence[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(r) + "\n" for r in rows))
    return path


def answer(request: ChatRequest) -> Any:
    text = request.messages[-1]["content"]
    number = int(text.split()[1])
    if number % 7 == 3 and request.ordinal == 1:
        return LlmError("malformed", "no JSON")
    return "the same words" if number % 2 else f"words number {request.ordinal}"


def job(path: Path, out: Path, llm: Any, **options: Any) -> Job:
    return Job(str(path), SCORERS, out=out, llm=llm, processes=0, **options)


class Waits(FakeLlm):
    """Keeps the last prompt's answer back until the first prompt's result is written."""

    def __init__(self, last: int, results: Path) -> None:
        super().__init__(lambda r: "an answer")
        self.last, self.results = f"question {last}", results
        self.saw_results = False

    async def chat(
        self, request: ChatRequest, ordinals: Sequence[int] = (0,)
    ) -> list[Reply | LlmError]:
        if request.messages[-1]["content"] == self.last:
            for _ in range(6000):
                if self.results.exists() and self.results.stat().st_size:
                    self.saw_results = True
                    break
                await asyncio.sleep(0.01)
        return await super().chat(request, ordinals)


def test_scoring_starts_while_sampling_goes_on(tmp_path: Path) -> None:
    path = write(tmp_path / "p.jsonl", prompts(10))
    llm = Waits(9, tmp_path / "run" / "results.jsonl")
    results = job(path, tmp_path / "run", llm, sampling=Sampling(n=2)).wait()
    assert llm.saw_results and [r.row for r in results] == list(range(10))


def test_failures_are_row_errors_and_nothing_moves(tmp_path: Path) -> None:
    rows: list[dict[str, Any]] = prompts(20)
    rows[5] = {"id": "own", "prompt": "question 5", "response": "mine", "samples": ["mine"]}
    rows[6] = {"id": "bad", "prompt": " "}
    path = write(tmp_path / "p.jsonl", rows)
    llm = FakeLlm(answer)
    results = job(path, tmp_path / "run", llm, samples=3).wait()
    by_row = {r.row: r for r in results}
    assert sorted(by_row) == [i for i in range(20) if i not in (3, 6, 10, 17)]
    for i, r in by_row.items():
        assert r.id == ("own" if i == 5 else f"p{i}")
        assert r.scores["exact_match"].raw == (1.0 if i % 2 else pytest.approx(1 / 3))
    errors = {e.row: e for e in results.errors()}
    assert sorted(errors) == [3, 6, 10, 17]
    assert "no answer: no JSON" in errors[3].error and "blank" in errors[6].error
    assert results.summary().scorers["exact_match"].coverage == pytest.approx(16 / 20)
    calls = sum(llm.asked.values())

    again = job(path, tmp_path / "run", FakeLlm(answer), samples=3)
    assert [r.row for r in again.wait()] == sorted(by_row)
    assert again.progress.resumed == 16 and sum(llm.asked.values()) == calls

    asked = Prompts(open_source(path, prompts=True), Sampling(), "")
    kept = SampledSource(asked, tmp_path / "run", key=RunFiles(tmp_path / "run").key)
    texts = {r.row: r.response for r in kept.rows() if isinstance(r, Record)}
    assert sorted(texts) == sorted(by_row) and texts[5] == "mine"
    assert texts[1] == "the same words" and texts[2] == "words number 0"
    assert reopen(tmp_path / "run").report(tmp_path / "r.html").exists()


def mixed(folder: Path) -> Path:
    """Prompts, of which ``answer`` fails 3, 10 and 17, an answered record and a bad row."""
    rows: list[dict[str, Any]] = prompts(20)
    rows[5] = {"id": "own", "prompt": "question 5", "response": "mine", "samples": ["mine"]}
    rows[6] = {"id": "bad", "prompt": " "}
    return write(folder / "p.jsonl", rows)


def healthy(request: ChatRequest) -> Any:
    said = answer(request)
    number = int(request.messages[-1]["content"].split()[1])
    return said if isinstance(said, str) else f"late {number}"


def same(one: Any, two: Any) -> bool:
    """Whether two runs tell the same, ledgers and how often they were resumed aside."""
    told = [r.summary().as_dict() | {"llm": None, "resumed": 0} for r in (one, two)]
    lines = [list(r.lines()) for r in (one, two)]
    return bool(lines[0] == lines[1] and told[0] == told[1] and [*one.errors()] == [*two.errors()])


def test_retried_prompts_give_what_a_run_without_failures_gives(tmp_path: Path) -> None:
    path = mixed(tmp_path)
    job(path, tmp_path / "run", FakeLlm(answer), samples=3).wait()
    llm = FakeLlm(healthy)
    retried = job(path, tmp_path / "run", llm, samples=3, retry_failed=True)
    results = retried.wait()
    assert retried.progress.resumed == 16 and retried.progress.records == 3
    assert sum(llm.asked.values()) == 3, "the other replies are in the journal"
    whole = job(path, tmp_path / "whole", FakeLlm(healthy), samples=3).wait()
    assert [r.row for r in results] == [i for i in range(20) if i != 6]
    assert [e.row for e in results.errors()] == [6] and same(results, whole)
    assert results.summary().scorers["exact_match"].coverage == pytest.approx(19 / 20)

    shown = reopen(tmp_path / "run")
    texts = {r.row: r.sample_texts for r in shown._source.rows() if isinstance(r, Record)}
    assert sorted(texts) == [i for i in range(20) if i != 6]
    assert texts[3] == ["the same words", "late 3", "the same words"] and texts[5] == ["mine"]
    assert [record.row for record, _ in shown.pairs()] == sorted(texts)
    again = job(path, tmp_path / "run", FakeLlm(answer), samples=3, retry_failed=True)
    assert same(again.wait(), whole) and again.progress.records == 0


def test_what_fails_again_stays_an_error_until_it_does_not(tmp_path: Path) -> None:
    path = mixed(tmp_path)
    whole = job(path, tmp_path / "whole", FakeLlm(healthy), samples=3).wait()
    job(path, tmp_path / "run", FakeLlm(answer), samples=3).wait()
    for failing in ({10, 17}, {3, 17}, {17}, set[int]()):

        def script(request: ChatRequest, failing: set[int] = failing) -> Any:
            number = int(request.messages[-1]["content"].split()[1])
            return answer(request) if number in failing else healthy(request)

        run = {"samples": 3, "retry_failed": True}
        results = job(path, tmp_path / "run", FakeLlm(script), **run).wait()
        left = failing - {3}  # which was answered at the first retry
        assert {e.row for e in results.errors()} == {6} | left
        assert {r.row for r in results} == set(range(20)) - {6} - left
        counts = results.summary()
        assert counts.row_errors == 1 + len(left) and counts.records == 19 - len(left)
        plain = job(path, tmp_path / "run", FakeLlm(answer), samples=3).wait()
        assert same(plain, results), "a later run asks nothing and changes nothing"
    assert same(results, whole)


def test_a_retry_that_is_stopped_loses_nothing(tmp_path: Path) -> None:
    path = mixed(tmp_path)
    whole = job(path, tmp_path / "whole", FakeLlm(healthy), samples=3).wait()
    job(path, tmp_path / "run", FakeLlm(answer), samples=3).wait()

    def stops(request: ChatRequest) -> Any:
        number = int(request.messages[-1]["content"].split()[1])
        return LlmError("budget", "over the budget") if number > 3 else healthy(request)

    with pytest.raises(LlmError, match="over the budget"):
        job(path, tmp_path / "run", FakeLlm(stops), samples=3, retry_failed=True).wait()
    llm = FakeLlm(healthy)
    plain = job(path, tmp_path / "run", llm, samples=3).wait()
    assert {e.row for e in plain.errors()} == {6, 10, 17} and not llm.asked
    results = job(path, tmp_path / "run", llm, samples=3, retry_failed=True).wait()
    assert same(results, whole) and sum(llm.asked.values()) == 2


def test_strict_stops_at_a_failed_prompt_unless_it_is_asked_again(tmp_path: Path) -> None:
    path = write(tmp_path / "p.jsonl", prompts(5))
    held = []  # as a notebook holds on to the latest error
    for _ in range(2):
        with pytest.raises(StrictError, match="no JSON") as caught:
            job(path, tmp_path / "run", FakeLlm(answer), samples=3, strict=True).wait()
        held.append(caught.value)
    options: dict[str, Any] = {"samples": 3, "strict": True, "retry_failed": True}
    results = job(path, tmp_path / "run", FakeLlm(healthy), **options).wait()
    assert [r.row for r in results] == list(range(5))


def test_a_way_of_sampling_needs_an_llm_and_something_to_answer(tmp_path: Path) -> None:
    answered = [{"prompt": "question 1", "response": "mine"}]
    with pytest.raises(UsageError, match="llm=NAME"):
        Job(answered, SCORERS, sampling=Sampling(n=2), processes=0)
    with pytest.raises(UsageError, match="every record has a response"):
        Job(answered, SCORERS, sampling=Sampling(n=2), llm=FakeLlm(), processes=0)
    late = answered * 100 + prompts(1)
    with pytest.raises(UsageError, match="every record has a response"):
        Job(late, SCORERS, sampling=Sampling(n=2), llm=FakeLlm(), limit=100, processes=0)
    results = Job(late, SCORERS, sampling=Sampling(n=2), llm=FakeLlm("x"), processes=0).wait()
    assert len(results) == 101
    bad = Job([{"prompt": ""}], SCORERS, sampling=Sampling(n=2), llm=FakeLlm(), processes=0)
    assert [e.row for e in bad.wait().errors()] == [0], "told as the bad row that it is"


def test_a_limit_is_not_asked_beyond(tmp_path: Path) -> None:
    path = write(tmp_path / "p.jsonl", prompts(50))
    llm = FakeLlm(lambda r: "an answer")
    results = job(path, tmp_path / "run", llm, samples=2, limit=4).wait()
    assert len(list(results)) == 4 and sum(llm.asked.values()) == 4 * 3


def test_the_budget_stops_the_run_and_it_goes_on(tmp_path: Path) -> None:
    path = write(tmp_path / "p.jsonl", prompts(6))

    def poor(request: ChatRequest) -> Any:
        number = int(request.messages[-1]["content"].split()[1])
        return LlmError("budget", "over the budget") if number > 2 else "an answer"

    with pytest.raises(LlmError, match="over the budget"):
        job(path, tmp_path / "run", FakeLlm(poor), samples=2).wait()
    results = job(path, tmp_path / "run", FakeLlm(lambda r: "an answer"), samples=2).wait()
    assert [r.row for r in results] == list(range(6)) and not list(results.errors())


def test_what_it_needs(tmp_path: Path) -> None:
    source = SampledSource(
        Prompts(open_source(prompts(2), prompts=True), Sampling(), "m"), tmp_path
    )
    assert list(source.rows()) == [], "without a model it gives what is there"
    once = open_source(iter(prompts(2)), prompts=True)
    with pytest.raises(UsageError, match="spool"):
        Prompts(once, Sampling(), "m")


def test_other_parameters_are_another_source() -> None:
    def made(**settings: Any) -> str:
        return Prompts(
            open_source(prompts(2), prompts=True), Sampling(**settings), "m"
        ).fingerprint()

    assert made() == made() != made(n=3)
