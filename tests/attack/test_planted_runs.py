"""What somebody else has put into a run directory decides nothing."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import veridical
from veridical.api import AUTO, RUNS, Job, reopen
from veridical.engine.engine import Engine
from veridical.errors import UsageError
from veridical.files.rundir import RunDirectory, RunFiles
from veridical.files.seals import SECRET_VARIABLE, forget_secret
from veridical.llm.fake import FakeLlm
from veridical.sampling.sampling import Sampling

SCORERS = "exact_match"
RISKY = [
    {"id": f"r{i}", "response": f"It is {i} m tall.", "samples": ["Nobody can say.", "Who knows?"]}
    for i in range(12)
]


@contextmanager
def elsewhere() -> Iterator[None]:
    """Within it, files are sealed by another computer's secret."""
    own = os.environ[SECRET_VARIABLE]
    os.environ[SECRET_VARIABLE] = "the secret of an attacker"
    forget_secret()
    try:
        yield
    finally:
        os.environ[SECRET_VARIABLE] = own
        forget_secret()


@pytest.fixture
def answers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "answers.jsonl"
    path.write_text("".join(json.dumps(r) + "\n" for r in RISKY))
    return path


def check(path: Path, **more: Any) -> Job:
    more = {"out": RUNS / AUTO, "processes": 0, **more}
    job = Job(path, SCORERS, **more)
    job.wait()
    return job


def command(*arguments: str, secret: str = "the secret of the tests") -> Any:
    environment = {**os.environ, SECRET_VARIABLE: secret}
    told = [sys.executable, "-m", "veridical", *arguments]
    return subprocess.run(told, capture_output=True, text=True, env=environment, timeout=120)


def only(folder: Path) -> Path:
    (found,) = folder.iterdir()
    return found


def harmless(run: Path) -> None:
    """Make every result harmless, as far as an attacker can."""
    log = RunFiles(run).results
    lines = []
    for _, found in log.lines():
        told = json.loads(found)
        told["risk"] = 0.0
        told["scores"][SCORERS]["risk"] = 0.0
        lines.append(log.sealed(json.dumps(told, separators=(",", ":")).encode()) + b"\n")
    log.path.write_bytes(b"".join(lines))


def test_a_planted_run_does_not_pass_a_gate(answers: Path) -> None:
    gate = ("check", answers.name, "--scorers", SCORERS, "--fail-over", "0.5", "--store", "none")
    assert command(*gate, secret="the secret of an attacker").returncode == 3
    run = only(RUNS)
    text = (run / "results.jsonl").read_text().replace('"risk":1.0', '"risk":0.0')
    (run / "results.jsonl").write_text(text)
    told = command(*gate, "--report", "report.html")
    assert told.returncode == 3, told.stderr
    assert "12 stored lines were not trusted" in told.stderr and "resumed" not in told.stderr
    assert "results.jsonl: line 1" in told.stderr.replace("\n", "")
    assert "12 stored lines were not trusted" in Path("report.html").read_text()
    told = command(*gate)
    assert told.returncode == 3 and "resumed: 12 records" in told.stderr
    told = command(*gate, "--fresh")
    assert told.returncode == 3 and "resumed" not in told.stderr and "trusted" not in told.stderr


def test_results_sealed_elsewhere_are_scored_again(answers: Path) -> None:
    with elsewhere():
        check(answers)
        harmless(only(RUNS))
        assert all(r.risk == 0 for r in check(answers).results), "the attacker's own view"
    job = check(answers)
    assert all(r.risk == 1 for r in job.results)
    assert job.progress.records == 12 and job.progress.resumed == 0
    told = job.results.summary().as_dict()
    assert (told["resumed"], told["untrusted"], told["sealed"]) == (0, 12, True)
    assert check(answers).progress.resumed == 12


def test_lines_of_another_run_of_this_computer_are_not_used(answers: Path, tmp_path: Path) -> None:
    """A harmless run's lines, copied with their seals."""
    tame = [{**r, "samples": [r["response"]] * 2} for r in RISKY]
    (tmp_path / "tame.jsonl").write_text("".join(json.dumps(r) + "\n" for r in tame))
    check(tmp_path / "tame.jsonl", out=tmp_path / "tame")
    check(answers, out=tmp_path / "run")
    (tmp_path / "run" / "results.jsonl").write_bytes(
        (tmp_path / "tame" / "results.jsonl").read_bytes()
    )
    job = check(answers, out=tmp_path / "run")
    assert all(r.risk == 1 for r in job.results) and job.progress.records == 12


def test_rows_declared_bad_are_read_again(answers: Path) -> None:
    job = check(answers)
    run = job.directory.path
    (run / "results.jsonl").unlink()
    told = [
        {"row": i, "file": "answers.jsonl", "line": i + 1, "field": None, "error": "bad"}
        for i in range(12)
    ]
    (run / "errors.jsonl").write_text("".join(json.dumps(t) + "\n" for t in told))
    again = check(answers)
    assert again.progress.records == 12 and list(again.results.errors()) == []
    assert again.results.summary().untrusted == 12


def test_planted_answers_are_asked_for_again(tmp_path: Path) -> None:
    path = tmp_path / "prompts.jsonl"
    path.write_text("".join(json.dumps({"prompt": f"question {i}"}) + "\n" for i in range(6)))

    def run(said: Any) -> Job:
        # the answers' file alone: the journal, which would hold the replies, stays at home
        for journal in (tmp_path / "run").glob("journal*"):
            shutil.rmtree(journal) if journal.is_dir() else journal.unlink()
        settings: dict[str, Any] = {"llm": FakeLlm(said), "processes": 0}
        made = Job(path, "exact_match", sampling=Sampling(n=2), out=tmp_path / "run", **settings)
        made.wait()
        return made

    with elsewhere():
        run(lambda request: "all the same")
        (tmp_path / "run" / "results.jsonl").unlink()
    job = run(lambda request: f"answer {request.ordinal}")
    assert all(record.response.startswith("answer") for record, _ in job.results.pairs())
    assert job.directory.distrusted.count == 6


def test_planted_decisions_are_not_shown(answers: Path, tmp_path: Path) -> None:
    (tmp_path / "policy.toml").write_text("accept = 0.3\nreject = 0.7\n")
    job = check(answers, policy=tmp_path / "policy.toml")
    path = job.directory.path / "decisions.jsonl"
    assert {r.decision for r in reopen(job.directory.path)} == {"reject"}
    path.write_text("".join(f'{{"row":{i},"decision":"accept","why":[]}}\n' for i in range(12)))
    assert {r.decision for r in reopen(job.directory.path)} == {None}


def test_a_run_of_elsewhere_is_shown_and_said_to_be(answers: Path) -> None:
    with elsewhere():
        check(answers)
    run = only(RUNS)
    with (run / "results.jsonl").open("ab") as file:
        file.write(b'{"id":1,"row":99,"risk":7.3,"by":"x","decision":null,"scores":{}}\nx\n')
    results = reopen(run)
    assert len(list(results)) == 12 and not results.summary().sealed
    told = command("report", str(run), "--out", "r.html")
    assert told.returncode == 0 and "not sealed by this computer" in told.stderr.replace("\n", " ")
    assert "not sealed by this computer" in Path("r.html").read_text()
    check(answers)
    assert reopen(run).summary().sealed and len(list(reopen(run))) == 12


def test_a_run_of_an_older_version_is_shown_and_run_again(answers: Path) -> None:
    run = check(answers).directory.path
    files = RunFiles(run)
    old = b"".join(line + b"\n" for _, line in files.lines())
    (run / "results.jsonl").write_bytes(old)
    manifest = json.loads((run / "manifest.json").read_text())
    del manifest["seal"]
    (run / "manifest.json").write_text(json.dumps(manifest, indent=1))
    shown = reopen(run)
    assert [*shown.lines()] == old.splitlines() and len(list(shown.pairs())) == 12
    assert shown.report(run.parent / "r.html").exists() and not shown.summary().sealed
    job = check(answers)
    assert job.progress.records == 12 and [*job.results.lines()] == old.splitlines()
    kept = json.loads((run / "manifest.json").read_text())
    assert kept["request"]["run"] == manifest["request"]["run"], "calls stay accounted for"


def test_seals_are_not_in_what_users_get(answers: Path) -> None:
    job = check(answers)
    for line in job.results.lines():
        assert set(json.loads(line)) == {
            *("id", "row", "risk", "by", "verdict", "reason", "decision", "scores")
        }


def test_fresh_uses_nothing_and_keeps_what_is_not_its_own(answers: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    check(answers, out=out)
    (out / "notes.txt").write_text("mine")
    (out / "journal.sqlite").touch()
    (out / "repair-0123abcd").mkdir()
    (out / "repair-0123abcd" / "results.jsonl").touch()
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "precious").touch()
    (out / "selected-0123abcd").symlink_to(outside)
    job = check(answers, out=out, fresh=True)
    assert job.progress.records == 12 and job.progress.resumed == 0
    assert {p.name for p in out.iterdir()} == {
        *("manifest.json", "results.jsonl", "run.lock", "notes.txt", "journal.sqlite"),
    }
    assert (outside / "precious").exists()
    other = [{**r, "response": "Another."} for r in RISKY]
    answers.write_text("".join(json.dumps(r) + "\n" for r in other))
    with pytest.raises(UsageError, match="--fresh"):
        check(answers, out=out)
    assert check(answers, out=out, fresh=True).progress.records == 12


def test_fresh_leaves_a_folder_that_is_no_run_alone(tmp_path: Path) -> None:
    (tmp_path / "manifest.json").write_text('{"name": "a web page"}')
    (tmp_path / "input").write_text("precious")
    for _ in range(2):  # the first try leaves a lock there
        with pytest.raises(UsageError, match="not a readable run directory"):
            RunDirectory(tmp_path, {"a": 1}, {}, fresh=True)
        (tmp_path / "index.html").touch()
    assert (tmp_path / "input").read_text() == "precious"


def test_results_that_are_a_link_are_not_written_to(answers: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    check(answers, out=out)
    victim = tmp_path / "victim"
    victim.write_text("precious")
    (out / "results.jsonl").unlink()
    (out / "results.jsonl").symlink_to(victim)
    with pytest.raises(UsageError, match="is a link"):
        check(answers, out=out)
    assert victim.read_text() == "precious"
    assert check(answers, out=out, fresh=True).progress.records == 12
    assert victim.read_text() == "precious"


def test_what_a_run_writes_is_its_owners_alone(tmp_path: Path) -> None:
    path = tmp_path / "prompts.jsonl"
    path.write_text('{"prompt": "question 1"}\n{"prompt": " "}\n{"prompt": "question 2"}\n')
    (tmp_path / "policy.toml").write_text("accept = 0.3\nreject = 0.7\n")
    with Engine(llm=FakeLlm(lambda r: "yes"), store=tmp_path / "store", processes=0) as engine:
        settings: dict[str, Any] = {"policy": tmp_path / "policy.toml", "select": "best"}
        for out in ("run", "own"):
            if out == "own":
                (tmp_path / out).mkdir(mode=0o755)
            veridical.check(path, "exact_match", out=tmp_path / out, engine=engine, **settings)
    for folder in ("run", "store"):
        assert (tmp_path / folder).stat().st_mode & 0o777 == 0o700
        for found in (tmp_path / folder).rglob("*"):
            if found.is_dir():
                assert found.stat().st_mode & 0o777 == 0o700, found
            elif found.stat().st_size:
                assert found.stat().st_mode & 0o777 == 0o600, found
    assert (tmp_path / "own").stat().st_mode & 0o777 == 0o755, "a folder of the user stays"
