"""What scorers cost: counted against models and LLMs whose cost is known."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import veridical
from veridical import UsageError
from veridical.core.records import Record
from veridical.core.registry import REGISTRY
from veridical.engine.engine import Engine
from veridical.ensembles.costs import MEASURED, measure, measured
from veridical.io import open_source
from veridical.llm.endpoints import Endpoint
from veridical.llm.fake import FakeLlm

ROWS: list[dict[str, Any]] = [
    {
        "prompt": f"What is number {i}?",
        "response": f"The river {i} is long. It ends in the sea.",
        "samples": [f"The river {i} is short.", "It ends in a lake."],
        "label": i % 2,
    }
    for i in range(12)
]


def records() -> list[Record]:
    return [r for r in open_source(ROWS).rows() if isinstance(r, Record)]


def test_what_was_asked_before_is_free(tmp_path: Path) -> None:
    scorers = REGISTRY.parse("ngram, selfcheck_nli, entailment, cosine, checkembed")
    with Engine(processes=0, store=tmp_path / "store") as engine:
        veridical.check(ROWS, "selfcheck_nli, cosine", engine=engine)  # stored: counts nothing
        found = measure(engine, records(), scorers, tmp_path)
        again = measure(engine, records(), scorers[1:2] * 2, tmp_path)
    seconds = {key: cost.seconds for key, cost in found.items()}
    assert all(cost.money == 0 for cost in found.values())
    assert 0 < seconds["ngram"] < 0.05  # type: ignore[operator]
    assert seconds["selfcheck_nli"] > 0 and seconds["cosine"] > 0  # type: ignore[operator]
    assert again["selfcheck_nli"].seconds == 0  # the second time, all was asked already


def test_money_is_that_of_the_answers_and_none_is_asked_twice(tmp_path: Path) -> None:
    llm = FakeLlm("Correct")
    llm.endpoint = Endpoint("fake", "fake:fake", "fake", price_in=1000.0, price_out=5000.0)
    (judge,) = REGISTRY.parse("judge")
    with Engine(processes=0, llm=llm, store=tmp_path / "store") as engine:
        results = veridical.check(ROWS, "judge", engine=engine)
        ledger = results.ledger
        asked = sum(llm.asked.values())
        found = measure(engine, records(), [judge], results.path)
    assert asked == len(ROWS) == sum(llm.asked.values())
    assert ledger is not None
    assert found["judge"].money == pytest.approx(ledger["cost"] / len(ROWS))
    assert found["judge"].seconds is not None and found["judge"].seconds >= 0


def test_time_of_calls_that_others_made_is_unknown(tmp_path: Path) -> None:
    (judge,) = REGISTRY.parse("judge")
    with Engine(processes=0, llm=FakeLlm("Correct"), store=tmp_path / "store") as engine:
        veridical.check(ROWS, "judge", engine=engine)
    with Engine(processes=0, llm=FakeLlm("Correct"), store=tmp_path / "store") as engine:
        found = measure(engine, records(), [judge], tmp_path)
    assert found["judge"].seconds is None and found["judge"].money == 0


def test_prices_that_are_not_known_make_money_unknown(tmp_path: Path) -> None:
    llm = FakeLlm("Correct")
    llm.endpoint = Endpoint("fake", "fake:fake", "fake")
    (judge,) = REGISTRY.parse("judge")
    with Engine(processes=0, llm=llm) as engine:
        found = measure(engine, records(), [judge], tmp_path)
    assert found["judge"].money is None and found["judge"].seconds is not None


def test_a_few_graded_records_are_measured() -> None:
    rows = [{**row, "label": None if i < 5 else 1} for i, row in enumerate(ROWS * 10)]
    scorers = REGISTRY.parse("ngram")
    with Engine(processes=0) as engine:
        results = veridical.check(rows, scorers, engine=engine)
        found = measured(engine, results, scorers, None, 0)
        assert found["ngram"].seconds is not None
        with pytest.raises(UsageError, match="requires labels, but no record has one"):
            measured(engine, results, scorers, {}, 0)
    assert len(rows) > MEASURED
