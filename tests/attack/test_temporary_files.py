"""Nothing of a run stays in the temporary folder, whatever way it ends.

Each case runs as a process of its own, its prompts on standard input and the temporary folder its
own. What killed processes leave, which cannot be helped, the next one clears away.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest

import veridical
from veridical.errors import StrictError, UsageError

SECRET = "my secret prompt"
GOOD = "".join(
    json.dumps(
        {
            "prompt": f"{SECRET} {i}",
            "response": f"It is {i} m tall.",
            "samples": ["It is 2 m tall."],
            "reference": "2 m",
            "label": i % 2,
        }
    )
    + "\n"
    for i in range(4)
)
PROMPTS = "".join(json.dumps({"prompt": f"{SECRET} {i}"}) + "\n" for i in range(4))
BAD = GOOD + "no json\n"
FAST = ("--preset", "fast", "--store", "none")
DOWN = '[llm.down]\nbase_url = "http://127.0.0.1:9/v1"\nmodel = "m"\nattempts = 1\n'

#: Commands that fail, what they read, and what is said.
FAILING = {
    "a scorer's name": (("check", "-", "--scorers", "cosin"), GOOD, "did you mean"),
    "a scorer's name, while rows wait": (("check", "-", "--policy", "no.toml"), GOOD, "no.toml"),
    "a bad row": (("check", "-", *FAST, "--strict"), BAD, "not JSON"),
    "a bad row that had a result": (("check", "-", *FAST, "--strict", "--out", "r"), BAD, "JSON"),
    "an endpoint that is down": (
        ("check", "-", "--llm", "down", "--scorers", "judge", "--store", "none"),
        GOOD,
        "coverage under",
    ),
    "an embedder that is none": (("check", "-", "--embedder", "no/such/x"), GOOD, "no/such/x"),
    "an output that is refused": (("check", "-", *FAST, "--json", "no/r.jsonl"), GOOD, "folder"),
    "an output that is full": (("check", "-", *FAST, "--json", "/dev/full"), GOOD, "space"),
    "a run that is another": (("check", "-", *FAST, "--out", "other"), GOOD, "another run"),
    "a folder that is no run": (("check", "-", *FAST, "--out", "."), GOOD, "not a run directory"),
    "no valid record": (("check", "-", *FAST), "{}\n", "no valid record"),
    "an input that is no data": (
        ("check", "-", *FAST),
        "\x00\x01\x02",
        r"unknown format; it begins with '\x00\x01\x02'",
    ),
    "too few labels": (("tune", "-", *FAST), GOOD, "error"),
    "a store that is none": (("tune", "-", "--store", "in.jsonl"), GOOD, "in.jsonl"),
    "too few to train on": (
        ("train", "halludetect", "-", "--out", "m.json", "--store", "none"),
        GOOD,
        "error",
    ),
    "sampling from an endpoint that is down": (
        ("sample", "-", "--llm", "down", "--out", "a.jsonl"),
        PROMPTS,
        "0 of 4 rows are answered",
    ),
    "a plan of a stream": (("plan", "-", *FAST), GOOD, "stream"),
    "a bench without items": (("bench", "graded", "--data", "none.jsonl"), "", "none.jsonl"),
    "a corpus that is none": (("check", "-", "--corpus", "nowhere"), GOOD, "nowhere"),
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "tmp").mkdir()
    (tmp_path / "in.jsonl").write_text('{"response": "a"}\n')
    (tmp_path / "none.jsonl").write_text("[]\n")
    (tmp_path / "veridical.toml").write_text(DOWN)
    veridical.check(str(tmp_path / "in.jsonl"), preset="fast", out=tmp_path / "other")
    return tmp_path


def start(folder: Path, *arguments: str, **settings: object) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "veridical", *arguments],
        cwd=folder,
        env={**os.environ, "TMPDIR": str(folder / "tmp"), "ORT_DISABLE_TELEMETRY": "1"},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        **settings,  # type: ignore[call-overload]
    )


def left(folder: Path) -> list[str]:
    return [str(p) for p in (folder / "tmp").rglob("*")]


@pytest.mark.parametrize("case", FAILING)
def test_a_failing_command_leaves_nothing(folder: Path, case: str) -> None:
    arguments, stdin, said = FAILING[case]
    child = start(folder, *arguments)
    _, err = child.communicate(stdin, timeout=120)
    assert child.returncode in (1, 2), err
    assert said.lower() in err.lower()
    assert "Traceback" not in err and "internal error" not in err
    assert left(folder) == []


@contextlib.contextmanager
def silent_server() -> Iterator[str]:
    """A chat endpoint that never answers."""

    class Silent(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            time.sleep(60)

        def log_message(self, *_: object) -> None:
            """Says nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Silent)
    server.daemon_threads = True
    Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1#model"
    finally:
        server.shutdown()
        server.server_close()


#: Commands that wait for an endpoint, with the temporary copy of their prompts there.
WAITING = {
    "check": ("check", "-", "--scorers", "exact_match", "--store", "none"),
    "sample": ("sample", "-", "--out", "a.jsonl", "--store", "none"),
    "tune": ("tune", "-", "--grader", "llm", "--scorers", "exact_match", "--store", "none"),
}


def wait_for_copy(folder: Path, child: subprocess.Popen[str]) -> list[int]:
    """The permissions of the copies of the prompts, once there are any."""
    places = [folder / "tmp", folder / ".veridical"]
    until = time.monotonic() + 60
    while time.monotonic() < until and child.poll() is None:
        modes = []
        with contextlib.suppress(FileNotFoundError):  # a copy moves to the folder of its run
            for path in (p for place in places for p in place.rglob("input*") if p.is_file()):
                mode = stat.S_IMODE(path.stat().st_mode)
                if SECRET in path.read_text():
                    modes.append(mode)
        if modes:
            return modes
        time.sleep(0.02)
    raise AssertionError(child.communicate()[1])


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
@pytest.mark.parametrize("command", WAITING)
def test_an_interrupted_command_leaves_nothing(
    folder: Path, command: str, number: signal.Signals
) -> None:
    with silent_server() as llm:
        child = start(folder, *WAITING[command], "--llm", llm)
        assert child.stdin is not None
        child.stdin.write(GOOD if command == "tune" else PROMPTS)
        child.stdin.close()
        child.stdin = None
        assert set(wait_for_copy(folder, child)) == {0o600}
        for place in (folder / "tmp").iterdir():
            assert stat.S_IMODE(place.stat().st_mode) == 0o700
        child.send_signal(number)
        _, err = child.communicate(timeout=60)
    assert child.returncode == (130 if number == signal.SIGINT else 128 + number), err
    assert "Traceback" not in err and "internal error" not in err
    assert left(folder) == []


def test_what_a_killed_command_left_goes_with_the_next(folder: Path) -> None:
    with silent_server() as llm:
        child = start(folder, *WAITING["sample"], "--llm", llm)
        assert child.stdin is not None
        child.stdin.write(PROMPTS)
        child.stdin.close()
        child.stdin = None
        wait_for_copy(folder, child)
        alive = start(folder, *WAITING["sample"][:3], "b.jsonl", "--llm", llm)
        assert alive.stdin is not None
        alive.stdin.write(PROMPTS)
        alive.stdin.close()
        alive.stdin = None
        while sum(p.name == "input" and p.is_file() for p in (folder / "tmp").rglob("*")) < 2:
            time.sleep(0.02)
        child.kill()
        child.communicate()
        foreign = folder / "tmp" / "veridical-of-somebody"
        foreign.mkdir()
        before = {p.name for p in (folder / "tmp").iterdir()}
        done = start(folder, "check", "-", *FAST, "--min-coverage", "0")
        assert done.communicate(GOOD, timeout=60)[1] and done.returncode == 0
        now = {p.name for p in (folder / "tmp").iterdir()}
        assert len(before - now) == 1  # that of the killed one, not that of the one alive
        assert foreign.is_dir()  # without a lock it is none of ours
        alive.terminate()
        alive.communicate(timeout=60)
    foreign.rmdir()
    assert left(folder) == []


def test_in_python_a_failed_run_leaves_nothing(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(folder / "tmp"))
    rows = [json.loads(line) for line in GOOD.splitlines()]
    for settings, error in (
        ({"scorers": "cosin"}, UsageError),
        ({"preset": "fast", "strict": True}, StrictError),
        ({"preset": "fast", "out": folder}, UsageError),
        ({"scorers": "cosine", "embedder": "no/such/folder/x"}, Exception),
    ):
        with pytest.raises(error) as raised:
            veridical.check((r for r in [*rows, {"response": 3}]), **settings)
        assert raised.traceback is not None  # somebody holds the error, and with it the job
        assert left(folder) == []
    results = veridical.check(iter(rows), preset="fast")
    copy = results.path / "input"
    assert stat.S_IMODE(copy.stat().st_mode) == 0o600
    assert stat.S_IMODE(results.path.stat().st_mode) == 0o700
    del results
    assert left(folder) == []
