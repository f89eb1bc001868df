"""The written documents: their file, their labels, and what statements alone give away."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from training_scripts import training_script

FERRY = {
    "document": "The ferry to Aldmoor sails at noon, on Sundays at two.",
    "right": ["On Sundays the boat leaves later."],
    "contradicted": ["The ferry sails at noon on Sundays."],
    "not_stated": ["The ferry takes cars."],
    "long": {
        "right": ["On Sundays the ferry leaves at two, two hours later than on other days."],
        "contradicted": ["On Sundays the ferry leaves at noon, as it does on all other days."],
    },
}
FAEHRE = {
    "document": "Die Fähre nach Aldmoor fährt mittags, sonntags aber erst um zwei Uhr ab.",
    "right": ["Sonntags legt das Schiff nicht schon am Mittag ab."],
    "contradicted": ["Die Fähre fährt sonntags schon mittags ab."],
    "not_stated": ["Die Fähre nimmt auch Autos und Fahrräder mit."],
}


@pytest.fixture(scope="module")
def module() -> Iterator[Any]:
    with training_script("checker.written") as found:
        yield found


@pytest.fixture(scope="module")
def balancing() -> Iterator[Any]:
    with training_script("checker.balancing") as found:
        yield found


def test_a_row_of_each_statement(module: Any, tmp_path: Path) -> None:
    file = tmp_path / "written.jsonl"
    file.write_text(json.dumps(FERRY) + "\n" + json.dumps(FAEHRE) + "\n", encoding="utf-8")
    rows = list(module.written(file))
    assert [(r.statement, r.label, r.kind) for r in rows[:3]] == [
        (FERRY["right"][0], "supported", "written"),
        (FERRY["contradicted"][0], "contradicted", "written"),
        (FERRY["not_stated"][0], "not_stated", "written"),
    ]
    assert [(r.statement, r.label, r.kind) for r in rows[3:5]] == [
        (FERRY["long"]["right"][0], "supported", "written_long"),
        (FERRY["long"]["contradicted"][0], "contradicted", "written_long"),
    ]
    assert {r.document for r in rows[:5]} == {FERRY["document"]}
    assert len({r.group for r in rows[:5]}) == 1 < len({r.group for r in rows})
    assert {r.kind for r in rows[5:]} == {"written_language"}


def test_every_document_has_statements_of_each_label_once(module: Any) -> None:
    lines = module.FILE.read_text(encoding="utf-8").splitlines()
    documents = [json.loads(line) for line in lines]
    assert len(lines) >= 600
    assert len({d["document"] for d in documents}) == len(documents)
    for number, one in enumerate(documents, 1):
        assert set(one) - {"long"} == {"document", *module.LABELS}, number
        lists = [one, one["long"]] if "long" in one else [one]
        said = [s for part in lists for field in module.LABELS for s in part[field]]
        assert all(one[field] for field in module.LABELS), number
        assert len({s.lower() for s in said}) == len(said), number
        assert all(s == s.strip() != "" for s in said), number


@pytest.mark.parametrize("kind", ["written", "written_long"])
def test_statements_alone_give_little_away(module: Any, balancing: Any, kind: str) -> None:
    rows = [r for r in module.written() if r.kind == kind]
    kept = balancing.balanced(rows, random.Random(0))
    counts = Counter(r.right for r in kept)
    assert counts[True] == counts[False] > 2000
    assert balancing.statement_only(kept) < 0.62
