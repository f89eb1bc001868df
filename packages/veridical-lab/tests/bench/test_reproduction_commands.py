"""A sample of the commands of docs/reproduction.md, run on the public data: each prints the rows it
claims, and the figures that the page has for them."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any

import pytest
from doc_files import run
from places import ROOT

from veridical_lab.bench.published import ENTRIES, Entry

#: Commands that take no model. All figures of the page are computed by ``docs/reproduction.py``.
UNIGRAM = "SelfCheckGPT tables 2, 3 and 4, unigram (max) row"
BY_REFERENCE = "SelfCheckGPT table 3, WikiBio+1gm row"
RATES = "RefChecker figures 11 and 12"
BY_ID = {e.id: e for e in ENTRIES}
PAGE = (ROOT / "docs" / "reproduction.md").read_text("utf-8")


def ran(entry: Entry, data: Path, tmp_path: Path, *more: str) -> dict[str, Any]:
    words = shlex.split((entry.command or "").replace("DATA/", f"{data}/"))
    figures = tmp_path / "figures.json"
    code, refusal = run([*words[1:], "--bootstrap", "0", "--json", str(figures), *more])
    assert code == 0, refusal
    found: dict[str, Any] = json.loads(figures.read_text("utf-8"))
    return found


def assert_printed(entry: Entry, made: dict[str, Any]) -> None:
    """Compare the figures that a command printed with those of its section of the page."""
    rows = {(r["split"], r["metric"], r["scorer"]): r["value"] for r in made["rows"]}
    sizes = {s["split"]: s["n_total"] for s in made["splits"]}
    for f in entry.figures:
        if f.metric == "n_total":
            assert sizes[f.split] == f.value
            continue
        value = rows[f.split, f.metric, f.scorer]
        assert f"{value:.4f} ({f.value:.4g}, " in section(entry), (f.split, f.metric)


def section(entry: Entry) -> str:
    assert f"    {entry.command}\n" in PAGE
    return PAGE.split(f"### {entry.id}\n")[1].split("\n### ")[0]


@pytest.mark.data
def test_bench_prints_the_rows_of_its_section(
    shared_data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert_printed(BY_ID[UNIGRAM], ran(BY_ID[UNIGRAM], shared_data, tmp_path))


@pytest.mark.data
def test_rank_prints_the_rows_of_its_section(
    shared_data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    made = ran(BY_ID[RATES], shared_data, tmp_path)
    for part in made["parts"]:
        if part["name"] != "all":
            named = ("entailment", "neutral", "contradiction", "abstain")
            told = " | ".join(f"{part['mean'][n]:.4f}" for n in named)
            assert f"| {part['name']} | {told} |" in section(BY_ID[RATES])


@pytest.mark.data
def test_selfcheckgpts_table_3_on_the_passages_that_have_their_paragraph(
    shared_data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    made = ran(BY_ID[BY_REFERENCE], shared_data, tmp_path)
    assert_printed(BY_ID[BY_REFERENCE], made)
    rows = {(r["split"], r["metric"], r["scorer"]): r for r in made["rows"]}
    scorer = "ngram(against=reference,counting=paper)"
    found = [
        round(100 * rows[split, metric, scorer]["value"], 2)
        for split, metric in (
            ("nonfact", "trapezoid_pr"),
            ("nonfact_star", "trapezoid_pr"),
            ("factual", "trapezoid_pr"),
            ("passage", "pearson"),
            ("passage", "spearman"),
        )
    ]
    assert found == [78.72, 28.68, 41.98, 26.28, 21.5]
    assert rows["passage", "pearson", scorer]["n_total"] == 119
    notes = rows["passage", "pearson", scorer]["notes"]
    assert any("all 238 passages" in n for n in notes)
