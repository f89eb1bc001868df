"""Edits of hypotheses that people wrote: what is wrong is marked, and what is right is not."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest
from training_scripts import training_script


@pytest.fixture
def module() -> Iterator[ModuleType]:
    with training_script("typed_pairs") as found:
        yield found


@pytest.fixture
def data(module: ModuleType, tmp_path: Path) -> Path:
    rows = [
        ("Two dozen people came.", "All of the 24 guests came on 3 May 1990.", "entailment"),
        ("Some of it burned.", "At least three barns were not saved.", "entailment"),
        ("It is small.", "It is large and has 7 rooms.", "contradiction"),
        ("long " * 400, "All of the 24 guests came.", "entailment"),
    ]
    for name in module.FILES:
        lines = [dict(zip(("premise", "hypothesis", "label"), row, strict=True)) for row in rows]
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps(r) + "\n" for r in lines))
    return tmp_path


def test_rows(module: ModuleType, data: Path) -> None:
    made = module.make(data, 0)
    assert made == module.make(data, 0) and len(made) > 20
    assert {r["premise"] for r in made} == {"Two dozen people came.", "Some of it burned."}
    originals = {"All of the 24 guests came on 3 May 1990.", "At least three barns were not saved."}
    for row in made:
        assert row["hypothesis"] not in originals and row["source"].startswith("edited_")
        marked = [row["hypothesis"][a:b] for a, b in row["spans"]]
        if row["label"] == "entailment":
            assert not marked
        else:
            assert row["label"] == "contradiction" and all(marked)
    wrong = Counter(r["source"] for r in made if r["label"] == "contradiction")
    assert {"edited_figure", "edited_date", "edited_negation"} <= set(wrong)


def test_no_kind_outweighs_the_others(
    module: ModuleType, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MOST", 2)
    counts = Counter((r["source"], r["label"]) for r in module.make(data, 0))
    assert max(counts.values()) == 2
