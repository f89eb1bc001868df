"""Ctrl-C and SIGTERM at any moment, to the command and to its worker processes."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

if sys.platform == "win32":
    pytest.skip("POSIX signals", allow_module_level=True)

pytestmark = pytest.mark.alone

Ended = tuple[int, list[str]]

#: Says when the first line of the package is run: what comes before is Python's own.
STARTED = """
import os, signal, sys
signal.signal(signal.SIGINT, lambda *_: None)
from veridical.cli import main
os.write(1, b".")
sys.argv[0] = "veridical"
main()
"""


SCORERS = ("--scorers", "ngram, rouge_l")


@pytest.fixture()
def folder(tmp_path: Path) -> Path:
    row = {"response": "The town lies by a river. " * 40, "samples": ["A river. " * 90] * 4}
    with (tmp_path / "many.jsonl").open("w") as f:
        for i in range(3000):
            f.write(json.dumps({"id": i, **row}) + "\n")
    return tmp_path


def start(folder: Path, out: str, *more: str) -> subprocess.Popen[bytes]:
    arguments = ["check", "many.jsonl", "--out", out, "--processes", "2", "--store", "none"]
    child = subprocess.Popen(
        [sys.executable, "-c", STARTED, *arguments, *(more or SCORERS)],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    assert child.stdout is not None and child.stdout.read(1) == b"."
    return child


def ended(child: subprocess.Popen[bytes], workers: list[psutil.Process]) -> list[str]:
    """What was printed; no process of it is left."""
    _, errors = child.communicate(timeout=60)
    _, alive = psutil.wait_procs(workers, timeout=20)
    assert not [p for p in alive if p.status() != psutil.STATUS_ZOMBIE]
    return [line for line in errors.decode().splitlines() if line.strip()]


def workers(child: subprocess.Popen[bytes]) -> list[psutil.Process]:
    try:
        return psutil.Process(child.pid).children(recursive=True)
    except psutil.NoSuchProcess:
        return []


def at_work(worker: psutil.Process) -> bool:
    """Whether a worker has begun: Python's own handler takes SIGINT no more."""
    try:
        status = Path(f"/proc/{worker.pid}/status").read_text("ascii")
        caught = int(status.partition("SigCgt:")[2].split()[0], 16)
        return worker.num_threads() > 1 and not caught >> (signal.SIGINT - 1) & 1
    except (OSError, psutil.NoSuchProcess):
        return False


def caught(folder: Path, delay: float, send: Callable[[subprocess.Popen[bytes]], None]) -> Ended:
    """Code and lines of a command signalled before it told its results."""
    for _ in range(8):
        child = start(folder, "o", "--fresh", *SCORERS)
        time.sleep(delay)
        made = workers(child)
        send(child)
        told = ended(child, made)
        if not any("of the 3000 answers" in line for line in told):
            break
        delay /= 2
    return child.returncode, told


@pytest.mark.parametrize("seed", range(24))
def test_ctrl_c_again_and_again_from_any_moment_on(folder: Path, seed: int) -> None:
    """Half of them during the imports; to the whole group, as a terminal sends it."""
    rng = random.Random(seed)

    def send(child: subprocess.Popen[bytes]) -> None:
        for _ in range(rng.choice([3, 20, 200])):
            if child.poll() is None:
                os.killpg(child.pid, signal.SIGINT)
                time.sleep(rng.choice([0.0, 0.002, 0.05]))
        while child.poll() is None and seed % 3 == 0:
            os.killpg(child.pid, signal.SIGINT)
            time.sleep(0.05)

    code, told = caught(folder, rng.uniform(0.001, 0.4 if seed % 2 else 2.5), send)
    assert code == 130, told
    assert len(told) == 1 and told[0].startswith("interrupted"), told


def test_an_interrupted_run_goes_on_to_the_same_results(folder: Path) -> None:
    rng = random.Random(7)
    for _ in range(4):
        child = start(folder, "o", "--preset", "fast", "--limit", "800")
        time.sleep(rng.uniform(0.8, 2.0))
        child.send_signal(signal.SIGINT)
        told = ended(child, workers(child))
        assert child.returncode in (0, 130), told
    child = start(folder, "o", "--preset", "fast", "--limit", "800")
    ended(child, workers(child))
    assert child.returncode == 0
    rows = [json.loads(s)["row"] for s in (folder / "o" / "results.jsonl").open()]
    assert sorted(rows) == list(range(800))


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("group", [False, True])
def test_sigterm_is_quiet(folder: Path, seed: int, group: bool) -> None:
    def send(child: subprocess.Popen[bytes]) -> None:
        if child.poll() is None:
            (os.killpg if group else os.kill)(child.pid, signal.SIGTERM)

    code, told = caught(folder, random.Random(seed).uniform(0.001, 2.5), send)
    assert told == []
    # before the command has begun, the signal ends Python itself
    assert code in (128 + signal.SIGTERM, -signal.SIGTERM)


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="reads /proc")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_workers_that_are_signalled_themselves_cost_nothing(
    folder: Path, number: signal.Signals
) -> None:
    child = start(folder, "o", *SCORERS, "--limit", "900", "--min-coverage", "0")
    made: list[psutil.Process] = []
    while child.poll() is None and not (len(made) > 1 and all(map(at_work, made))):
        made = workers(child)
    for worker in made:
        worker.send_signal(number)
    told = ended(child, made)
    assert child.returncode == 0, told
    assert not [line for line in told if "Traceback" in line or "Error" in line]


def test_a_command_that_ignores_ctrl_c_is_not_stopped(folder: Path) -> None:
    """As a shell starts it in the background."""
    child = subprocess.Popen(
        [sys.executable, "-m", "veridical", "check", "many.jsonl", "--limit", "20", "--out", "o",
         "--preset", "fast"],
        cwd=folder,
        stderr=subprocess.DEVNULL,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_IGN),
    )  # fmt: skip
    while child.poll() is None:
        child.send_signal(signal.SIGINT)
        time.sleep(0.02)
    assert child.returncode == 0


def test_the_end_of_python_is_not_interrupted_either(tmp_path: Path) -> None:
    """After the work is done the exit code stands."""
    code = """
import os, signal, sys, time
from veridical.cli import main
sys.argv = ["veridical", "--version"]
try:
    main()
finally:
    os.kill(os.getpid(), signal.SIGINT)
    time.sleep(60)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0 and done.stderr == "" and done.stdout.startswith("veridical ")


ENDS = {
    signal.SIGINT: (130, "interrupted\n"),
    signal.SIGTERM: (128 + signal.SIGTERM, ""),
    signal.SIGHUP: (128 + signal.SIGHUP, ""),
}


def run(body: str, number: signal.Signals) -> tuple[int, str, str]:
    """Exit code, errors and output of a command with this body; ``NUMBER`` is the signal."""
    code = f"""
import os, signal, sys, time, weakref
from veridical.cli import app, main
NUMBER = {int(number)}
def command(**_):
{textwrap.indent(body, "    ")}
app.app = command
sys.argv = ["veridical", "check", "x"]
main()
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=60
    )
    return done.returncode, done.stderr, done.stdout


@pytest.mark.parametrize("number", ENDS)
def test_a_signal_that_a_library_turned_into_an_error(number: signal.Signals) -> None:
    """As pydantic does while it builds a class."""
    body = """
try:
    os.kill(os.getpid(), NUMBER)
except BaseException as e:
    raise RuntimeError("SchemaError") from e
"""
    assert run(body, number)[:2] == ENDS[number]


@pytest.mark.parametrize("number", ENDS)
def test_a_signal_where_nothing_can_be_raised(number: signal.Signals) -> None:
    """As in the callback by which Python forgets the lock of a module that was imported. What is
    open is closed all the same."""
    body = """
class Thing: pass
thing = Thing()
seen = weakref.ref(thing, lambda _: signal.raise_signal(NUMBER))
try:
    del thing
    time.sleep(30)
    os.write(2, b"never ended")
finally:
    os.write(1, b"closed")
"""
    code, said, told = run(body, number)
    assert (code, said) == ENDS[number] and told == "closed"


def test_what_a_destructor_raises_is_shown() -> None:
    body = """
class Thing:
    def __del__(self): raise SystemExit(3)
Thing()
return 0
"""
    code, said, _ = run(body, signal.SIGINT)
    assert code == 0 and "SystemExit: 3" in said


def test_an_interrupt_while_a_text_is_executed(tmp_path: Path) -> None:
    """As dataclasses and named tuples do while they are made."""
    code = """
from veridical.cli import app, main
app.app = lambda **_: exec("import signal, time; signal.raise_signal(signal.SIGINT); time.sleep(9)")
main()
"""
    (tmp_path / "run.py").write_text(code)
    command = [sys.executable, "-m", "run", "check", "x"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert (done.returncode, done.stderr) == (130, "interrupted\n")
