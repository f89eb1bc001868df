"""The dry run counts what selection and repair add: what the real run does, or no less."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from places import ROOT

import veridical
from veridical.cli.planned import plan_lines, step_lines
from veridical.core.messages import ChatRequest
from veridical.engine.engine import Engine
from veridical.errors import UsageError
from veridical.llm.fake import FakeLlm

EXAMPLES = ROOT / "examples" / "answers.jsonl"
COUNTS = ("requests", "stored", "windows", "tokens")
SETTINGS: dict[str, Any] = {"samples": 3}


def rows(*kinds: str) -> list[dict[str, Any]]:
    """Example answers whose ids begin so."""
    lines = EXAMPLES.read_text("utf-8").splitlines()
    return [r for r in map(json.loads, lines) if r["id"].startswith(kinds)]


def counts_of(plan: dict[str, Any]) -> dict[str, int]:
    return {name: sum(model[name] for model in plan["models"]) for name in COUNTS}


def real(
    data: Any, scorers: str, store: Path | None, **settings: Any
) -> tuple[dict[str, int], Any]:
    with Engine(store=store, processes=0) as engine:
        results = veridical.check(data, scorers, engine=engine, **settings)
        works = engine.work()
    return {name: sum(getattr(w, name) for w in works.values()) for name in COUNTS}, results


@pytest.mark.parametrize("keeps", [True, False])
def test_counts_of_a_selection_are_those_of_the_run(keeps: bool, tmp_path: Path) -> None:
    data, scorers = rows("capital-"), "cosine, noncontradiction, support"
    store = tmp_path / "store" if keeps else None
    settings: dict[str, Any] = {"select": "best", **SETTINGS}
    plan = veridical.plan(data, scorers, store=store, processes=0, **settings)
    found, results = real(data, scorers, store, **settings)
    assert counts_of(plan) == found and plan["least"] is None
    further = sum(len({r["response"], *r["samples"]}) - 1 for r in _cut(data))
    assert plan["steps"] == [{"step": "selected", "answers": further, "least": further}]
    alone = veridical.plan(data, scorers, store=store and tmp_path / "b", processes=0, samples=3)
    assert counts_of(alone)["tokens"] < found["tokens"] and alone["steps"] == []
    (folder,) = results.path.glob("selected-*")
    assert len((folder / "results.jsonl").read_text("utf-8").splitlines()) == further


def _cut(data: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """With the texts of three samples alone."""
    return [{**r, "samples": [s["text"] for s in r["samples"][:3]]} for r in data]


@pytest.mark.parametrize("select", [None, "best"])
def test_a_repair_that_models_decide_is_between_two_bounds(
    select: str | None, tmp_path: Path
) -> None:
    data, scorers = rows("bio-")[:3], "cosine, selfcheck_nli"
    settings: dict[str, Any] = {"select": select, "repair": "drop", **SETTINGS}
    plan = veridical.plan(data, scorers, store=tmp_path / "s", processes=0, **settings)
    found, results = real(data, scorers, tmp_path / "s", **settings)
    most, least = counts_of(plan), counts_of(plan["least"])
    for name in ("requests", "windows", "tokens"):
        assert least[name] <= found[name] <= most[name]
    assert least["tokens"] < most["tokens"]
    told = plan["steps"][-1]
    assert told == {"step": "repair", "answers": 3, "least": 0}
    assert results.summary().repairs["changed"] <= 3
    assert step_lines(plan["steps"])[-1] == "repaired answers: at most 3"
    assert plan["least"]["steps"][-1]["answers"] == 0 and plan["least"]["least"] is None


def test_a_repair_that_no_model_decides_is_known(tmp_path: Path) -> None:
    data, scorers = rows("bio-", "explain-"), "cosine, support(against=samples)"
    settings: dict[str, Any] = {"repair": "drop", **SETTINGS}
    plan = veridical.plan(data, scorers, store=tmp_path / "s", processes=0, **settings)
    found, results = real(data, scorers, tmp_path / "s", **settings)
    changed = results.summary().repairs["changed"]
    assert changed and plan["least"] is None and counts_of(plan) == found
    assert plan["steps"] == [{"step": "repair", "answers": changed, "least": changed}]


def test_without_models_a_selection_with_its_repair_is_known() -> None:
    data, scorers = rows("bio-", "explain-"), "ngram, support(against=samples)"
    settings: dict[str, Any] = {"select": "best", "repair": "drop"}
    plan = veridical.plan(data, scorers, processes=0, **settings)
    results = veridical.check(data, scorers, processes=0, **settings)
    changed = results.summary().repairs["changed"]
    assert plan["steps"][-1] == {"step": "repair", "answers": changed, "least": changed}


FACTS = {"prompt": "Where is the tower?", "contexts": "It is in Peru."}
BAD = {**FACTS, "response": "It is 70 m tall. It is in Peru."}
GOOD = {**FACTS, "response": "It is in Peru."}
WITHOUT = {"prompt": "Where is the tower?", "response": "It is in Peru."}


def written(request: ChatRequest) -> str:
    text = "\n".join(str(m["content"]) for m in request.messages)
    ids = [i for i in range(1, 4) if f"\n[{i}] " in text]
    return json.dumps({"sentences": [{"id": i, "text": f"No {i}."} for i in ids]})


def test_calls_that_rewrite_are_known_where_no_model_decides(tmp_path: Path) -> None:
    data, settings = [BAD, GOOD, WITHOUT], {"repair": "rewrite", "processes": 0}
    llm = FakeLlm(written)
    plan = veridical.plan(data, "support(against=contexts)", llm=llm, **settings)
    calls = plan["llm"]["rewriting"]
    assert (calls["calls"], calls["least"]["calls"], calls["complete"]) == (1, 1, True)
    assert not llm.asked
    assert plan["steps"] == [{"step": "repair", "answers": 1, "least": 0}]
    results = veridical.check(data, "support(against=contexts)", llm=llm, **settings)
    assert results.ledger is not None and results.ledger["calls"] == calls["calls"]
    assert results.ledger["tokens_out"] <= calls["tokens_out"]
    assert plan_lines(plan["llm"])[0].startswith("LLM calls that rewrite sentences: 1 (")


def test_calls_that_rewrite_are_bounded_where_a_model_decides() -> None:
    data, settings = [BAD, GOOD, WITHOUT], {"repair": "rewrite", "processes": 0}
    llm = FakeLlm(written)
    plan = veridical.plan(data, "nli_grounding, judge", llm=llm, **settings)["llm"]
    results = veridical.check(data, "nli_grounding, judge", llm=llm, **settings)
    made = results.ledger
    assert made is not None
    assert plan["rewriting"]["calls"] == 2 and plan["rewriting"]["least"]["calls"] == 0
    # its replies are no verdicts, so that each is asked for once more
    most = plan["calls"] + plan["again"]["calls"]
    assert plan["least"]["calls"] <= made["calls"] <= most
    # the judge is asked about the two with contexts, and about two repaired ones at most
    assert (plan["scoring"]["least"]["calls"], plan["scoring"]["calls"]) == (2, 4)
    judged, rewriting, total, _again = plan_lines(plan)
    assert judged.startswith("LLM calls of scorers: 2 to 4 (")
    assert rewriting.startswith("LLM calls that rewrite sentences: 0 to 2 (")
    assert total.startswith("LLM calls in all: 2 to 6 (")


def test_a_plan_refuses_what_the_run_refuses(tmp_path: Path) -> None:
    policy = tmp_path / "policy.toml"
    policy.write_text('accept = 0.5\non = "claims"\n', "utf-8")
    with pytest.raises(UsageError, match="the run does not score it"):
        veridical.plan([GOOD], "ngram", policy=policy)
    with pytest.raises(UsageError, match="no LLM is named"):
        veridical.plan([GOOD], "ngram", repair="rewrite")
    with pytest.raises(UsageError, match="unknown way to select 'worst'"):
        veridical.plan([GOOD], "ngram", select="worst")


def test_rows_that_have_nothing_to_select_or_repair() -> None:
    data = [{"response": ""}, {"response": "", "samples": ["", ""]}, {"no": "record"}]
    plan = veridical.plan(data, "ngram, selfcheck_nli", select="best", repair="drop", processes=0)
    assert plan["steps"] == [
        {"step": "selected", "answers": 0, "least": 0},
        {"step": "repair", "answers": 0, "least": 0},
    ]
    assert (plan["records"], plan["row_errors"]) == (2, 1)
