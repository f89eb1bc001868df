"""The money of keys: what their LLM calls cost, in checks, repairs and jobs, over real HTTP.

The LLM is a scripted server with prices, so that what each call costs is known exactly.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from guarding import Upstream, served, upstream
from servers import running

from veridical.engine.engine import Engine
from veridical.engine.options import EngineOptions
from veridical.llm.endpoints import Endpoint
from veridical.serve import keys as serve_keys
from veridical.serve.keys import Key, Keys
from veridical.serve.security import hash_of

pytest.importorskip("uvicorn")
pytest.importorskip("fastapi")

JUDGE = "judge(template=true_false)"
#: What a call costs: a thousand tokens at 10 a million.
CALL = 0.01
#: Enough for three calls: each may cost nearly twice as much at worst.
FEW = 0.04
MANY = 50.0


def says(body: dict[str, Any], number: int, pause: float = 0.0) -> tuple[int, str, Any]:
    """A judge that takes all for right, and that rewrites sentences where it is asked to."""
    schema = str(body.get("response_format", ""))
    text = "Correct"
    if "sentences" in schema:
        text = json.dumps({"sentences": [{"id": 1, "text": "The bridge was finished in 1932."}]})
    message = {"role": "assistant", "content": text}
    reply = {
        "model": "m",
        "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 999, "completion_tokens": 1, "total_tokens": 1000},
    }
    return 200, "application/json", [pause, json.dumps(reply).encode()]


def slowly(body: dict[str, Any], number: int) -> tuple[int, str, Any]:
    return says(body, number, 0.3)


def rows(count: int, name: str = "a") -> list[dict[str, Any]]:
    return [{"prompt": f"Which is {name}{i}?", "response": f"It is {i}."} for i in range(count)]


class Asker:
    """A client with a key."""

    def __init__(self, url: str, key: str) -> None:
        self._http = httpx.Client(
            base_url=url, headers={"authorization": f"Bearer {key}"}, timeout=60
        )

    def post(self, path: str, body: Any) -> httpx.Response:
        return self._http.post(path, json=body)

    def check(self, records: list[dict[str, Any]], scorers: str = JUDGE) -> httpx.Response:
        return self.post("/v1/check", {"records": records, "scorers": scorers})

    def job(self, records: list[dict[str, Any]], scorers: str = JUDGE) -> str:
        answer = self.post("/v1/jobs", {"records": records, "scorers": scorers})
        assert answer.status_code == 202, answer.text
        return str(answer.json()["id"])

    def state(self, job: str) -> dict[str, Any]:
        state: dict[str, Any] = self._http.get(f"/v1/jobs/{job}").json()
        return state

    def wait(self, job: str, *for_: str) -> dict[str, Any]:
        end = time.monotonic() + 60
        while (state := self.state(job))["status"] not in for_:
            assert time.monotonic() < end and state["status"] != "failed", str(state)
            time.sleep(0.05)
        return state

    def results(self, job: str) -> list[dict[str, Any]]:
        answer = self._http.get(f"/v1/jobs/{job}/results")
        assert answer.status_code == 200, answer.text
        return [json.loads(line) for line in answer.content.splitlines()]

    def usd(self) -> float:
        found = re.search(r"^veridical_llm_usd_total (\S+)", self._http.get("/metrics").text, re.M)
        assert found is not None
        return float(found[1])


Answer = Callable[[dict[str, Any], int], tuple[int, str, Any]]


@contextmanager
def server(
    folder: Path, *keys: Key, answer: Answer = says, budget: float | None = None
) -> Iterator[tuple[str, Upstream]]:
    """A server in this process whose LLM is scripted and has prices."""
    with upstream(answer) as llm, beside(llm, folder, *keys, budget=budget) as url:
        yield url, llm


@contextmanager
def beside(llm: Upstream, folder: Path, *keys: Key, budget: float | None = None) -> Iterator[str]:
    """A server in this process that calls ``llm``."""
    from veridical.serve.app import secured
    from veridical.serve.service import ScoringServer

    endpoint = Endpoint("paid", llm.url, "m", price_in=10.0, price_out=10.0)
    options = EngineOptions(
        llm=endpoint, store=None, processes=0, age=0.002, fair=True, nli="mini", budget=budget
    )
    with Engine(options) as engine:
        named = Keys(keys, folder / "spent.json", engine.llms.budget)
        service = ScoringServer(engine, keys=named, data=folder)
        with served(secured(service, "127.0.0.1")) as url:
            end = time.monotonic() + 60
            while httpx.get(f"{url}/readyz").status_code != 200:
                assert time.monotonic() < end
                time.sleep(0.05)
            yield url


def limited(usd: float | None, name: str = "a", **more: Any) -> Key:
    return Key(name=name, sha256=hash_of(f"key {name}"), usd_per_day=usd, **more)


def spent(folder: Path, name: str = "a") -> float:
    file = folder / "spent.json"
    return float(json.loads(file.read_text())["usd"][name]) if file.exists() else 0.0


def test_checks_and_rewriting_are_charged_to_the_key(tmp_path: Path) -> None:
    bridge = {
        "prompt": "When was the bridge finished?",
        "response": "The bridge was finished in 1951. It is 2 km long.",
        "contexts": ["The bridge was finished in 1932. It is 2 km long."],
    }
    with server(tmp_path, limited(MANY), limited(MANY, "b")) as (url, llm):
        one = Asker(url, "key a")
        assert one.check(rows(3)).status_code == 200
        assert len(llm.requests) == 3
        assert spent(tmp_path) == pytest.approx(3 * CALL)
        repair = {"records": [bridge], "scorers": "nli_grounding", "how": "rewrite"}
        answer = one.post("/v1/repair", repair)
        assert answer.status_code == 200, answer.text
        (result,) = answer.json()["results"]
        assert result["repair"]["text"].startswith("The bridge was finished in 1932.")
        assert len(llm.requests) == 4
        assert spent(tmp_path) == pytest.approx(4 * CALL)
        assert spent(tmp_path, "b") == 0
        assert one.usd() == pytest.approx(4 * CALL)


def test_events_pay_for_each_call_once(tmp_path: Path) -> None:
    record = {"prompt": "What?", "response": "It is so. It is not.", "contexts": ["It is so."]}
    with server(tmp_path, limited(MANY)) as (url, llm):
        asker = Asker(url, "key a")
        body = {"records": [record], "scorers": "selfcheck_prompt(against=contexts)"}
        plain = asker.post("/v1/check", body)
        assert plain.status_code == 200, plain.text
        calls = len(llm.requests)
        asker._http.headers["accept"] = "text/event-stream"
        assert "event: done" in asker.post("/v1/check", body).text
        assert len(llm.requests) == 2 * calls > 0


def test_rewriting_needs_money_and_the_keys_llm(tmp_path: Path) -> None:
    record = {"response": "A is B.", "contexts": ["A is not B."]}
    rewrite = {"records": [record], "scorers": "nli_grounding", "how": "rewrite"}
    with server(tmp_path, limited(0.0), limited(None, "b", llms=[])) as (url, llm):
        poor, other = Asker(url, "key a"), Asker(url, "key b")
        refused = poor.post("/v1/repair", rewrite)
        assert refused.status_code == 429 and int(refused.headers["retry-after"]) > 0
        assert poor.check(rows(1)).status_code == 429
        jobs = {"records": rows(1), "scorers": JUDGE}
        assert poor.post("/v1/jobs", jobs).status_code == 429
        # what calls no LLM needs no money
        assert poor.check([record], "nli_grounding").status_code == 200
        assert poor.post("/v1/repair", {**rewrite, "how": "drop"}).status_code == 200
        assert other.post("/v1/repair", rewrite).status_code == 403
        assert other.post("/v1/repair", {**rewrite, "how": "drop"}).status_code == 200
        assert llm.requests == []


def test_jobs_are_charged_as_they_go(tmp_path: Path) -> None:
    with server(tmp_path, limited(MANY), answer=slowly) as (url, llm):
        asker = Asker(url, "key a")
        job = asker.job(rows(150))
        seen = set()
        while asker.state(job)["status"] != "done":
            seen.add(spent(tmp_path))
            time.sleep(0.05)
        assert len(llm.requests) == 150
        assert spent(tmp_path) == pytest.approx(150 * CALL)
        assert asker.usd() == pytest.approx(150 * CALL)
        assert any(money > 0 for money in seen)


def test_a_job_without_money_is_stopped_and_goes_on_the_next_day(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    day = serve_keys._today()
    with upstream(says) as llm:
        with beside(llm, tmp_path, limited(FEW)) as url:
            asker = Asker(url, "key a")
            job = asker.job(rows(4))
            state = asker.wait(job, "stopped", "done")
            assert state["status"] == "stopped"
            assert "money" in state["error"] and "midnight UTC" in state["error"]
            made = len(llm.requests)
            assert 0 < made < 4
            assert spent(tmp_path) == pytest.approx(made * CALL)
            refused = asker._http.get(f"/v1/jobs/{job}/results")
            assert refused.status_code == 409 and "stopped" in refused.text
        with beside(llm, tmp_path, limited(FEW)) as url:  # on the same day
            time.sleep(1)
            Asker(url, "key a").wait(job, "stopped")
            assert len(llm.requests) == made
            assert spent(tmp_path) == pytest.approx(made * CALL)
        monkeypatch.setattr(serve_keys, "_today", lambda: day + 1)
        with beside(llm, tmp_path, limited(FEW)) as url:
            asker = Asker(url, "key a")
            asker.wait(job, "done")
            results = asker.results(job)
            assert spent(tmp_path) == pytest.approx((4 - made) * CALL)
        assert len(llm.requests) == 4, "each call is made and paid once"
    scores = [s for r in results for k, s in r["scores"].items() if k == JUDGE]
    assert [s["status"] for s in scores] == ["scored"] * 4


def test_money_comes_back_at_midnight_without_a_restart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    day, shift = serve_keys._today(), [0]
    monkeypatch.setattr(serve_keys, "_today", lambda: day + shift[0])
    monkeypatch.setattr("veridical.serve.jobs.seconds_left_today", lambda: 0)
    with server(tmp_path, limited(FEW)) as (url, llm):
        asker = Asker(url, "key a")
        job = asker.job(rows(4))
        asker.wait(job, "stopped")
        end = time.monotonic() + 30
        while asker.state(job)["status"] != "done":
            assert time.monotonic() < end, asker.state(job)
            shift[0] += 1
            time.sleep(1.5)
        assert len(llm.requests) == 4


def test_a_deleted_job_has_paid_for_its_calls(tmp_path: Path) -> None:
    with server(tmp_path, limited(MANY), answer=slowly) as (url, llm):
        asker = Asker(url, "key a")
        job = asker.job(rows(200))
        asker.wait(job, "running")
        while len(llm.requests) < 5:
            time.sleep(0.02)
        assert asker._http.delete(f"/v1/jobs/{job}").status_code == 204
        end = time.monotonic() + 20
        while spent(tmp_path) < len(llm.requests) * CALL - 1e-9:
            assert time.monotonic() < end, (spent(tmp_path), len(llm.requests))
            time.sleep(0.1)


def test_a_client_that_goes_has_paid_for_its_calls(tmp_path: Path) -> None:
    with server(tmp_path, limited(MANY), answer=slowly) as (url, llm):
        asker = Asker(url, "key a")
        asker._http.timeout = httpx.Timeout(0.2)
        with pytest.raises(httpx.ReadTimeout):
            asker.check(rows(3))
        end = time.monotonic() + 20
        while not llm.requests or spent(tmp_path) < len(llm.requests) * CALL - 1e-9:
            assert time.monotonic() < end
            time.sleep(0.1)


def test_the_servers_budget_holds_beside_those_of_keys(tmp_path: Path) -> None:
    with server(tmp_path, limited(MANY), budget=FEW) as (url, llm):
        asker = Asker(url, "key a")
        results = asker.check(rows(4)).json()["results"]
        found = [s["status"] for r in results for k, s in r["scores"].items() if "judge" in k]
        assert 0 < found.count("scored") == len(llm.requests) < 4
        assert found.count("failed") == 4 - len(llm.requests)
        assert len(llm.requests) * CALL <= FEW


def test_limits_of_money_need_prices(tmp_path: Path) -> None:
    (tmp_path / "keys.json").write_text(json.dumps({"keys": [limited(MANY).model_dump()]}))
    (tmp_path / "veridical.toml").write_text(
        '[llm.free]\nbase_url = "http://127.0.0.1:9/v1"\nmodel = "m"\n'
    )
    words = ["serve", "--port", "0", "--keys", "keys.json", "--llm", "free"]
    done = subprocess.run(
        [sys.executable, "-m", "veridical", *words],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 1 and "price_in" in done.stderr, done.stderr


def test_what_was_spent_survives_a_kill(tmp_path: Path) -> None:
    """A real server, killed in the middle of a job, counts what calls under way may have cost."""
    keys = {"keys": [limited(MANY).model_dump()]}
    (tmp_path / "keys.json").write_text(json.dumps(keys))
    with upstream(slowly) as llm:
        (tmp_path / "veridical.toml").write_text(
            f'[llm.paid]\nbase_url = "{llm.url}"\nmodel = "m"\nprice_in = 10\nprice_out = 10\n'
            "max_concurrency = 4\n"
        )
        options = ["serve", "--port", "0", "--keys", "keys.json", "--data", "data"]
        options += ["--llm", "paid", "--nli", "mini"]
        with running(options, cwd=tmp_path, ready=True) as process:
            asker = Asker(process.url, "key a")
            job = asker.job(rows(24))
            while len(llm.requests) < 8:
                time.sleep(0.02)
            time.sleep(1)  # what is spent is written down twice a second
            process.process.kill()
        before, made = spent(tmp_path / "data"), len(llm.requests)
        assert before >= (made - 4) * CALL
        with running(options, cwd=tmp_path, ready=True) as process:
            asker = Asker(process.url, "key a")
            asker.wait(job, "done")
            assert len(asker.results(job)) == 24
            after = spent(tmp_path / "data")
            assert after == pytest.approx(before + (len(llm.requests) - made) * CALL)
            assert len(llm.requests) <= 24 + 4, "replies that came are not asked for again"
            assert process.stop() == 0
