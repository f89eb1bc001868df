"""``veridical watch``: what it prints while files grow, what it leaves out, and how it ends."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from commands import run_command

SOURCE = "The tower is 57 m tall. It was finished in 1889."
WRONG = {"id": "wrong", "answer": "The tower is 70 m tall.", "contexts": SOURCE}
RIGHT = {"id": "right", "answer": "The tower is 57 m tall.", "contexts": SOURCE}
BARE = {"id": "bare", "answer": "The tower is 57 m tall."}
COMMAND = [sys.executable, "-m", "veridical", "watch"]


def line(row: dict[str, Any]) -> str:
    return json.dumps(row) + "\n"


def run(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    return run_command("watch", *arguments, "--store", "none", cwd=cwd)


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "a.jsonl"
    path.write_text(line(RIGHT) + line(WRONG) + "not json\n" + line(BARE)[:-1])
    return path


def test_only_what_is_neither_supported_nor_consistent_is_printed(log: Path) -> None:
    done = run("a.jsonl", "--once", cwd=log.parent)
    assert done.returncode == 0
    assert "a.jsonl:2  id wrong  contradicted  risk 0." in done.stdout
    assert "context 1   The tower is 57 m tall." in done.stdout
    assert "a.jsonl:4  id bare  unchecked" in done.stdout
    assert "nothing to check the answer against" in done.stdout
    assert "right" not in done.stdout and "not json" not in done.stdout
    assert "a.jsonl:3: not JSON" in done.stderr
    assert "1 supported" in done.stderr and "1 rows were no valid records" in done.stderr


def test_with_a_policy_only_what_it_does_not_accept(log: Path) -> None:
    (log.parent / "p.toml").write_text('accept = 0.5\nreject = 0.8\nunscored = "accept"\n')
    done = run("a.jsonl", "--once", "--policy", "p.toml", "--json", "-", cwd=log.parent)
    (told,) = map(json.loads, done.stdout.splitlines())
    assert (told["id"], told["decision"], told["file"], told["line"]) == (
        *("wrong", "reject"),
        *("a.jsonl", 2),
    )
    assert told["why"] == ["risk at least 0.8"]
    assert "2 accept, 1 reject" in done.stderr


def test_json_lines_are_appended(log: Path) -> None:
    for _ in range(2):
        assert run("a.jsonl", "--once", "--json", "flagged.jsonl", cwd=log.parent).returncode == 0
    told = [json.loads(text)["id"] for text in (log.parent / "flagged.jsonl").open()]
    assert sorted(told) == ["bare", "bare", "wrong", "wrong"]


def test_fields_may_be_mapped_and_read_by_a_reader(tmp_path: Path) -> None:
    row = {"said": WRONG["answer"], "docs": {"text": [SOURCE]}}
    (tmp_path / "a.jsonl").write_text(line(row))
    mapped = ("--map", "response=said", "--map", "contexts=docs.text")
    assert "contradicted" in run("a.jsonl", "--once", *mapped, cwd=tmp_path).stdout
    claim = {"claim": WRONG["answer"], "doc": SOURCE, "label": 0}
    (tmp_path / "a.jsonl").write_text(line(claim))
    done = run("a.jsonl", "--once", "--reader", "aggrefact", cwd=tmp_path)
    assert "a.jsonl:1  contradicted" in done.stdout


@pytest.fixture
def watching(tmp_path: Path) -> Iterator[Callable[..., subprocess.Popen[str]]]:
    started: list[subprocess.Popen[str]] = []

    def start(*arguments: str) -> subprocess.Popen[str]:
        with (tmp_path / "out.txt").open("w") as out, (tmp_path / "err.txt").open("w") as err:
            command = [*COMMAND, *arguments, "--store", "none"]
            child = subprocess.Popen(command, cwd=tmp_path, stdout=out, stderr=err, text=True)
        started.append(child)
        return child

    yield start
    for child in started:
        child.kill()
        child.wait()


def wait_for(path: Path, text: str, times: int = 1) -> None:
    deadline = time.monotonic() + 60
    while path.read_text().count(text) < times:
        assert time.monotonic() < deadline, path.read_text()
        time.sleep(0.05)


def test_growth_rotation_and_ctrl_c(
    tmp_path: Path, watching: Callable[..., subprocess.Popen[str]]
) -> None:
    log, out = tmp_path / "a.jsonl", tmp_path / "out.txt"
    log.write_text(line(RIGHT) + line(WRONG))
    child = watching("a.jsonl")
    wait_for(out, "contradicted")
    with log.open("a") as file:
        file.write(line(WRONG)[:20])
        file.flush()
        time.sleep(1)
        file.write(line(WRONG)[20:])
    wait_for(out, "a.jsonl:3  id wrong  contradicted")
    log.rename(tmp_path / "a.jsonl.1")
    log.write_text(line({**WRONG, "id": "after"}))
    wait_for(out, "a.jsonl:1  id after  contradicted")
    with log.open("a") as file:
        file.write(line(WRONG)[:20])
    time.sleep(1)
    child.send_signal(signal.SIGINT)
    assert child.wait(20) == 130
    err = (tmp_path / "err.txt").read_text()
    assert "interrupted" in err and "4 answers of 2 files" in err and "Traceback" not in err
    assert "3 contradicted, 1 supported" in err and "1 lines were not finished" in err


def test_from_the_end_of_a_folder(
    tmp_path: Path, watching: Callable[..., subprocess.Popen[str]]
) -> None:
    folder = tmp_path / "logs"
    folder.mkdir()
    (folder / "a.jsonl").write_text(line(WRONG))
    child = watching("logs", "--from-end")
    wait_for(tmp_path / "err.txt", "watching logs")
    (folder / "b.jsonl").write_text(line({**WRONG, "id": "new"}))
    wait_for(tmp_path / "out.txt", "logs/b.jsonl:1  id new  contradicted")
    assert "a.jsonl" not in (tmp_path / "out.txt").read_text()
    child.send_signal(signal.SIGTERM)
    assert child.wait(20) == 143


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nowhere.jsonl"], "No such file"),
        (["a.csv"], "only JSON lines can be followed"),
        ([".", "--json", "flagged.jsonl"], "it is in a folder that is read"),
        (["a.jsonl", "--json", "a.jsonl"], "a.jsonl"),
        (["a.jsonl", "--reader", "wikibioo"], "did you mean 'wikibio'"),
        (["a.jsonl", "--map", "respnse=a"], "respnse"),
        (["a.jsonl", "--scorers", "nlli"], "unknown scorer"),
        (["a.jsonl", "--policy", "none.toml"], "none.toml"),
        (["empty.jsonl", "--once"], "0 answers"),
    ],
)
def test_what_is_refused(tmp_path: Path, arguments: list[str], message: str) -> None:
    for name in ("a.jsonl", "a.csv", "empty.jsonl"):
        (tmp_path / name).write_text("")
    done = run(*arguments, cwd=tmp_path)
    assert done.returncode == 1 and message in " ".join(done.stderr.split()), done.stderr
    assert "Traceback" not in done.stderr and "internal" not in done.stderr


def test_hostile_text_is_shown_harmlessly(tmp_path: Path) -> None:
    hostile = {**WRONG, "id": "\x1b[31m\u202eevil", "question": "[bold]x[/bold]\x07"}
    (tmp_path / "a.jsonl").write_text(line(hostile) + '{"\\u001b[2J": 1}\n')
    done = run("a.jsonl", "--once", cwd=tmp_path)
    assert "[bold]x[/bold]" in done.stdout and "contradicted" in done.stdout
    assert not {"\x1b", "\u202e", "\x07"} & {*done.stdout, *done.stderr}
