"""Scorers that call an LLM, or read with a language model, through the engine."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import veridical
from veridical import Engine, Record, Score, UsageError
from veridical.core.evidence import Evidence
from veridical.core.messages import ChatRequest, LlmError, Reply, Usage, user
from veridical.core.protocols import Window
from veridical.core.registry import REGISTRY, scorer
from veridical.core.resolving import resolve
from veridical.core.tokens import GivenText, TokenProbabilities
from veridical.llm.endpoints import Endpoint
from veridical.llm.fake import FakeLlm


@pytest.fixture(autouse=True)
def own_registry(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    """Scorers of these tests, gone afterwards; no configuration but the test's."""
    REGISTRY.names()
    monkeypatch.setattr(REGISTRY, "_scorers", dict(REGISTRY._scorers))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.delenv("VERIDICAL_CONFIG", raising=False)

    @scorer("yes_no", level="response", cost="llm", source="test", presets=["asking"])
    async def yes_no(record: Record, evidence: Evidence, *, llm: str | None = None) -> Score:
        """Is it so?"""
        (reply,) = await evidence.chat([ChatRequest(user(f"So? {record.response}"))], llm)
        said = reply.whole()
        if said not in ("yes", "no"):
            raise LlmError("malformed", "neither yes nor no", text=said)
        return Score.of(float(said == "no"))

    @scorer("relayed", level="response", cost="llm", source="test")
    async def relayed(record: Record, evidence: Evidence) -> Score:
        """Another's word."""
        return await evidence.score("yes_no")

    @scorer("read_it", level="response", cost="probabilities", source="test", presets=["asking"])
    async def read_it(record: Record, evidence: Evidence, *, proxy: str | None = None) -> Score:
        """How likely the proxy finds it."""
        prompt = await evidence.chat_prompt(user("Say something."), proxy)
        (read,) = await evidence.read([GivenText(prompt, record.response)], proxy)
        return Score.of(float(np.exp(read.logprobs).mean()))

    yield


def rows(*words: str) -> list[dict[str, Any]]:
    return [{"response": w, "samples": [w]} for w in words]


def lines(results: veridical.Results) -> list[dict[str, Any]]:
    return [json.loads(line) for line in results.lines()]


def test_a_reply_is_asked_for_once_and_found_again_by_later_runs(tmp_path: Path) -> None:
    llm = FakeLlm({"good": "yes", "": "no"})
    data = rows("good", "bad", "good", "bad")
    found = []
    for _ in range(2):
        with Engine(llm=llm, store=tmp_path, processes=0) as engine:
            results = veridical.check(data, "yes_no, relayed, exact_match", engine=engine)
            found.append((lines(results), results.ledger))
    (cold, spent), (warm, saved) = found
    assert [r["scores"]["yes_no"]["risk"] for r in cold] == [0, 1, 0, 1]
    assert cold == warm
    assert sum(llm.asked.values()) == 2
    assert spent is not None and saved is not None
    assert (spent["calls"], spent["journaled"]) == (2, 0)
    assert saved["calls"] == 0 and saved["journaled"] >= 2
    assert results.summary().as_dict()["llm"] == saved


def test_the_signature_names_endpoint_and_model_of_those_asked(tmp_path: Path) -> None:
    script = tmp_path / "script.json"
    script.write_text('[{"text": "yes"}]')
    other = f"fake:{script}"
    with Engine(llm=FakeLlm("no", name="mine"), processes=0) as engine:
        results = veridical.check(
            rows("a"), f"yes_no, yes_no(llm='{other}'), relayed", engine=engine
        )
        (line,) = lines(results)
        manifest = json.loads((results.path / "manifest.json").read_text())
    signatures = {k: s["signature"] for k, s in line["scores"].items()}
    assert signatures["yes_no"] == "yes_no|v1|llm:mine@mine|llm:none"
    assert signatures["relayed"] == "relayed|v1|llm:mine@mine"
    assert f"|llm:{other}@script|" in signatures[f"yes_no(llm={other})"]
    assert set(manifest["identity"]["models"]) == {"llm", f"llm {other}"}


def test_without_an_llm_a_scorer_that_needs_one_is_a_clear_error() -> None:
    with pytest.raises(UsageError, match="llm=NAME"):
        veridical.check(rows("a"), "yes_no", processes=0)
    with pytest.raises(UsageError, match="llm=NAME"):
        veridical.plan(rows("a"), "yes_no", processes=0)
    with pytest.raises(UsageError, match="'nothing' is not a known LLM"):
        veridical.check(rows("a"), "yes_no", llm="nothing", processes=0)


def test_an_engine_for_others_takes_names_and_no_addresses() -> None:
    with Engine(llm=FakeLlm("yes"), named_only=True, processes=0) as engine:
        (line,) = lines(veridical.check(rows("a"), "yes_no", engine=engine))
        assert line["scores"]["yes_no"]["risk"] == 0
        for scorers in ("yes_no(llm='http://169.254.169.254/v1#m')", "read_it(proxy='/etc')"):
            with pytest.raises(UsageError, match="unknown LLM"):
                veridical.check(rows("a"), scorers, engine=engine)


def test_a_key_that_is_not_there_stops_the_run_before_it_begins(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(UsageError, match="OPENAI_API_KEY"):
        veridical.check(rows("a"), "yes_no", llm="openai:gpt-4o-mini", processes=0)


def test_presets_hold_scorers_that_call_an_llm_only_where_there_is_one() -> None:
    assert [b.key for b in resolve(None, "asking", llm=True)] == ["yes_no", "read_it"]
    assert [b.key for b in resolve(None, "asking")] == ["read_it"]
    assert "llm" not in {cost for b in resolve(None) for cost in b.costs}


def test_retry_failed_asks_anew_for_replies_of_no_use_and_for_no_other(tmp_path: Path) -> None:
    said = iter(["maybe", "yes", "no", "yes"])
    llm = FakeLlm(lambda request: next(said))
    settings = {"llm": llm, "store": tmp_path / "store", "out": tmp_path / "run", "processes": 0}
    first = lines(veridical.check(rows("a", "b", "c"), "yes_no", **settings))
    assert [r["scores"]["yes_no"]["status"] for r in first] == ["failed", "scored", "scored"]
    assert "neither yes nor no" in first[0]["scores"]["yes_no"]["reason"]
    assert lines(veridical.check(rows("a", "b", "c"), "yes_no", **settings)) == first
    assert sum(llm.asked.values()) == 3
    results = veridical.check(rows("a", "b", "c"), "yes_no", retry_failed=True, **settings)
    again = lines(results)
    assert again[0]["scores"]["yes_no"]["risk"] == 0
    assert again[1:] == first[1:]
    assert sum(llm.asked.values()) == 4
    assert results.ledger is not None and results.ledger["calls"] == 4  # over all lives


class Paid(FakeLlm):
    """Each answer costs 1."""

    def __init__(self) -> None:
        super().__init__(lambda q: Reply("yes", "stop", usage=Usage(1, 1)))
        self.endpoint = Endpoint("paid", "fake:paid", "paid", price_in=0.0, price_out=1e6)


def test_the_budget_stops_calls_and_a_larger_one_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("veridical.llm.endpoints.Endpoint.cost", lambda e, i, o: 1.0)
    llm = Paid()
    settings = {"llm": llm, "out": tmp_path / "run", "processes": 0, "store": None}
    results = veridical.check(rows("a", "b", "c", "d"), "yes_no", budget=2.5, **settings)
    statuses = [r["scores"]["yes_no"]["status"] for r in lines(results)]
    assert sorted(statuses) == ["failed", "failed", "scored", "scored"]
    assert results.ledger is not None
    assert (results.ledger["cost"], results.ledger["not_sent"]) == (2.0, 2)
    more = veridical.check(
        rows("a", "b", "c", "d"), "yes_no", budget=4.0, retry_failed=True, **settings
    )
    assert [r["scores"]["yes_no"]["status"] for r in lines(more)] == ["scored"] * 4
    assert more.ledger is not None and more.ledger["cost"] == 4.0
    assert sum(llm.asked.values()) == 4


def test_a_budget_without_prices_is_refused() -> None:
    with pytest.raises(UsageError, match="price_in"):
        Engine(llm="http://127.0.0.1:9/v1#m", budget=1.0)


def test_plan_counts_with_the_code_of_the_run(tmp_path: Path) -> None:
    llm = FakeLlm("yes")
    data = rows("a", "b", "c", "a")
    settings: dict[str, Any] = {"llm": llm, "store": tmp_path / "store", "processes": 0}
    plan = veridical.plan(data, "yes_no, exact_match", **settings)["llm"]
    assert (plan["calls"], plan["journaled"], plan["cost"]) == (3, 0, 0.0)
    assert plan["tokens_out"] == 3 * 512
    assert not llm.asked and not (tmp_path / "store").exists()
    veridical.check(data[:2], "yes_no", **settings)
    after = veridical.plan(data, "yes_no, exact_match", **settings)["llm"]
    assert (after["calls"], after["journaled"]) == (1, 2)
    assert sum(llm.asked.values()) == 2


def test_plan_needs_no_key_and_an_unknown_price_is_an_unknown_cost(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    plan = veridical.plan(rows("a"), "yes_no", llm="openai:gpt-4o-mini", processes=0)["llm"]
    assert (plan["calls"], plan["cost"]) == (1, None)


class Reader:
    """A language model of one token a word, the likelier the shorter."""

    name, revision = "reader", "r1"
    batch_tokens, workers = 1024, 1

    def windows(self, texts: Sequence[GivenText]) -> list[list[Window]]:
        return [[Window(1 + len(t.text.split()), t)] for t in texts]

    def run(self, batch: Sequence[Window]) -> list[Any]:
        return [w.content.text.split() for w in batch]

    def assemble(self, windows: Sequence[Window], outputs: Sequence[Any]) -> TokenProbabilities:
        words = outputs[0]
        places = np.arange(len(words))
        return TokenProbabilities(
            places, places + 1, -np.log(1.0 + np.array([len(w) for w in words], float))
        )

    def chat_prompt(self, messages: Sequence[dict[str, Any]]) -> str:
        return "\n".join(m["content"] for m in messages)


def test_a_proxy_reads_for_scorers_of_probabilities(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    loaded: list[str] = []

    def load(spec: str, **_: Any) -> Reader:
        loaded.append(spec)
        return Reader()

    monkeypatch.setattr("veridical.models.causal.load_language_model", load)
    with Engine(proxy="small", processes=0, store=tmp_path) as engine:
        (line,) = lines(veridical.check(rows("abc abc"), "read_it", engine=engine))
        plan = veridical.plan(rows("abc abc", "d"), "read_it", engine=engine)
    assert loaded == ["small"]
    (score,) = line["scores"].values()
    assert score["risk"] == pytest.approx(0.25)
    assert "proxy:reader@r1" in score["signature"]
    (model,) = plan["models"]
    assert (model["requests"], model["stored"], model["windows"]) == (2, 1, 1)


def test_without_a_proxy_reading_is_not_applicable() -> None:
    (line,) = lines(veridical.check(rows("a"), "read_it", processes=0))
    assert line["scores"]["read_it"]["status"] == "not_applicable"
    assert "--proxy" in line["scores"]["read_it"]["reason"]


def test_prompts_are_sampled_and_scored_in_one_go_and_reported_later(tmp_path: Path) -> None:
    def answer(request: ChatRequest) -> str:
        return f"drawn {request.ordinal}" if request.temperature else "greedy"

    data = tmp_path / "prompts.jsonl"
    data.write_text("".join(json.dumps({"prompt": p}) + "\n" for p in ("Why?", "How?")))
    llm = FakeLlm(answer)
    plan = veridical.plan(data, "exact_match", llm=llm, samples=3, processes=0)
    assert (plan["records"], plan["llm"]["calls"]) == (2, 8)
    settings: dict[str, Any] = {"llm": llm, "samples": 3, "out": tmp_path / "run", "processes": 0}
    results = veridical.check(data, "exact_match", **settings)
    assert [r["scores"]["exact_match"]["risk"] for r in lines(results)] == [1.0, 1.0]
    assert results.ledger is not None and results.ledger["calls"] == 8
    assert sum(llm.asked.values()) == 8
    from veridical.api import reopen

    opened = reopen(tmp_path / "run")
    assert opened.report(tmp_path / "r.html").stat().st_size > 1000
    (first, _) = opened.pairs()
    assert first[0].response == "greedy"
    assert first[0].sample_texts == ["drawn 0", "drawn 1", "drawn 2"]
    assert sum(llm.asked.values()) == 8


def test_the_ledger_is_told_without_prices_and_of_an_older_run(tmp_path: Path) -> None:
    llm = FakeLlm("yes")
    llm.endpoint = Endpoint("fake", "fake:fake", "fake")
    results = veridical.check([{"response": "a"}], "yes_no", llm=llm, out=tmp_path / "run")
    assert results.ledger is not None and results.ledger["calls"] == 1
    assert results.ledger["cost"] is None and results.ledger["charged"] is None
    path = results.path / "ledger.json"
    older = json.loads(path.read_text())
    del older["tokens_cached"], older["again"]  # what version 0.1 did not count
    path.write_text(json.dumps(older))
    assert results.ledger == {**older, "tokens_cached": 0, "again": 0}
    path.write_text(json.dumps({k: v for k, v in older.items() if k != "calls"}))
    assert results.ledger is None
