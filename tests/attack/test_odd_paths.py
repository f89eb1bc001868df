"""Every path a user may give, in every place that takes one: a line of error, never a traceback.

A link to itself, NUL bytes, names too long or of no encoding, folders, files where folders are
meant: commands times options times paths, in this process; closed streams, pipes, missing rights
and an absent home in processes of their own.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from veridical.api import reopen
from veridical.cli import main

FAST = ("--preset", "fast", "--store", "none")
LLM = ("--llm", "fake:rules.json", "--store", "none")
ODD = {
    "a link to itself": "loop",
    "below a link to itself": "loop/x.json",
    "a NUL byte": "a\0b.json",
    "a name too long": "x" * 300,
    "a path too long": "x/" * 3000 + "x",
    "a folder": "dir",
    "here": ".",
    "nothing": "",
    "below a file": "in.jsonl/x",
    "a name that is not UTF-8": os.fsdecode(b"bad\xff.jsonl"),
    "half a character": "\ud800x",
    "a link to nowhere": "dangling",
    "of nobody": "~nobody/x",
}
#: Commands with the place of a path, ``{}``.
PLACES = (
    ("check", "{}", *FAST),
    ("check", "in.jsonl", "{}", *FAST),
    ("check", "in.jsonl", *FAST, "--out", "{}"),
    ("check", "in.jsonl", *FAST, "--json", "{}"),
    ("check", "in.jsonl", *FAST, "--report", "{}"),
    ("check", "in.jsonl", *FAST, "--policy", "{}"),
    ("check", "in.jsonl", "--store", "none", "--cascade", "{}"),
    ("check", "in.jsonl", *FAST, "--embedder", "no/such/x", "--corpus", "{}"),
    ("check", "in.jsonl", "--scorers", "ngram", "--store", "{}"),
    ("check", "in.jsonl", "--store", "none", "--scorers", "ensemble(file={!r})"),
    ("check", "in.jsonl", "--store", "none", "--scorers", "halludetect(model={!r})"),
    ("check", "in.jsonl", *LLM, "--scorers", "judge(template={!r})"),
    ("check", "in.jsonl", "--store", "none", "--scorers", "judge", "--llm", "fake:{}"),
    ("check", "in.jsonl", "--store", "none", "--scorers", "cosine", "--embedder", "{}"),
    ("plan", "{}", "--preset", "fast"),
    ("plan", "in.jsonl", "--preset", "fast", "--json", "{}"),
    ("plan", "in.jsonl", "--preset", "fast", "--embedder", "no/such/x", "--corpus", "{}"),
    ("plan", "in.jsonl", "--preset", "fast", "--store", "{}"),
    ("tune", "{}", *FAST),
    ("tune", "in.jsonl", *FAST, "--out", "{}"),
    ("tune", "in.jsonl", *FAST, "--run", "{}"),
    ("tune", "in.jsonl", *FAST, "--labels", "{}"),
    ("tune", "in.jsonl", *FAST, "--cascade", "{}"),
    ("bench", "graded", "--data", "{}", "--store", "none", "--scorers", "ngram"),
    ("bench", "--study", "--table", "{}"),
    ("bench", "graded", "--data", "in.jsonl", "--scorers", "ngram", "--out", "{}"),
    ("rank", "{}", "--store", "none"),
    ("rank", "a={}", "--store", "none"),
    ("rank", "in.jsonl", "--store", "none", "--json", "{}"),
    ("report", "{}"),
    ("report", "in.jsonl", "--out", "{}"),
    ("sample", "{}", *LLM, "--out", "a.jsonl"),
    ("sample", "in.jsonl", *LLM, "--out", "{}"),
    ("sample", "in.jsonl", "--grid", "{}", "--out", "a.jsonl"),
    ("redteam", "--llm", "fake:rules.json", "--template", "{}"),
    ("redteam", "--llm", "fake:rules.json", "--limit", "2", "--json", "{}"),
    ("corpus", "{}", "--store", "none", "--embedder", "no/such/x"),
    ("train", "halludetect", "{}", "--out", "m.json", "--store", "none"),
    ("train", "halludetect", "in.jsonl", "--out", "{}", "--store", "none"),
    ("train", "repc", "{}", "--proxy", "x", "--out", "m.json"),
    ("train", "checker", "{}", "--base", "x", "--out", "m"),
    ("models", "convert", "dir", "--out", "{}"),
)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("in.jsonl").write_text('{"response": "a", "prompt": "q", "samples": ["a"], "label": 1}\n')
    Path("rules.json").write_text('[{"text": "Correct"}]')
    Path("policy.toml").write_text("veridical_policy = 1\naccept = 0.5\n")
    Path("loop").symlink_to("loop")
    Path("dangling").symlink_to("no/where")
    Path("dir").mkdir()
    Path("dir", "x").touch()
    Path(os.fsdecode(b"bad\xff.jsonl")).write_text('{"response": "a", "samples": ["b"]}\n')
    return tmp_path


@pytest.mark.parametrize("place", PLACES, ids=" ".join)
def test_an_odd_path_is_a_line_of_error(
    folder: Path,
    place: tuple[str, ...],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    for name, path in ODD.items():
        arguments = [part.format(path) for part in place]
        monkeypatch.setattr(sys, "argv", ["veridical", *arguments])
        with pytest.raises(SystemExit) as ended:
            main()
        said = capsys.readouterr().err
        assert ended.value.code in (0, 1, 2), (name, said)  # some are names as good as any
        assert "internal error" not in said and "Traceback" not in said, (name, said)
        assert ended.value.code == 0 or said.strip(), name


def shell(command: str, folder: Path, **environment: str) -> tuple[int, str]:
    script = command.replace("veridical", f"{sys.executable} -m veridical", 1)
    done = subprocess.run(
        ["bash", "-c", script],
        cwd=folder,
        env={**os.environ, **environment},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=60,
        check=False,
    )
    return done.returncode, done.stderr.decode("utf-8", "replace")


@pytest.mark.parametrize(
    ("command", "code", "says"),
    [
        ("veridical check - --preset fast --store none <&-", 1, "standard input is closed"),
        ("veridical sample - --llm fake:rules.json --out a.jsonl <&-", 1, "is closed"),
        ("veridical check in.jsonl --preset fast --store none --json /dev/fd/9", 1, "nothing is"),
        ("veridical check in.jsonl --preset fast --store none --json /dev/full", 1, "space"),
        ("veridical check in.jsonl --preset fast --store none 2>&-", 0, ""),
        ("set -o pipefail; veridical scorers --json | true; exit 0", 0, ""),
    ],
)
def test_closed_and_full_streams(folder: Path, command: str, code: int, says: str) -> None:
    ended, said = shell(command, folder)
    assert "internal error" not in said and "Traceback" not in said, said
    assert ended == code and says in said, said


def test_results_of_files_and_pipes_together_can_be_reported_again(folder: Path) -> None:
    command = "veridical check in.jsonl <(cat in.jsonl) <(cat in.jsonl) --preset fast --out run"
    code, said = shell(f"{command} --store none", folder)
    assert code == 0, said
    assert reopen("run").report("r.html").is_file()
    assert [r.row for r, _ in reopen("run").pairs()] == [0, 1, 2]


@pytest.mark.parametrize("environment", [{"HOME": ""}, {"HOME": "/nowhere"}, {"HOME": "/dev/null"}])
def test_without_a_home(folder: Path, environment: dict[str, str]) -> None:
    drop = "unset XDG_CONFIG_HOME XDG_CACHE_HOME; "
    command = "veridical check in.jsonl --preset fast --store none --json r.jsonl"
    code, said = shell(drop + command, folder, **environment)
    assert code == 0, said
    code, said = shell("unset HOME; " + drop + command, folder)
    assert code == 0, said


def test_a_pipe_that_nobody_writes_to_waits_and_is_interrupted(folder: Path) -> None:
    os.mkfifo("pipe")
    child = subprocess.Popen(
        [sys.executable, "-m", "veridical", "check", "pipe", *FAST],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    waiting = Path(f"/proc/{child.pid}/wchan")
    while waiting.exists() and child.poll() is None:
        try:
            if "fifo" in waiting.read_text():
                break
        except OSError:
            pass
        if waiting.read_text() in ("0", ""):  # the system does not tell
            time.sleep(3)
            break
        time.sleep(0.05)
    child.send_signal(signal.SIGINT)
    _, said = child.communicate(timeout=30)
    assert child.returncode == 130 and "Traceback" not in said, said
