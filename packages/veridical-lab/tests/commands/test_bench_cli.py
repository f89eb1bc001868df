"""``veridical bench`` as a command: flags, streams, exit codes, rendering again."""

from __future__ import annotations

import csv
import json
import os
import shlex
import subprocess
import sys
import time
from pathlib import Path

import jsonschema
import pytest
from commands import run_command
from places import ROOT

from veridical.cli.outputs import opened


def run(*arguments: str | Path, cwd: Path) -> subprocess.CompletedProcess[str]:
    return run_command(*arguments, cwd=cwd)


@pytest.fixture
def graded(tmp_path: Path) -> Path:
    """Answers with contexts, of which every other one says something else."""
    path = tmp_path / "graded.jsonl"
    with path.open("w", encoding="utf-8") as out:
        for i in range(80):
            bad = i % 2
            row = {
                "prompt": f"Where is house {i}?",
                "contexts": f"House {i} is in street {i} beside the old mill.",
                "response": f"In street {i + 7 * bad} beside the {'new' if bad else 'old'} mill.",
                "label": bad,
            }
            out.write(json.dumps(row) + "\n")
    return path


def test_json_alone_goes_to_stdout_and_fits_the_schema(graded: Path, tmp_path: Path) -> None:
    done = run("bench", "graded", "--data", graded, "--scorers", "knowledge_f1, support",
               "--json", "-", "--bootstrap", "100", cwd=tmp_path)  # fmt: skip
    assert done.returncode == 0, done.stderr
    made = json.loads(done.stdout)
    schema = json.loads((ROOT / "docs" / "bench.schema.json").read_text("utf-8"))
    jsonschema.validate(made, schema)
    asked = {
        "scorer", "split", "level", "positive", "metric", "value", "ci_low", "ci_high",
        "n_total", "n_scored", "n_failed", "prevalence", "baselines", "flags", "paper",
    }  # fmt: skip
    for row in made["rows"]:
        assert asked <= row.keys()
        assert set(row["baselines"]) == {"constant", "random", "length", "majority"}
    assert made["suite"] == "graded" and made["signature"].startswith("bench:graded|")
    assert {r["scorer"] for r in made["rows"]} >= {"knowledge_f1", "support", "risk", "length"}
    assert "avg. precision" in done.stderr


def test_reports_are_rendered_again_without_scoring(graded: Path, tmp_path: Path) -> None:
    done = run("bench", "graded", "--data", graded, "--scorers", "knowledge_f1", "--out", "b",
               "--report", "a.html", "--report", "a.md", cwd=tmp_path)  # fmt: skip
    assert done.returncode == 0, done.stderr
    (tmp_path / "b" / "runs").rename(tmp_path / "gone")  # nothing left to score from
    graded.unlink()
    for kind in ("html", "md", "txt", "json"):
        again = run("report", "b", "--out", f"again.{kind}", cwd=tmp_path)
        assert again.returncode == 0, again.stderr
    assert (tmp_path / "again.md").read_text("utf-8") == (tmp_path / "a.md").read_text("utf-8")
    assert (tmp_path / "again.html").read_bytes() == (tmp_path / "a.html").read_bytes()
    assert "knowledge_f1" in (tmp_path / "again.txt").read_text("utf-8")
    assert json.loads((tmp_path / "again.json").read_text("utf-8"))["suite"] == "graded"


def test_a_poor_locale_and_a_closed_stream_are_no_errors(graded: Path, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "veridical", "bench", "graded", "--data", str(graded),
               "--scorers", "knowledge_f1", "--bootstrap", "0"]  # fmt: skip
    poor = {**os.environ, "PYTHONIOENCODING": "ascii"}
    shown = subprocess.run(command, cwd=tmp_path, env=poor, capture_output=True, check=False)
    assert shown.returncode == 0, shown.stderr
    assert b"knowledge_f1" in shown.stdout
    as_json = subprocess.run([*command, "--json", "-"], cwd=tmp_path, env=poor,
                             capture_output=True, check=False)  # fmt: skip
    assert json.loads(as_json.stdout.decode("utf-8"))["suite"] == "graded"
    closed = " ".join(map(shlex.quote, command)) + " >&- 2>&-"
    assert subprocess.run(closed, shell=True, cwd=tmp_path, check=False).returncode == 0


def test_list_says_what_each_suite_needs(tmp_path: Path) -> None:
    done = run("bench", "--list", cwd=tmp_path)
    assert done.returncode == 0
    for name in ("wikibio", "begin", "halueval", "refchecker", "ragtruth", "truthfulqa",
                 "faithdial", "graded"):  # fmt: skip
        assert name in done.stdout
    assert "unit_labels" in done.stdout and "source_info" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["bench"], "name a suite"),
        (["bench", "wikibio"], "needs --data PATH"),
        (["bench", "wikibo", "--data", "x"], "did you mean 'wikibio'"),
        (["bench", "graded", "--data", "none.jsonl"], "none.jsonl"),
        (["bench", "graded", "begin", "--data", "x"], "NAME=PATH"),
        (["bench", "graded", "--data", "DATA", "--scorers", "nope"], "unknown scorer"),
        (["bench", "graded", "--data", "DATA", "--samples", "two"], "--samples"),
        (["bench", "graded", "--data", "DATA", "--report", "x.pdf"], ".html, .md"),
        (["bench", "--table", "t.csv"], "--study"),
        (["bench", "--study", "--table", "t.csv"], "t.csv"),
        (["bench", "graded", "--data", "DATA", "--study", "--size-bins", "1"], "--table"),
        (["bench", "--study", "--table", "t.csv", "--size-bins", "1,x"], "'1,x'"),
        (["bench", "--study", "--table", "t.csv", "--size-bins", "4,1"], "increasing"),
        (["bench", "graded", "--data", "DATA", "--protocol", "slow"], "slow"),
        (["bench", "graded", "--data", ""], "--data is empty"),
        (["bench", "graded", "--data", "DATA", "--data", "x"], "one --data"),
        (["bench", "graded", "--data", "DATA", "--seed", "-1"], "--seed"),
        (["bench", "graded", "--data", "DATA", "--beta", "0"], "beta"),
        (["bench", "graded", "--data", "DATA", "--beta", "inf"], "beta"),
        (["bench", "graded", "--data", "DATA", "--famd", "support, ngram"], "--study"),
        (["bench", "graded", "--data", "DATA", "--json", "DATA"], "it is an input"),
        (["bench", "graded", "--data", "DATA", "--json", "."], "it is a folder"),
        (["bench", "graded", "--data", "DATA", "--map", "response"], "field=column"),
        (["bench", "begin", "--data", "DATA", "--map", "response=x"], "graded"),
    ],
)
def test_usage_errors(arguments: list[str], told: str, graded: Path, tmp_path: Path) -> None:
    filled = [str(graded) if a == "DATA" else a for a in arguments]
    done = run(*filled, cwd=tmp_path)
    assert done.returncode == 1
    assert told in done.stderr and "Traceback" not in done.stderr
    assert "internal error" not in done.stderr and "scoring" not in done.stderr


def test_a_table_that_is_not_there_is_told_before_the_scoring(graded: Path, tmp_path: Path) -> None:
    done = run("bench", "graded", "--data", graded, "--scorers", "knowledge_f1", "--study",
               "--table", "none.csv", cwd=tmp_path)  # fmt: skip
    assert done.returncode == 1 and "none.csv" in done.stderr
    assert "scoring" not in done.stderr


def test_columns_of_ones_own_names(graded: Path, tmp_path: Path) -> None:
    rows = [json.loads(line) for line in graded.read_text("utf-8").splitlines()]
    with (tmp_path / "own.csv").open("w", encoding="utf-8", newline="") as out:
        table = csv.writer(out)
        table.writerow(["the text", "wrong", "contexts"])
        table.writerows([r["response"], r["label"], r["contexts"]] for r in rows)
    for place in ("own.csv", "."):  # of the folder, this file alone has these columns
        done = run("bench", "graded", "--data", place, "--scorers", "knowledge_f1",
                   "--map", "response=the text", "--map", "label=wrong", "--json", "-",
                   "--bootstrap", "0", cwd=tmp_path)  # fmt: skip
        assert done.returncode == 0, done.stderr
        found = [r for r in json.loads(done.stdout)["rows"] if r["scorer"] == "knowledge_f1"]
        assert {r["n_scored"] for r in found} == {80}


def test_a_link_or_pipe_is_written_to_and_not_replaced(tmp_path: Path) -> None:
    (tmp_path / "there.json").write_text("old", encoding="utf-8")
    (tmp_path / "link.json").symlink_to("there.json")
    os.mkfifo(tmp_path / "pipe")
    reader = os.open(tmp_path / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    for name in ("link.json", "pipe", "new.json", "new.json"):
        with opened(str(tmp_path / name)) as out:
            assert out is not None
            out.write("figures")
    assert (tmp_path / "link.json").is_symlink() and (tmp_path / "pipe").is_fifo()
    assert os.read(reader, 100) == b"figures"
    os.close(reader)
    assert (tmp_path / "there.json").read_text("utf-8") == "figures"
    assert sorted(p.name for p in tmp_path.iterdir()) == [
        "link.json", "new.json", "pipe", "there.json",
    ]  # fmt: skip


def test_low_coverage_tells_suites_apart(tmp_path: Path) -> None:
    """Both suites call their only part ``all``; only one has a bad row."""
    rows = [{"response": f"r{i}", "contexts": "r", "label": i % 2} for i in range(20)]
    good = [{"source_id": str(i), "model": "m", "response": "r", "labels": []} for i in range(20)]
    for name, data in (("g.jsonl", [*rows, {"label": 1}]), ("r.jsonl", [*good, {"labels": []}])):
        text = "".join(json.dumps(r) + "\n" for r in data)
        (tmp_path / name).write_text(text, encoding="utf-8")
    done = run("bench", "graded", "ragtruth", "--data", "graded=g.jsonl", "--data",
               "ragtruth=r.jsonl", "--scorers", "knowledge_f1", "--bootstrap", "0",
               cwd=tmp_path)  # fmt: skip
    assert done.returncode == 2
    assert "knowledge_f1 on graded all 95.2 %" in done.stderr


def test_data_of_another_format_is_named(tmp_path: Path) -> None:
    (tmp_path / "x.jsonl").write_text('{"text": "no such thing"}\n', encoding="utf-8")
    done = run("bench", "wikibio", "--data", "x.jsonl", cwd=tmp_path)
    assert done.returncode == 1
    assert "gpt3_sentences" in done.stderr and "Traceback" not in done.stderr


def test_low_coverage_fails_the_run(tmp_path: Path) -> None:
    rows = [{"response": f"r{i}", "contexts": "r", "label": i % 2} for i in range(40)]
    rows[3]["label"] = rows[4]["label"] = 5
    path = tmp_path / "g.jsonl"
    path.write_text("".join(json.dumps(r) + "\n" for r in rows), encoding="utf-8")
    arguments = ("bench", "graded", "--data", path, "--scorers", "knowledge_f1", "--bootstrap", "0")
    done = run(*arguments, cwd=tmp_path)
    assert done.returncode == 2
    assert "coverage under 98 %" in done.stderr and "knowledge_f1" in done.stderr
    assert run(*arguments, "--min-coverage", "0.9", cwd=tmp_path).returncode == 0


def test_a_curve_over_the_number_of_samples(tmp_path: Path) -> None:
    path = tmp_path / "g.jsonl"
    with path.open("w", encoding="utf-8") as out:
        for i in range(60):
            bad = i % 2
            samples = [f"It is {i + bad * k}." for k in range(6)]
            row = {"response": f"It is {i}.", "samples": samples, "label": bad}
            out.write(json.dumps(row) + "\n")
    done = run("bench", "graded", "--data", path, "--scorers", "exact_match, ngram",
               "--samples", "1,3,6", "--json", "-", "--bootstrap", "50", cwd=tmp_path)  # fmt: skip
    assert done.returncode == 0, done.stderr
    made = json.loads(done.stdout)
    (split,) = made["splits"]
    curves = {
        c["scorer"]: [p[:2] for p in c["points"]]
        for c in split["samples"]
        if c["metric"] == "average_precision"
    }
    # the first sample is the response itself, so one sample tells nothing
    assert curves["exact_match"] == [[1, 0.5], [3, 1.0], [6, 1.0]]
    assert {r["samples"] for r in made["rows"] if r["scorer"] == "exact_match"} == {1, 3, 6}


def test_the_study_of_a_table_of_generations(tmp_path: Path) -> None:
    with (tmp_path / "t.csv").open("w", encoding="utf-8", newline="") as out:
        table = csv.writer(out)
        table.writerow(["model", "size", "tuning", "decoding", "item", "scorer", "value"])
        for item in range(30):
            for model, tuning, shift in (("m-1B", "base", 0.0), ("m-1B-it", "instruct", 0.4)):
                for decoding in ("greedy", "top-p", "ancestral"):
                    value = shift + ((item * 37 + len(decoding)) % 17) / 100
                    table.writerow([model, "1B", tuning, decoding, item, "critic", value])
    done = run("bench", "--study", "--table", "t.csv", "--json", "s.json", "--report", "s.html",
               cwd=tmp_path)  # fmt: skip
    assert done.returncode == 0, done.stderr
    study = json.loads((tmp_path / "s.json").read_text("utf-8"))["study"]
    tuning = next(t for t in study["tests"] if t["factor"] == "tuning")
    assert tuning["p"] < 1e-6 and tuning["scorer"] == "critic"
    done = run("bench", "--study", "--table", "t.csv", "--size-bins", "0.3,1", "--json", "b.json",
               cwd=tmp_path)  # fmt: skip
    assert done.returncode == 0, done.stderr
    binned = json.loads((tmp_path / "b.json").read_text("utf-8"))
    assert binned["settings"]["size_bins"] == [0.3, 1.0]
    size = next(t for t in binned["study"]["tests"] if t["factor"] == "size")
    assert size["groups"] == {">=1B": 180}
    assert (tmp_path / "s.html").stat().st_size > 1000


def test_killed_and_run_again_is_as_if_never_killed(tmp_path: Path) -> None:
    path = tmp_path / "g.jsonl"
    with path.open("w", encoding="utf-8") as out:
        for i in range(160):
            texts = [f"Answer {i} sample {k}: " + f"word{i * k} " * 15 for k in range(4)]
            row = {"response": texts[0], "samples": texts[1:], "label": i % 2}
            out.write(json.dumps(row) + "\n")
    arguments = ["bench", "graded", "--data", path, "--scorers", "cosine, ngram",
                 "--bootstrap", "50", "--json", "x.json"]  # fmt: skip
    command = [sys.executable, "-m", "veridical", *map(str, arguments)]
    broken = tmp_path / "broken"
    broken.mkdir()
    first = subprocess.Popen(command, cwd=broken, stderr=subprocess.DEVNULL)
    try:
        _wait_for_lines(broken, 20, first)
    finally:
        first.kill()
        first.wait()
    scored = _lines(broken)
    assert 20 <= scored < 160 and not (broken / "x.json").exists()
    again = run(*arguments, cwd=broken)
    assert again.returncode == 0, again.stderr
    assert "resumed" in again.stderr or _lines(broken) == 160
    whole = tmp_path / "whole"
    whole.mkdir()
    assert run(*arguments, cwd=whole).returncode == 0
    found, expected = (
        json.loads((folder / "x.json").read_text("utf-8")) for folder in (broken, whole)
    )
    assert found["run"] == expected["run"] and len(found["rows"]) == len(expected["rows"])
    for a, b in zip(found["rows"], expected["rows"], strict=True):
        assert (a["scorer"], a["metric"], a["n_scored"]) == (b["scorer"], b["metric"], 160)
        for figure in ("value", "ci_low", "ci_high"):
            assert a[figure] == (b[figure] and pytest.approx(b[figure], abs=1e-5))


def _lines(folder: Path) -> int:
    return sum(p.read_bytes().count(b"\n") for p in folder.glob(".veridical/runs/*/results.jsonl"))


def _wait_for_lines(folder: Path, n: int, child: subprocess.Popen[bytes]) -> None:
    while _lines(folder) < n:
        assert child.poll() is None, "it ended with too few lines"
        time.sleep(0.02)


def test_questions_are_answered_as_asked_for(tmp_path: Path) -> None:
    rows = [{"question": f"What is {i} + 1?", "answer": f"#### {i + 1}"} for i in range(12)]
    (tmp_path / "gsm8k_test.jsonl").write_text("".join(json.dumps(r) + "\n" for r in rows))
    script = [{"contains": f"What is {i} ", "text": [str(i + 1 + i % 2), "7"]} for i in range(12)]
    (tmp_path / "script.json").write_text(json.dumps(script))
    asked = ["bench", "qa", "--data", "gsm8k_test.jsonl", "--llm", "fake:script.json",
             "--scorers", "exact_match", "--bootstrap", "0", "--json", "-"]  # fmt: skip
    done = run(*asked, "--n", "3", "--temperature", "0.5", "--max-tokens", "16",
               "--decoding", "top_p:0.9", "--samples", "1,3", cwd=tmp_path)  # fmt: skip
    assert done.returncode == 0, done.stderr
    made = json.loads(done.stdout)
    told = made["settings"]["sampling"]
    assert (told["n"], told["temperature"], told["max_tokens"]) == (3, 0.5, 16)
    assert (told["decoding"], told["response"], told["system"]) == ("top_p:0.9", "first", None)
    assert any("3 samples are drawn by top_p:0.9 at temperature 0.5" in note
               for split in made["splits"] for note in split["notes"])  # fmt: skip
    points = [p for s in made["splits"] for c in s["samples"] for p in c["points"]]
    assert {p[0] for p in points} == {1, 3}
    usual = json.loads(run(*asked, cwd=tmp_path).stdout)
    assert "sampling" not in usual["settings"]
    for wrong, why in (
        (["--n", "2", "--samples", "5"], "--samples 5 exceeds"),
        (["--temperature", "0"], "temperature 0"),
        (["--decoding", "magic"], "unknown decoding"),
        (["--response", "given"], "given"),
    ):
        refused = run(*asked, *wrong, cwd=tmp_path)
        assert refused.returncode == 1 and why in refused.stderr, refused.stderr
    other = run("bench", "qa", "--data", "gsm8k_test.jsonl", "--n", "3", cwd=tmp_path)
    assert other.returncode == 1 and "--llm" in other.stderr
