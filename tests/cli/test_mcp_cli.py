"""``veridical mcp`` without its extra, and with what it cannot use."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest


def run(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "veridical", "mcp", "--store", "none", *arguments]
    return subprocess.run(
        command, cwd=cwd, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60
    )


@pytest.mark.skipif(importlib.util.find_spec("mcp") is not None, reason="the extra is here")
def test_without_the_extra(tmp_path: Path) -> None:
    done = run(cwd=tmp_path)
    assert done.returncode == 1 and "pip install mcp" in done.stderr
    assert done.stdout == ""


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--corpus", "nowhere"], "nowhere"),
        (["--scorers", "nlli"], "unknown scorer"),
        (["--nli", "no-such-model"], "no-such-model"),
    ],
)
def test_what_is_refused(tmp_path: Path, arguments: list[str], message: str) -> None:
    done = run(*arguments, cwd=tmp_path)
    assert done.returncode == 1 and "Traceback" not in done.stderr
    assert message in done.stderr or "pip install mcp" in done.stderr
    assert done.stdout == ""
