"""Run directories, ensembles, benches and sampled answers of earlier versions, read and used."""

from __future__ import annotations

import json
import re
import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from replay_commands import (
    CASCADE,
    RECORDED,
    RENDERINGS,
    ROWS_KEPT,
    RUN,
    RUN_OF_0_1,
    TUNED,
    Outcome,
    read_lines,
    run_all,
    tune,
)
from replay_compare import differences

NUMBER = re.compile(r"\d+(?:\.\d+)?")
FINISHED, INTERRUPTED = "finished", "interrupted"
SEALED = RECORDED / "sealed-0.3" / "runs"
#: What a report of the recorded runs says of ``exact_match``.
MEANS = {FINISHED: "0.819", INTERRUPTED: "0.812"}


def run(work: Path, *commands: tuple[str, ...]) -> list[Outcome]:
    outcomes = run_all(list(commands), work)
    for outcome in outcomes:
        assert outcome.exit_code == 0, outcome.stderr
    return outcomes


def check(*options: str) -> tuple[str, ...]:
    return ("check", *RUN, "--out", "run", "--processes", "0", "--json", "lines", *options)


def words(text: str) -> str:
    """A message without its line breaks."""
    return " ".join(text.split())


def results_of(folder: Path) -> list[Any]:
    """Result lines, but for their seals: a line that is written anew has a verdict too."""
    lines = read_lines(folder / "results.jsonl")
    return [{k: v for k, v in line.items() if k != "seal"} for line in lines]


def unsealed(run: Path) -> None:
    """Take the seals from a run's lines and manifest."""
    results = run / "results.jsonl"
    kept = [
        re.sub(rb',"seal":"[0-9a-f]+"}', b"}", x) for x in results.read_bytes().splitlines(True)
    ]
    assert b"seal" not in b"".join(kept)
    results.write_bytes(b"".join(kept))
    manifest = json.loads((run / "manifest.json").read_text("utf-8"))
    del manifest["seal"]
    (run / "manifest.json").write_text(json.dumps(manifest), "utf-8")


def test_a_finished_run_is_taken_up_with_nothing_left_to_do(work: Path) -> None:
    sealed = SEALED / FINISHED
    shutil.copytree(sealed, work / "run")
    report, again = run(work, ("report", "run", "--out", "r.html"), check())
    assert "not trusted" not in report.stderr
    assert MEANS[FINISHED] in (work / "r.html").read_text("utf-8"), "mean risk of exact_match"
    assert "resumed: 8 records" in words(again.stderr)
    assert (work / "run" / "results.jsonl").read_bytes() == (sealed / "results.jsonl").read_bytes()


def test_an_interrupted_run_is_resumed_where_it_stopped(work: Path) -> None:
    shutil.copytree(SEALED / INTERRUPTED, work / "run")
    (outcome,) = run(work, check())
    assert f"resumed: {ROWS_KEPT} records" in words(outcome.stderr)
    assert list(differences(results_of(SEALED / FINISHED), results_of(work / "run"))) == []


@pytest.mark.parametrize("name, rows", [(FINISHED, 8), (INTERRUPTED, ROWS_KEPT)])
def test_a_run_without_seals_is_shown_and_run_again(name: str, rows: int, work: Path) -> None:
    """It is no reason to leave a row out."""
    shutil.copytree(SEALED / name, work / "run")
    unsealed(work / "run")
    report, again = run(work, ("report", "run", "--out", "r.html"), check())
    assert "not sealed by this computer" in words(report.stderr)
    assert MEANS[name] in (work / "r.html").read_text("utf-8"), "mean risk of exact_match"
    assert f"{rows} stored lines were not trusted" in words(again.stderr)
    recorded = [
        {k: v for k, v in x.items() if k != "record"} for x in results_of(SEALED / FINISHED)
    ]
    assert list(differences(recorded, read_lines(work / "lines"))) == []


@pytest.mark.parametrize("name", [FINISHED, INTERRUPTED])
@pytest.mark.parametrize("runs, sealed", [("runs", False), ("sealed/runs", True)])
def test_a_run_of_0_1_is_shown_and_begun_anew(
    runs: str, sealed: bool, name: str, work: Path
) -> None:
    """Its verdicts were not cut at a strictness, and ``support`` has another version since. Version
    0.1 seals its lines; of what was written before, a report says that it is not sealed."""
    shutil.copytree(RECORDED / runs / name, work / "run")
    before = (work / "run" / "results.jsonl").read_bytes()
    (report,) = run(work, ("report", "run", "--out", "r.html"))
    assert ("not sealed by this computer" in words(report.stderr)) != sealed
    assert MEANS[name] in (work / "r.html").read_text("utf-8"), "mean risk of exact_match"
    old = ("check", *RUN_OF_0_1, "--out", "run", "--processes", "0", "--json", "lines")
    (refused,) = run_all([old], work)
    assert refused.exit_code == 1
    told = words(refused.stderr)
    assert "run holds another run; differences: parameters" in told and '"balanced"' in told
    assert "support|v1" in told and "support|v4" in told
    assert (work / "run" / "results.jsonl").read_bytes() == before
    run(work, (*old, "--fresh"))
    recorded, today = results_of(RECORDED / runs / FINISHED), read_lines(work / "lines")
    for line, now in zip(recorded, today, strict=True):
        for scorer in ("ngram", "exact_match"):
            assert list(differences(line["scores"][scorer], now["scores"][scorer])) == []


def test_another_run_in_a_recorded_folder_is_refused(work: Path) -> None:
    shutil.copytree(RECORDED / "runs" / FINISHED, work / "run")
    (refused,) = run_all([("check", "graded.jsonl", "--preset", "fast", "--out", "run")], work)
    assert refused.exit_code == 1
    assert "run holds another run; differences: inputs" in words(refused.stderr)


def test_a_bench_is_rendered_as_it_was(work: Path) -> None:
    (work / "bench").mkdir()
    shutil.copy(RECORDED / "bench" / "bench.json", work / "bench")
    kinds = (*RENDERINGS, "json")
    run(work, *(("report", "bench", "--out", f"again.{kind}") for kind in kinds))
    recorded = json.loads((RECORDED / "bench" / "bench.json").read_text("utf-8"))
    again = json.loads((work / "again.json").read_text("utf-8"))
    assert list(differences(recorded, again)) == []
    for kind in ("md", "txt"):
        # its words and their order have changed since; no number has
        recorded_text = (RECORDED / "bench" / f"rendered.{kind}").read_text("utf-8")
        text = (work / f"again.{kind}").read_text("utf-8")
        assert not Counter(NUMBER.findall(recorded_text)) - Counter(NUMBER.findall(text))
    page = (work / "again.html").read_text("utf-8")
    assert all(row["scorer"] in page for row in recorded["rows"])


def test_recorded_samples_are_scored_like_any_records(work: Path) -> None:
    shutil.copy(RECORDED / "sampled.jsonl", work)
    run(work, ("check", "sampled.jsonl", "--preset", "fast", "--json", "lines"))
    lines = read_lines(work / "lines")
    assert [line["id"] for line in lines] == ["q1", "q2", "q3"]
    assert all(line["scores"]["exact_match"]["status"] == "scored" for line in lines)


@pytest.mark.parametrize("name", ["by_task", "famd", "cascade"])
def test_files_of_tune_have_the_fields_they_had(name: str, work: Path) -> None:
    """What is fitted may change with the search; which fields a file has may not."""
    recorded = json.loads((RECORDED / "tuned" / f"{name}.json").read_text("utf-8"))
    (work / f"{name}.json").unlink()
    if name == "cascade":
        plain = [word.replace("entailment, ", "") for word in CASCADE]  # quicker without NLI
        run(work, tuple(plain))
    else:
        run(work, tune(name, TUNED[name]))
    again = json.loads((work / f"{name}.json").read_text("utf-8"))
    assert recorded.keys() <= again.keys()
    for field in ("fit", "honest", "fitted_on", "components"):
        if isinstance(recorded.get(field), dict):
            assert recorded[field].keys() <= again[field].keys()
        elif recorded.get(field):
            assert recorded[field][0].keys() <= again[field][0].keys()
            assert len(recorded[field]) == len(again[field])
