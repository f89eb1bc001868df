"""Nothing is sent, and nothing is left outside the run, the store and the package's own folders."""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parent))

from tracing import clean_environment, jail, run

ROOT = Path(__file__).parents[2]
ANSWERS = ROOT / "examples" / "answers.jsonl"
#: Places of the system's that are written and keep nothing.
KERNEL = ("/dev/null", "/dev/tty", "/dev/pts", "/dev/shm", "/proc/self", "/dev/ptmx")

needs_jail = pytest.mark.skipif(
    jail() is None, reason="OFFLINE IS NOT TESTED: neither strace nor unshare works here"
)


def offline(tmp_path: Path, *commands: str) -> None:
    """Run ``commands`` one after another as a new user, and look at all they touched."""
    scripts = [["-m", "veridical", *command.split()] for command in commands]
    offline_scripts(tmp_path, *scripts)


def offline_scripts(tmp_path: Path, *scripts: list[str]) -> None:
    """The same for any arguments of ``python``."""
    folder, home = tmp_path / "work", tmp_path / "home"
    folder.mkdir(exist_ok=True)
    environment = clean_environment(home)
    temporary = Path(environment["TMPDIR"])
    own = [folder, home / ".cache" / "veridical", home / ".config" / "veridical"]
    above = {home, home / ".cache", home / ".config"}
    for script in scripts:
        ran = run(folder, environment, *script)
        command = " ".join(script)
        assert ran.code == 0, f"{command}: {ran.errors}"
        assert not ran.sockets, f"{command}: {ran.sockets[:5]}"
        for path in sorted(ran.written - above):
            place = Path(os.path.normpath(path))
            passing = str(place).startswith(KERNEL) or place.is_relative_to(temporary)
            known = any(place.is_relative_to(folder) for folder in own)
            assert known or passing, f"{command} wrote {place}"
            assert known or not place.is_file(), f"{command} left {place}"
        assert not [p for p in temporary.rglob("*") if not p.is_dir()], command
        left = {p for p in home.rglob("*") if p.is_file()}
        strange = [p for p in left if not any(p.is_relative_to(folder) for folder in own)]
        assert not strange, f"{command} left {strange}"


@pytest.mark.skipif(jail() != "strace", reason="WHAT IS SENT IS NOT TRACED: no strace here")
@pytest.mark.parametrize(
    ("sends", "found"),
    [
        ("socket.socket().connect_ex(('127.0.0.1', 9))", True),
        ("socket.socket(socket.AF_INET6).connect_ex(('::1', 9))", True),
        ("socket.socket(type=socket.SOCK_DGRAM).sendto(b'x', ('127.0.0.1', 9))", True),
        ("socket.create_server(('127.0.0.1', 0))", True),
        ("socket.socket(socket.AF_INET6).bind(('::1', 0))", False),
        ("a, b = socket.socketpair(); a.send(b'x')", False),
    ],
)
def test_the_trace_shows_what_is_sent(tmp_path: Path, sends: str, found: bool) -> None:
    environment = clean_environment(tmp_path / "home")
    ran = run(tmp_path, environment, "-c", f"import socket; {sends}")
    assert ran.code == 0, ran.errors
    assert bool(ran.sockets) is found, ran.sockets


@needs_jail
def test_a_check_and_its_report(tmp_path: Path) -> None:
    offline(
        tmp_path,
        f"check {ANSWERS} --limit 6 --out run --json lines.jsonl --report page.html",
        "report run --out again.html",
    )


@needs_jail
def test_claims_and_a_corpus(tmp_path: Path) -> None:
    documents = tmp_path / "documents"
    documents.mkdir()
    (documents / "one.txt").write_text("The Danube flows through Vienna. " * 20)
    offline(tmp_path, f"check {ANSWERS} --limit 2 --claims --corpus {documents} --out run")


@needs_jail
def test_a_stream_and_worker_processes(tmp_path: Path) -> None:
    rows = tmp_path / "rows.jsonl"
    row = {"response": "A river and a town.", "samples": ["A town and a river.", "A lake."]}
    rows.write_text("".join(json.dumps({**row, "id": i}) + "\n" for i in range(400)))
    offline(tmp_path, f"check {rows} --preset fast --processes 2 --store none --out run")


@needs_jail
def test_a_benchmark_and_tuning(tmp_path: Path) -> None:
    graded = tmp_path / "graded.jsonl"
    rows = (json.loads(line) for line in ANSWERS.read_text("utf-8").splitlines())
    kept = [r for r in rows if r.get("samples")][:40]
    lines = [json.dumps({**r, "label": i % 2}) + "\n" for i, r in enumerate(kept)]
    graded.write_text("".join(lines))
    offline(
        tmp_path,
        f"bench graded --data {graded} --scorers ngram,noncontradiction --out b --bootstrap 10",
        f"tune {graded} --scorers ngram,cosine --out tuned.json --bootstrap 10 --report t.html",
    )


@needs_jail
def test_loaded_models_send_nothing_later_either(tmp_path: Path) -> None:
    """ONNX Runtime's uploader first waits for some 9 seconds."""
    code = """
import time
import veridical
with veridical.Engine() as engine:
    rows = [{"response": "a", "samples": ["b"]}]
    veridical.check(rows, "cosine, noncontradiction", engine=engine)
    time.sleep(12)
"""
    offline_scripts(tmp_path, ["-c", code])


@needs_jail
@pytest.mark.torch
def test_a_folder_for_torch_is_not_looked_up_on_the_hub(tmp_path: Path) -> None:
    """Even one with a name like a hub id's."""
    pytest.importorskip("torch")
    sys.path.append(str(ROOT / "tests" / "models"))
    import nli_checkpoints

    (tmp_path / "work").mkdir()
    nli_checkpoints.save(tmp_path / "work" / "models" / "mine")
    named = "--nli torch:models/mine?labels=contradiction,entailment,neutral"
    check = f"check {ANSWERS} --scorers noncontradiction --limit 1 --processes 0 --store none"
    offline(tmp_path, f"{check} {named} --out w")


def test_usage_data_is_off_before_any_library_can_read_it() -> None:
    """Whatever the environment says, and whichever module of the package comes first."""
    code = (
        "import os, sys, {module}; from veridical.telemetry import SWITCHES; "
        "assert 'onnxruntime' not in sys.modules; "
        "print({{n: os.environ[n] for n in SWITCHES}} == SWITCHES)"
    )
    for module in ("veridical", "veridical.engine.worker", "veridical.models.onnx"):
        told = subprocess.run(
            [sys.executable, "-c", code.format(module=module)],
            env={"PATH": os.environ["PATH"], "ORT_DISABLE_TELEMETRY": "0"},
            capture_output=True,
            text=True,
            check=True,
        )
        assert told.stdout == "True\n", module


def _silent_from_the_start(tree: ast.Module) -> bool:
    """Whether each import of onnxruntime comes after usage data is switched off."""
    silent = False
    for statement in tree.body:
        text = ast.unparse(statement)
        if isinstance(statement, (ast.Import, ast.ImportFrom)):
            if "veridical" in text:
                silent = True
            elif "onnxruntime" in text and not silent:
                return False
        elif text.startswith("os.environ['ORT_DISABLE_TELEMETRY']"):
            silent = True
    imports = (n for n in ast.walk(tree) if isinstance(n, (ast.Import, ast.ImportFrom)))
    return silent or not any("onnxruntime" in ast.unparse(n) for n in imports)


@pytest.mark.parametrize("folder", ["benchmarks", "training", "docs", "examples", "tests"])
def test_scripts_switch_it_off_before_they_import_onnxruntime(folder: str) -> None:
    for path in (ROOT / folder).rglob("*.py"):
        assert _silent_from_the_start(ast.parse(path.read_text("utf-8"))), path
