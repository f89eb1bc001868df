"""The learning curve: which rows a run learns from, how it is ranked, and that runs are kept."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from training_scripts import training_script

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")
pytestmark = pytest.mark.torch


@pytest.fixture
def module() -> Iterator[ModuleType]:
    with training_script("learning_curve") as found:
        yield found


@pytest.fixture
def rows(data: Path) -> Path:
    """The small world as rows of documents: half from tables, half from people."""
    kinds = ("document_table", "document_nli_claim")
    made = [json.loads(line) for line in (data / "generated.jsonl").read_text().splitlines()]
    made = [row | {"source": kinds[i % 2]} for i, row in enumerate(made)]
    file = data / "rows.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in made))
    return file


def run(module: ModuleType, *arguments: str | Path) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", ["learning_curve.py", *map(str, arguments)])
        module.main()


def test_each_run_begins_anew_and_is_kept(
    module: ModuleType, source: Path, rows: Path, tmp_path: Path
) -> None:
    answers = tmp_path / "lives" / "dev.jsonl"
    answers.parent.mkdir()
    says: list[dict[str, Any]] = [
        {"prompt": "Where is she?", "response": f"Ada lives in {place}.", "label": wrong}
        for place, wrong in (("Rome", 0), ("Oslo", 1))
    ]
    context = {"contexts": ["Ada lives in Rome."]}
    answers.write_text("".join(json.dumps(row | context) + "\n" for row in says))
    out = tmp_path / "out"
    asked = (source, rows, rows, "--out", out, "--sizes", "40", "80", "--answers", answers)
    run(module, *asked, "--each", "30")
    found = {f.stem: json.loads(f.read_text()) for f in out.glob("*.json")}
    assert set(found) == {"0", "40", "80", "30-public", "30-tables-and-records"}
    assert [found[name]["rows"] for name in ("0", "40", "80", "30-public")] == [0, 40, 80, 30]
    before, after = (found[name]["tables and records"] for name in ("0", "80"))
    assert before != after and 0 <= after <= 1
    assert found["80"]["lives"] in (0.0, 0.5, 1.0)  # one pair: right below, level or above
    assert all(kept.is_file() for kept in out.iterdir())
    kept = (out / "40.json").stat().st_mtime_ns
    run(module, *asked, "--each", "0")
    assert (out / "40.json").stat().st_mtime_ns == kept
    (out / "40.json").unlink()
    run(module, *asked, "--each", "0")  # the same rows, from the same beginning
    assert json.loads((out / "40.json").read_text()) == found["40"]
    with pytest.raises(SystemExit, match="only 400 rows fit"):
        run(module, *asked[:5], "--sizes", "9000")


def test_an_answer_is_as_good_as_its_least_supported_statement(
    module: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    # logits of entailment; the best window of a statement counts, the worst statement of an answer
    entailed = [2.0, -3.0, 1.0, 3.0, -1.0, -2.0]
    logits = torch.tensor([[x, 0.0, 0.0] for x in entailed])
    monkeypatch.setattr(module, "read_all", lambda model, pairs: (logits, []))
    right, wrong = (False, [[0, 1], [2]]), (True, [[3], [4, 5]])
    assert module.ranked(None, [right, wrong]) == 1.0
    assert module.ranked(None, [(True, right[1]), (False, wrong[1])]) == 0.0
