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

#: Those that take seconds. ``regenerated`` takes no model.
SAMPLE = (
    "SelfCheckGPT tables 2, 3 and 4, unigram (max) row",
    "SelfCheckGPT table 2, random row",
    "SelfCheckGPT table 3, WikiBio+1gm row",
    "SelfCheckGPT's repository, balanced accuracy, random row",
    "CheckEmbed table 7, the line to beat",
    "RefChecker figures 11 and 12",
)
BY_ID = {e.id: e for e in ENTRIES}
PAGE = (ROOT / "docs" / "reproduction.md").read_text("utf-8")


def ran(entry: Entry, data: Path, tmp_path: Path, *more: str) -> dict[str, Any]:
    words = shlex.split((entry.command or "").replace("DATA/", f"{data}/"))
    figures = tmp_path / "figures.json"
    code, refusal = run([*words[1:], "--bootstrap", "0", "--json", str(figures), *more])
    assert code == 0, refusal
    found: dict[str, Any] = json.loads(figures.read_text("utf-8"))
    return found


@pytest.mark.data
@pytest.mark.parametrize("id", SAMPLE)
def test_a_command_prints_the_rows_it_claims(
    id: str, shared_data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    entry = BY_ID[id]
    assert f"    {entry.command}\n" in PAGE
    section = PAGE.split(f"### {id}\n")[1].split("\n### ")[0]
    made = ran(entry, shared_data, tmp_path)
    if "rank" in (entry.command or ""):
        means = {p["name"]: p["mean"] for p in made["parts"]}
        for split, rates in means.items():
            if split != "all":
                told = " | ".join(
                    f"{rates[n]:.4f}" for n in ("entailment", "neutral", "contradiction", "abstain")
                )
                assert f"| {split} | {told} |" in section
        return
    rows = {(r["split"], r["metric"], r["scorer"]): r["value"] for r in made["rows"]}
    sizes = {s["split"]: s["n_total"] for s in made["splits"]}
    for f in entry.figures:
        if f.metric == "n_total":
            assert sizes[f.split] == f.value
            continue
        value = rows[f.split, f.metric, f.scorer]
        assert f"{value:.4f} ({f.value:.4g}, " in section, (f.split, f.metric)


@pytest.mark.data
def test_selfcheckgpts_table_3_on_the_passages_that_have_their_paragraph(
    shared_data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    made = ran(BY_ID["SelfCheckGPT table 3, WikiBio+1gm row"], shared_data, tmp_path)
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
