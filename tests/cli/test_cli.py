"""The command line as a user runs it: a child process in an empty folder."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from commands import run_command
from places import ROOT

Run = Callable[..., subprocess.CompletedProcess[str]]

ROWS: list[dict[str, Any]] = [
    {"id": "a", "response": "It is in Mali.", "samples": ["It is in Mali.", "It is in Mali."]},
    {"id": "b", "response": "It is in Peru.", "samples": ["It is in Mali.", "Nobody knows 42."]},
    {"id": 3, "response": "The tower is 70 m tall.", "contexts": "The tower is 57 m tall."},
]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    text = "".join(json.dumps(r) + "\n" for r in ROWS)
    (tmp_path / "answers.jsonl").write_text(text, encoding="utf-8")
    return tmp_path


@pytest.fixture
def run(folder: Path) -> Run:
    def call(*arguments: str, stdin: str | None = None) -> subprocess.CompletedProcess[str]:
        return run_command(*arguments, cwd=folder, stdin=stdin, env={"COLUMNS": "160"})

    return call


def test_check_end_to_end(run: Run, folder: Path) -> None:
    done = run("check", "answers.jsonl", "--json", "out.jsonl", "--report", "r.html", "--verbose")
    assert done.returncode == 0, done.stderr
    assert done.stdout == ""
    lines = [json.loads(x) for x in (folder / "out.jsonl").read_text().splitlines()]
    assert [x["id"] for x in lines] == ["a", "b", 3]
    assert lines[0]["risk"] < lines[1]["risk"]
    assert "claims" in done.stderr and "mean risk (95 %)" in done.stderr
    assert "<html" in (folder / "r.html").read_text("utf-8")
    (directory,) = (folder / ".veridical" / "runs").iterdir()
    assert len(directory.name) == 16
    again = run("check", "answers.jsonl", "--json", "-")
    assert again.returncode == 0
    assert [json.loads(x) for x in again.stdout.splitlines()] == lines  # resumed: nothing rescored
    assert [p.name for p in (folder / ".veridical" / "runs").iterdir()] == [directory.name]


def test_result_lines_match_the_published_schema(run: Run) -> None:
    import jsonschema

    schema = json.loads((ROOT / "docs" / "result.schema.json").read_text())
    validator = jsonschema.Draft202012Validator(schema)
    done = run("check", "answers.jsonl", "--json", "-")
    for text in done.stdout.splitlines():
        validator.validate(json.loads(text))
    with pytest.raises(jsonschema.ValidationError):
        validator.validate({**json.loads(text), "risk": 2})


def test_json_dash_leaves_stdout_to_results(run: Run) -> None:
    stdin = "".join(json.dumps(r) + "\n" for r in ROWS) + "not json\n"
    done = run("check", "-", "--preset", "fast", "--json", "-", "--min-coverage", "0", stdin=stdin)
    assert done.returncode == 0, done.stderr
    assert [json.loads(x)["row"] for x in done.stdout.splitlines()] == [0, 1, 2]
    assert "row 3" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["check", "absent.jsonl"], 1, "absent.jsonl"),
        (["check"], 1, "Missing argument"),
        (["check", "answers.jsonl", "--nonsense"], 1, "No such option"),
        (["check", "answers.jsonl", "--scorers", "cosin"], 1, "did you mean 'cosine'"),
        (["check", "answers.jsonl", "--map", "response"], 1, "field=column"),
        (["check", "answers.jsonl", "--map", "respnse=x"], 1, "respnse"),
        (["check", "answers.jsonl", "--map", "context=docs"], 1, "write --map contexts=docs"),
        (["check", "answers.jsonl", "--reader", "nope"], 1, "wikibio"),
        (["check", "answers.jsonl", "--prior", "3"], 1, "--prior must be between 0 and 1, not 3"),
        (
            ["check", "answers.jsonl", "--nli", "minni"],
            1,
            "'minni' names no model; did you mean mini?",
        ),
        (["check", "answers.jsonl", "--fail-over", "2"], 1, "from 0 to 1"),
        (["check", "answers.jsonl", "--fail-over", "cosine:x"], 1, "from 0 to 1"),
        (["check", "answers.jsonl", "--preset", "fast", "--fail-over", "cosine:0.1"], 1, "cosine"),
        (["check", "answers.jsonl", "--report", "no/where.html"], 1, "no/where.html"),
        (["check", "answers.jsonl", "--embedder", "no/such/folder/x"], 1, "no/such/folder/x"),
        (
            ["check", "answers.jsonl", "--preset", "fast", "--fail-over", "0.99"],
            3,
            "not be checked",
        ),
        (
            ["check", "answers.jsonl", "--scorers", "cosine", "--fail-over", "0.99"],
            3,
            "1 of 3 rows",
        ),
        (["check", "answers.jsonl", "--preset", "fast", "--fail-over", "0.01"], 3, "over 0.01"),
        (["check", "answers.jsonl", "--scorers", "ngram", "--fail-over", "ngram:0.01"], 3, "ngram"),
        (["nonsense"], 1, "No such command"),
    ],
)
def test_exit_codes_and_messages(run: Run, arguments: list[str], code: int, message: str) -> None:
    done = run(*arguments)
    assert done.returncode == code, done.stderr
    assert message in " ".join(done.stderr.split())
    assert "Traceback" not in done.stderr


def test_coverage_counts_bad_rows_and_fails_the_run(run: Run, folder: Path) -> None:
    with (folder / "answers.jsonl").open("a") as f:
        f.write('{"prompt": "no answer"}\n')
    done = run("check", "answers.jsonl", "--scorers", "exact_match", "--json", "-")
    assert done.returncode == 2
    assert "coverage under 98 %: exact_match 66.7 %" in done.stderr
    assert len(done.stdout.splitlines()) == 3
    strict = run("check", "answers.jsonl", "--scorers", "exact_match", "--strict")
    assert strict.returncode == 1 and "response" in strict.stderr
    fine = run("check", "answers.jsonl", "--scorers", "exact_match", "--min-coverage", "0.6")
    assert fine.returncode == 0


def test_a_bad_row_does_not_condemn_scorers_that_never_applied(run: Run, folder: Path) -> None:
    rows = ROWS[:2] * 50 + [{"prompt": "no answer"}]  # no contexts: knowledge_f1 never applies
    (folder / "many.jsonl").write_text("".join(json.dumps(r) + "\n" for r in rows))
    assert run("check", "many.jsonl", "--preset", "fast").returncode == 0


def test_no_valid_input_is_exit_1(run: Run, folder: Path) -> None:
    (folder / "bad.jsonl").write_text("{}\n[]\n")
    (folder / "empty.jsonl").write_text("")
    for name in ("bad.jsonl", "empty.jsonl"):
        done = run("check", name, "--preset", "fast")
        assert done.returncode == 1 and "no valid record" in done.stderr


def test_another_run_in_the_same_out_says_what_differs(run: Run) -> None:
    assert run("check", "answers.jsonl", "--preset", "fast", "--out", "o").returncode == 0
    done = run("check", "answers.jsonl", "--scorers", "ngram(n=2)", "--out", "o")
    assert done.returncode == 1 and "another run; differences: scorers: it has" in " ".join(
        done.stderr.split()
    )


def test_report_again_from_the_run_directory(run: Run, folder: Path) -> None:
    assert run("check", "answers.jsonl", "--preset", "fast", "--out", "o").returncode == 0
    assert run("report", "o", "--out", "again.html").returncode == 0
    assert (folder / "again.html").stat().st_size > 10_000
    (folder / "answers.jsonl").write_text('{"response": "other"}\n')
    changed = run("report", "o", "--out", "again.html")
    assert changed.returncode == 1 and "changed" in changed.stderr


def test_plan_is_exact_and_leaves_nothing_behind(run: Run, folder: Path) -> None:
    done = run("plan", "answers.jsonl", "--scorers", "cosine, checkembed", "--json", "-")
    assert done.returncode == 0, done.stderr
    plan = json.loads(done.stdout)
    assert plan["records"] == 3
    (model,) = plan["models"]
    assert model["requests"] == 3  # distinct texts of the two records with samples
    assert (plan["llm"]["calls"], plan["llm"]["tokens"], plan["llm"]["cost"]) == (0, 0, 0.0)
    assert plan["seconds"] > 0
    assert not (folder / ".veridical").exists()
    run("check", "answers.jsonl", "--scorers", "cosine, checkembed")
    after = json.loads(run("plan", "answers.jsonl", "--scorers", "cosine", "--json", "-").stdout)
    assert after["models"][0]["stored"] == 3 and after["models"][0]["windows"] == 0
    assert "about" in run("plan", "answers.jsonl").stdout
    told = run("plan", "answers.jsonl", "--scorers", "cosine, entailment").stdout
    assert "3 distinct texts (3 already stored" in told and " distinct pairs (" in told


def test_plan_at_scale_is_printed_and_written(run: Run, folder: Path) -> None:
    words = ["plan", "answers.jsonl", "--scorers", "ngram", "--records", "1000000000"]
    done = run(*words, "--price", "0.05", "--machines", "40", "--json", "plan.json")
    assert done.returncode == 0, done.stderr
    scale = json.loads((folder / "plan.json").read_text())["scale"]
    assert (scale["records"], scale["sample"], scale["machines"]) == (1_000_000_000, 3, 40)
    assert "1 000 000 000 records like these 3" in done.stdout and "unchecked" in done.stdout
    assert "fast, then scorers (10%)" in done.stdout and "rent" in done.stdout
    few = run("plan", "answers.jsonl", "--records", "2")
    assert few.returncode == 1 and "--records 2 must be at least the 3 rows" in few.stderr


def test_lists(run: Run) -> None:
    done = run("scorers", "--json")
    names = {s["name"] for s in json.loads(done.stdout)}
    assert {"checkembed", "ngram", "support"} <= names
    assert "Manakul" in run("scorers", "ngram").stdout
    assert any("MiniLM" in str(m) for m in json.loads(run("models", "--json").stdout))
    assert "MiniLM" in run("models").stdout
    assert run("--version").stdout.startswith("veridical ")
    for command in ("check", "plan", "report", "scorers", "models"):
        text = run(command, "--help").stdout
        assert "Example" in text and "veridical " + command in text


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX signals")
def test_ctrl_c_leaves_a_resumable_run(run: Run, folder: Path) -> None:
    words = ["river", "town", "mayor", "bridge", "market", "school", "temple", "museum"]
    with (folder / "many.jsonl").open("w") as f:
        for i in range(3000):
            texts = [" ".join(f"{w}{(i * 7 + j) % 97}" for w in words * 4) for j in range(4)]
            f.write(json.dumps({"response": texts[0], "samples": texts[1:]}) + "\n")
    command = [sys.executable, "-m", "veridical", "check", "many.jsonl", "--out", "o"]
    command += ["--scorers", "checkembed", "--store", "none"]
    child = subprocess.Popen(command, cwd=folder, stderr=subprocess.PIPE, text=True)
    results = folder / "o" / "results.jsonl"
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and not (results.exists() and results.stat().st_size):
        time.sleep(0.05)
    child.send_signal(signal.SIGINT)
    _, errors = child.communicate(timeout=60)
    assert child.returncode == 130, errors
    assert "resume" in errors and "Traceback" not in errors
    done = len(results.read_bytes().splitlines())
    assert 0 < done < 3000
    with_limit = run("check", "many.jsonl", "--out", "o", "--scorers", "checkembed", "--limit", "5")
    assert with_limit.returncode == 1  # another run
    assert len(results.read_bytes().splitlines()) == done
