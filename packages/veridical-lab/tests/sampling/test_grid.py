"""The grid of models and decodings, and the study's table from it."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest
from hostile_files import toml_variants, tried

from veridical import check
from veridical.errors import UsageError
from veridical.io import open_source
from veridical_lab.bench.study.table import read_table
from veridical_lab.sampling.grid import read_grid, table_rows, write_table

GRID = """
dataset = "tqa"
decodings = ["greedy", "top_p:0.95"]

[[model]]
name = "Tiny-125M"
llm = "fake:base.json"
size = "125M"
tuning = "base"

[[model]]
name = "Tiny-125M-chat"
llm = "fake:chat.json"
size = 0.125
tuning = "chat"
family = "tiny"
decodings = ["beam:3"]
"""


def test_cells_in_order_with_the_studys_columns(tmp_path: Path) -> None:
    (tmp_path / "g.toml").write_text(GRID)
    cells = read_grid(tmp_path / "g.toml")
    assert [str(c) for c in cells] == [
        "Tiny-125M, greedy",
        "Tiny-125M, top_p:0.95",
        "Tiny-125M-chat, beam:3",
    ]
    assert cells[2].columns == {
        "dataset": "tqa",
        "model": "Tiny-125M-chat",
        "family": "tiny",
        "size": 0.125,
        "tuning": "instruct",
        "decoding": "beam:3",
    }
    assert cells[0].columns["family"] == "tiny" and cells[0].columns["tuning"] == "pretrained"


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (("[[model]]", "[[models]]"), "did you mean 'model'"),
        (('size = "125M"', 'size = "big"'), "size"),
        (('size = "125M"', ""), "size"),
        (('tuning = "base"', 'tuning = "raw"'), "tuning"),
        (('llm = "fake:base.json"', ""), "llm"),
        (('"greedy",', '"warm",'), "unknown decoding"),
        (('"greedy",', '"top_p:0.95",'), "twice"),
        (('dataset = "tqa"', 'data = "tqa"'), "did you mean 'dataset'"),
        (('family = "tiny"', 'famly = "tiny"'), "did you mean 'family'"),
        (('["greedy", "top_p:0.95"]', "[]"), "decodings"),
        (("dataset =", "dataset"), "g.toml"),
    ],
)
def test_grids_that_are_wrong_say_where(change: tuple[str, str], why: str, tmp_path: Path) -> None:
    (tmp_path / "g.toml").write_text(GRID.replace(*change, 1))
    with pytest.raises(UsageError, match=why):
        read_grid(tmp_path / "g.toml")


def answers(path: Path) -> None:
    rows: list[dict[str, Any]] = []
    for model, tuning in [("=Tiny", "pretrained"), ("Tiny-it", "instruct")]:
        for item in range(3):
            columns = {"dataset": "d", "model": model, "family": "t", "size": 1.5}
            columns |= {"tuning": tuning, "decoding": "greedy", "item": f"q{item}"}
            text = "It is Paris." if tuning == "instruct" else "Nobody knows."
            row = {"id": f"q{item}", "response": text, "reference": "It is Paris."}
            rows.append({**row, "meta": columns})
    path.write_text("".join(json.dumps(r) + "\n" for r in rows))


@pytest.mark.parametrize("name", ["t.csv", "t.jsonl"])
def test_the_study_reads_the_table(name: str, tmp_path: Path) -> None:
    answers(tmp_path / "a.jsonl")
    results = check(str(tmp_path / "a.jsonl"), "rouge_l, exact_match", processes=0)
    rows = table_rows(results, open_source(tmp_path / "a.jsonl").rows())
    assert write_table(rows, tmp_path / name) == 6, "exact_match needs samples: no value"
    table = read_table(str(tmp_path / name))
    assert table.scorer.names == ("rouge_l",) and set(table.size) == {1.5}
    by_tuning = {int(i): float(v) for i, v in zip(table.instruct, table.value, strict=True)}
    assert by_tuning == {0: 0.0, 1: 1.0}, "ROUGE-L itself, not the risk"


def test_a_table_cell_is_no_formula(tmp_path: Path) -> None:
    answers(tmp_path / "a.jsonl")
    results = check(str(tmp_path / "a.jsonl"), "rouge_l", processes=0)
    write_table(table_rows(results, open_source(tmp_path / "a.jsonl").rows()), tmp_path / "t.csv")
    cells = [r["model"] for r in csv.DictReader((tmp_path / "t.csv").open(encoding="utf-8"))]
    assert cells[0] == "'=Tiny"


HOSTILE_GRID = """dataset = "qa"
decodings = ["greedy", "top_k:40"]
[[model]]
name = "OPT-125M"
llm = "fake:x.json"
size = "125M"
tuning = "pretrained"
"""


def test_hostile_grids_are_refused(tmp_path: Path) -> None:
    def read_cells(path: Path) -> None:
        assert read_grid(path)

    grid = tried(toml_variants(HOSTILE_GRID), read_cells, tmp_path / "grid.toml")
    assert grid["refused"] > 150
