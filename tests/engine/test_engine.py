"""Runs end to end through the engine, with the embedded model."""

from __future__ import annotations

import asyncio
import json
import random
import threading
from pathlib import Path
from typing import Any

import pytest
from fake_models import FakeEncoder

import veridical
import veridical.engine.run
from veridical import Evidence, Record, Score, UsageError
from veridical.core.registry import REGISTRY, scorer
from veridical.engine.engine import Engine
from veridical.errors import NotApplicable, StrictError

PLACES = ["Mali", "Niger", "Chad", "Ghana", "Benin", "Togo"]


def rows(n: int, samples: int = 4) -> list[dict[str, Any]]:
    rng = random.Random(5)

    def answer() -> str:
        place, year = rng.choice(PLACES), rng.randint(1900, 1930)
        return f"It is in {place}. The town was founded in {year} by the river."

    return [
        {
            "id": f"q{i}",
            "prompt": f"Where is town {i}?",
            "response": answer(),
            "samples": [answer() for _ in range(rng.randint(1, samples))],
            **({"contexts": [answer()]} if i % 3 == 0 else {}),
        }
        for i in range(n)
    ]


def close(one: Any, two: Any, where: str = "") -> None:
    """Equal, numbers to 1e-5 (contract, engine rule 5)."""
    assert type(one) is type(two) or {type(one), type(two)} <= {int, float}, where
    if isinstance(one, dict):
        assert one.keys() == two.keys(), where
        for key in one:
            close(one[key], two[key], f"{where}.{key}")
    elif isinstance(one, list):
        assert len(one) == len(two), where
        for i, (a, b) in enumerate(zip(one, two, strict=True)):
            close(a, b, f"{where}[{i}]")
    elif isinstance(one, float):
        assert one == pytest.approx(two, abs=1e-5), where
    else:
        assert one == two, where


def lines(results: veridical.Results) -> list[Any]:
    return [json.loads(line) for line in results.lines()]


def test_everything_scores_in_order_with_signatures(tmp_path: Path) -> None:
    found = list(veridical.check(rows(30), preset="all"))
    assert [r.id for r in found] == [f"q{i}" for i in range(30)]
    for i, r in enumerate(found):
        assert r.row == i and r.risk is not None and 0 <= r.risk <= 1
        assert {s.status for s in r.scores.values()} <= {"scored", "not_applicable"}
        grounded = {"knowledge_f1", "knowledge_bertscore"}
        for name in grounded:
            assert (r.scores[name].status == "scored") == (i % 3 == 0)
        assert "|embedder:" in r.scores["cosine"].signature
        assert r.scores["ngram"].signature.startswith("ngram|v1|")


def test_results_do_not_depend_on_company_order_store_or_processes(tmp_path: Path) -> None:
    data = rows(36)
    together = lines(veridical.check(data, processes=0))
    store = tmp_path / "store"
    cold = lines(veridical.check(data, store=store, processes=2))
    warm = lines(veridical.check(data, store=store, processes=0))
    close(together, cold)
    assert cold == warm
    alone = lines(veridical.check(data[7:8], processes=0))[0]
    close({**alone, "row": 7}, together[7])


def test_shared_texts_go_through_the_model_once_and_a_warm_store_sends_none(tmp_path: Path) -> None:
    data = rows(40)
    texts = {t for r in data for t in (r["response"], *r["samples"])}
    with Engine(store=tmp_path) as engine:
        veridical.check(data, "cosine, checkembed", engine=engine)
        (work,) = engine.work().values()
        assert work.windows == len(texts) < sum(1 + len(r["samples"]) for r in data)
        veridical.check(data, "checkembed", engine=engine)
        assert work.windows == len(texts)
    with Engine(store=tmp_path) as engine:
        veridical.check(data, "cosine, checkembed", engine=engine)
        (work,) = engine.work().values()
        assert work.windows == 0 and work.stored == len(texts)


def test_sentence_and_token_scorers_share_one_forward(tmp_path: Path) -> None:
    data = rows(20)
    texts = {t for r in data for t in (r["response"], *r["samples"])}
    with Engine(store=tmp_path) as engine:
        veridical.check(data, "cosine, checkembed, bert_score", engine=engine)
        (work,) = engine.work().values()
        assert work.windows == len(texts)
    with Engine(store=tmp_path) as engine:  # vectors and BERTScore tables are both stored
        veridical.check(data, "cosine, bert_score", engine=engine)
        (work,) = engine.work().values()
        assert work.windows == 0


def test_one_records_failure_moves_nothing_else(monkeypatch: pytest.MonkeyPatch) -> None:
    fake = FakeEncoder(fail_on=lambda text: "Niger" in text)
    monkeypatch.setattr("veridical.models.load_encoder", lambda spec, **_: fake)
    data = rows(60, samples=1)
    found = list(veridical.check(data, "cosine, exact_match"))
    for row, r in zip(data, found, strict=True):
        hit = any("Niger" in t for t in (row["response"], *row["samples"]))
        assert r.scores["cosine"].status == ("failed" if hit else "scored")
        assert r.scores["exact_match"].status == "scored"
        assert r.risk is not None
    failed = [r.scores["cosine"] for r in found if r.scores["cosine"].status == "failed"]
    assert failed and all(s.risk is None and s.reason and "ModelError" in s.reason for s in failed)


def test_a_verdict_that_fails_moves_nothing_else(monkeypatch: pytest.MonkeyPatch) -> None:
    judge = veridical.engine.run.judge_record

    def failing(record: Record, *rest: Any) -> Any:
        if "Oslo" in record.response:
            raise StopIteration("no more")
        return judge(record, *rest)

    monkeypatch.setattr("veridical.engine.run.judge_record", failing)
    records = [
        {"response": f"It is in {place}.", "contexts": ["It is in Mali."]}
        for place in ("Niger", "Oslo", "Mali")
    ]
    first, broken, last = veridical.check(records, scorers=["nli_grounding"], progress=False)
    assert (first.verdict, last.verdict) == ("contradicted", "supported")
    assert (broken.verdict, broken.reason, broken.risk) == ("unchecked", "failed", None)
    score = broken.scores["nli_grounding"]
    assert (score.status, score.reason) == ("failed", "StopIteration: no more")
    assert score.signature == first.scores["nli_grounding"].signature


def test_resume_does_only_what_is_missing(tmp_path: Path) -> None:
    data = rows(80)
    whole = lines(veridical.check(data, "ngram, cosine", out=tmp_path / "whole"))
    run = tmp_path / "run"
    veridical.check(data, "ngram, cosine", out=run)
    kept = (run / "results.jsonl").read_bytes().splitlines(keepends=True)
    (run / "results.jsonl").write_bytes(b"".join(kept[:33]) + kept[33][:20])
    with Engine() as engine:
        resumed = veridical.check(data, "ngram, cosine", out=run, engine=engine)
        assert sum(w.requests for w in engine.work().values()) < 80 * 5 * 0.8
    close(lines(resumed), whole)
    with pytest.raises(UsageError, match="differences: inputs"):
        veridical.check(data[:-1], "ngram, cosine", out=run)
    with pytest.raises(UsageError, match="differences: scorers"):
        veridical.check(data, "ngram(n=2), cosine", out=run)


def test_retry_failed_runs_only_those(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = rows(30, samples=1)
    broken = FakeEncoder(fail_on=lambda text: "Chad" in text)
    monkeypatch.setattr("veridical.models.load_encoder", lambda spec, **_: broken)
    first = veridical.check(data, "cosine", out=tmp_path)
    bad = [r.row for r in first if r.scores["cosine"].status == "failed"]
    assert bad
    assert [r.row for r in veridical.check(data, "cosine", out=tmp_path) if not r.risk] == bad
    mended = FakeEncoder()
    monkeypatch.setattr("veridical.models.load_encoder", lambda spec, **_: mended)
    second = veridical.check(data, "cosine", out=tmp_path, retry_failed=True)
    assert [r.row for r in second] == list(range(30))
    assert all(r.scores["cosine"].status == "scored" for r in second)
    assert sum(mended.batches) <= 2 * len(bad)


def test_samples_limit_and_limit(tmp_path: Path) -> None:
    data = [{"response": "a b", "samples": ["a b", "c d", "e f", "g h"]}] * 5
    found = list(veridical.check(data, "exact_match", samples=2, limit=3))
    assert len(found) == 3
    assert found[0].scores["exact_match"].raw == 0.5
    for bad in ({"samples": 0}, {"limit": -1}):
        with pytest.raises(UsageError, match="at least 1"):
            veridical.check(data, "exact_match", **bad)


def test_bad_rows_are_errors_and_strict_stops() -> None:
    data = [{"response": "fine"}, {"answer_text": "x"}, {"response": 5}, {"response": "a\x00"}]
    results = veridical.check(data, "exact_match")
    assert [r.row for r in results] == [0]
    assert [e.row for e in results.errors()] == [1, 2, 3]
    assert results.summary().row_errors == 3
    assert results.summary().coverage is None  # exact_match had no valid record to score
    with pytest.raises(StrictError, match="row 1"):
        veridical.check(data, "exact_match", strict=True)


def test_scorers_may_ask_for_scorers_and_rings_are_refused() -> None:
    async def follows(record: Record, evidence: Evidence) -> Score:
        """Follows."""
        one, two = await asyncio.gather(
            evidence.score("exact_match"), evidence.score("cosine", rescale=True)
        )
        return Score.of(((one.risk or 0) + (two.risk or 0)) / 2)

    async def left(record: Record, evidence: Evidence) -> Score:
        """Left."""
        return await evidence.score("test_right")

    async def right(record: Record, evidence: Evidence) -> Score:
        """Right."""
        return await evidence.score("test_left")

    async def boom(record: Record, evidence: Evidence) -> Score:
        """Boom."""
        raise ZeroDivisionError("x" * 1000)

    names = {"test_follows": follows, "test_left": left, "test_right": right, "test_boom": boom}
    try:
        for name, function in names.items():
            scorer(name, level="response", source="test", cost="embed")(function)
        (found,) = veridical.check(rows(1), ", ".join(names))
        scores = found.scores
        both = veridical.check(rows(1), "exact_match, cosine(rescale=true)")
        expected = [
            r.scores[name].risk for r in both for name in ("exact_match", "cosine(rescale=true)")
        ]
        assert scores["test_follows"].risk == pytest.approx(sum(expected) / 2, abs=1e-6)
        assert "depend on each other" in str(
            [scores[n].reason for n in ("test_left", "test_right")]
        )
        assert scores["test_boom"].reason.startswith("ZeroDivisionError")
        assert len(scores["test_boom"].reason) <= 300
    finally:
        for name in names:
            REGISTRY._scorers.pop(name)


def test_a_free_scorer_that_asks_for_a_model_fails_with_its_reason() -> None:
    async def sly(record: Record, evidence: Evidence) -> Score:
        """Sly."""
        await evidence.embed([record.response])
        return Score.of(0.0)

    try:
        scorer("test_sly", level="response", source="test")(sly)
        (found,) = veridical.check(rows(1), "test_sly")
        assert found.scores["test_sly"].status == "failed"
        assert "without declaring its cost" in str(found.scores["test_sly"].reason)
    finally:
        REGISTRY._scorers.pop("test_sly")


def test_text_the_model_cannot_read_is_not_applicable_with_the_reason() -> None:
    data = [{"response": "北京是中国的首都。", "samples": ["上海是中国的首都。"]}]
    (found,) = veridical.check(data, "cosine, ngram, bert_score")
    for name in ("cosine", "bert_score"):
        assert found.scores[name].status == "not_applicable"
        reason = str(found.scores[name].reason)
        assert reason == "minilm reads en; most of this text is in another language"
    assert found.scores["ngram"].status == "scored"


async def test_acheck_and_cancelling_it(tmp_path: Path) -> None:
    results = await veridical.acheck(rows(5), "ngram")
    assert len(results) == 5
    run = tmp_path / "r"
    task = asyncio.ensure_future(veridical.acheck(rows(4000), "checkembed", out=run))
    while not (run / "results.jsonl").exists() or not (run / "results.jsonl").stat().st_size:
        await asyncio.sleep(0.05)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    done = len((run / "results.jsonl").read_bytes().splitlines())
    assert 0 < done < 4000
    with pytest.raises(UsageError, match="differences"):  # the directory is free, and kept
        veridical.check(rows(3), "checkembed", out=run)


async def test_cancelling_acheck_before_it_has_begun_leaves_nothing_running(tmp_path: Path) -> None:
    # Those of check_one stay warm for a while after a test that ran before this one.
    before = set(threading.enumerate())
    task = asyncio.ensure_future(veridical.acheck(rows(2000), "checkembed", out=tmp_path / "r"))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert "veridical" not in {t.name for t in set(threading.enumerate()) - before}


async def test_acheck_passes_errors_on() -> None:
    with pytest.raises(UsageError, match="unknown scorer"):
        await veridical.acheck(rows(1), "nonsense")
    with pytest.raises(StrictError):
        await veridical.acheck([{"prompt": "no answer"}], "ngram", strict=True)


def test_a_closed_engine_says_so_and_closing_twice_is_fine() -> None:
    engine = Engine()
    engine.close()
    engine.close()
    with pytest.raises(UsageError, match="closed"):
        veridical.check(rows(1), "ngram", engine=engine)


def test_an_engine_serves_several_threads(tmp_path: Path) -> None:
    from concurrent.futures import ThreadPoolExecutor

    data = rows(40)
    alone = lines(veridical.check(data, "cosine, ngram"))
    with Engine() as engine, ThreadPoolExecutor(4) as pool:
        jobs = [
            pool.submit(lambda: lines(veridical.check(data, "cosine, ngram", engine=engine)))
            for _ in range(4)
        ]
        for job in jobs:
            close(job.result(), alone)


def test_results_convert_to_frames_and_filter() -> None:
    results = veridical.check(rows(9), "exact_match, knowledge_f1, cosine")
    frame = results.to_pandas(wide=True)
    assert list(frame["id"]) == [f"q{i}" for i in range(9)] and results.to_arrow().num_rows == 9
    assert frame["knowledge_f1.status"].value_counts()["not_applicable"] == 6
    risks = [r.scores["cosine"].risk for r in results]
    assert results.to_polars(wide=True)["cosine"].to_list() == risks
    raw = next(iter(results)).scores["cosine"].raw
    assert frame["cosine.raw"][0] == pytest.approx(raw)
    some = list(results.filter(lambda r: r.scores["knowledge_f1"].status == "scored"))
    assert [r.row for r in some] == [0, 3, 6]


def test_not_applicable_is_an_outcome_not_a_failure() -> None:
    assert not issubclass(NotApplicable, veridical.VeridicalError)
    (found,) = veridical.check([{"response": "", "samples": ["a"]}])
    assert {s.status for s in found.scores.values()} <= {"scored", "not_applicable"}


def test_of_several_fields_that_a_record_lacks_the_same_one_is_named() -> None:
    (found,) = veridical.check([{"response": "It rains."}], scorers="cocoa")
    assert found.scores["cocoa"].reason == "the record has no logprobs"
