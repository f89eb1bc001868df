"""The plans of RefChecker's filter and studies: what is then asked of a scripted model."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from refchecker_sources import write_lines

from veridical.api import Job
from veridical.core.scores import Result
from veridical.engine.engine import Engine
from veridical.llm.fake import FakeLlm
from veridical.run.options import SpeedOptions
from veridical_lab.studies.refchecker.copying import copying
from veridical_lab.studies.refchecker.filtering import CHECKS, filter_questions
from veridical_lab.studies.refchecker.judged import judged_claims
from veridical_lab.studies.refchecker.masking import bias, checkers_of
from veridical_lab.studies.refchecker.planning import plan_copying, plan_filter, plan_masked

SPEED = SpeedOptions(tokens_per_second=10.0)
QUESTIONS: list[dict[str, Any]] = [
    {"id": str(i), "setting": setting, "question": f"who is {i}?", "references": [f"{i} is."]}
    for i, setting in enumerate(("zero_context", "zero_context", "noisy_context"))
]
RECORDS = [
    {"response": "Ada was born in London. She wrote programs.", "contexts": ["Ada: of London."]},
    {"response": "Ada was born in Rome.", "contexts": ["Ada was born in London in 1815."]},
    {"response": "", "contexts": ["Ada was born in London."]},
    {"response": "It has no context."},
]


def watch(name: str, job: Job) -> Iterator[Result]:
    return iter(job.wait())


def asked(llm: FakeLlm) -> int:
    return sum(llm.asked.values())


@pytest.fixture
def llm() -> FakeLlm:
    return FakeLlm("Yes, neutral")


@pytest.fixture
def engine(tmp_path: Path, llm: FakeLlm) -> Iterator[Engine]:
    with Engine(store=tmp_path / "store", nli="mini", llm=llm) as made:
        yield made


def test_the_filter_asks_what_was_planned(engine: Engine, llm: FakeLlm) -> None:
    planned = plan_filter(QUESTIONS, engine, SPEED)
    assert planned["size"] == {"questions": 2} and planned["records"] == 2
    assert planned["calls"] == planned["again"]["calls"] == 2 * len(CHECKS)
    assert planned["hours"] >= planned["tokens_out"] / 10 / 3600 > 0
    assert planned["complete"] and planned["llm"] == "fake" and asked(llm) == 0
    filter_questions(QUESTIONS, engine, watch)
    assert asked(llm) == planned["calls"]
    after = plan_filter(QUESTIONS, engine, SpeedOptions())
    assert (after["calls"], after["journaled"]) == (0, planned["calls"])
    assert after["tokens_per_second"] is None and after["hours"] == pytest.approx(0, abs=1e-3)
    assert plan_filter([*QUESTIONS, QUESTIONS[0]], engine, SPEED)["calls"] == 0
    assert asked(llm) == planned["calls"]


def test_hours_are_unknown_where_a_speed_is(engine: Engine) -> None:
    assert plan_filter(QUESTIONS, engine, SpeedOptions())["hours"] is None


def test_masked_claims_are_found_and_counted_without_labels(
    tmp_path: Path, engine: Engine, llm: FakeLlm
) -> None:
    path = write_lines(tmp_path / "a.jsonl", *RECORDS)
    checkers = checkers_of("nli,llm")
    planned = plan_masked(path, checkers, engine, SPEED)
    assert asked(llm) == 0
    judged = judged_claims(path, engine, watch)
    assert planned["size"]["claims"] == len(judged.claims) >= 2
    found = bias(judged, checkers, engine, watch)
    (by_nli,) = [one for one in found.checkers if one.checker == "nli"]
    assert planned["size"]["masked"] == by_nli.n + by_nli.failed >= 2
    assert planned["records"] == 3 + 2 * planned["size"]["masked"]
    assert planned["calls"] == 2 * planned["size"]["masked"]
    assert planned["calls"] <= asked(llm) <= planned["calls"] + planned["again"]["calls"]
    assert plan_masked(path, checkers, engine, SPEED)["calls"] == 0


def test_copying_asks_no_language_model(tmp_path: Path, engine: Engine, llm: FakeLlm) -> None:
    path = write_lines(tmp_path / "a.jsonl", *RECORDS)
    planned = plan_copying(path, engine, SpeedOptions(), limit=2)
    assert (planned["calls"], planned["records"], planned["llm"]) == (0, 2, None)
    assert planned["cost"] == 0 and planned["hours"] > 0
    told = copying(judged_claims(path, engine, watch, limit=2))
    assert planned["size"] == {"claims": sum(part.n for part in told.parts)}
    assert asked(llm) == 0


def test_claims_that_people_have_labelled_take_nothing(tmp_path: Path, engine: Engine) -> None:
    write_lines(
        tmp_path / "claims.jsonl",
        {
            "setting": "noisy_context",
            "model": "m",
            "id": "1",
            "response": "...",
            "triplet": ["the town", "has", "a harbour"],
            "human_label": "Entailment",
        },
    )
    write_lines(
        tmp_path / "references.jsonl", {"id": "1", "references": ["The town has a harbour."]}
    )
    planned = plan_copying(tmp_path, engine, SpeedOptions())
    assert (planned["size"], planned["records"], planned["hours"]) == ({"claims": 1}, 0, 0.0)
    masked = plan_masked(tmp_path, checkers_of("llm"), engine, SPEED)
    assert (masked["records"], masked["calls"]) == (2, 2)
