"""The benchmark of behaviours: what it says of detectors whose behaviour is known."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from types import ModuleType
from typing import Any

import pytest
from places import ROOT


@pytest.fixture
def module() -> Iterator[ModuleType]:
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(ROOT / "benchmarks")
        import conformance  # type: ignore[import-not-found]

        yield conformance
    sys.modules.pop("conformance", None)


class Knows:
    """Knows every wrong answer of the items, and refuses what it cannot check."""

    name = "knows"

    def __init__(self, module: ModuleType) -> None:
        items = module.items()
        self.wrong = [i.wrong for i in items] + [i.german[1] for i in items]
        self.wrong += [i.right.replace(*i.numbers) for i in items]

    def risks(self, rows: Sequence[dict[str, Any]]) -> list[float | None]:
        return [
            None
            if not row["contexts"] or not any(map(str.isalnum, row["response"]))
            else float(any(w in row["response"] for w in self.wrong))
            for row in rows
        ]


class Careless:
    """Longer is better, more passages are better, and the batch counts."""

    name = "careless"

    def risks(self, rows: Sequence[dict[str, Any]]) -> list[float | None]:
        return [
            1 / (1 + len(r["response"]) + 100 * len(r["contexts"]) + len(rows) / 10) for r in rows
        ]


class Breaks(Careless):
    name = "breaks"

    def risks(self, rows: Sequence[dict[str, Any]]) -> list[float | None]:
        if any(not r["response"].strip() for r in rows):
            raise ValueError("no answer")
        return super().risks(rows)


def test_a_detector_that_knows_has_all_of_it(module: ModuleType) -> None:
    report = module.examine(Knows(module), module.items())
    assert not report.errors and len(report.found) == 10
    assert {name: f for name, f in report.found.items() if f.good != f.total} == {}
    assert all(f.total >= 12 for f in report.found.values())


def test_a_careless_one_fails(module: ModuleType) -> None:
    found = module.examine(Careless(), module.items()).found
    for name in ("batch_invariance", "empty_answer", "injected_instruction"):
        assert found[name].good == 0, name
    assert found["missing_context"].good == found["missing_context"].total  # riskier without any
    assert found["duplicates"].good < found["duplicates"].total


def test_an_error_is_a_result(module: ModuleType) -> None:
    report = module.examine(Breaks(), module.items())
    assert report.errors == {"empty_answer": "ValueError: no answer"}
    assert "| empty answer | error |" in module.table([report])


def test_the_page(module: ModuleType) -> None:
    text = (ROOT / "docs/evidence/conformance.md").read_text("utf-8")
    report = module.examine(Knows(module), module.items())
    made = module.page(text, [report])
    assert "| number swap | A right answer with another number is riskier. |" in made
    assert "| order | 12/12 |" in made
    assert module.page(made, [report]) == made


def test_the_items_are_what_they_say(module: ModuleType) -> None:
    items = module.items()
    assert len(items) == 12
    for item in items:
        old, new = item.numbers
        assert old in item.right and old in item.wrong and new not in item.context
        assert item.right != item.wrong and item.german[0] != item.german[1]
