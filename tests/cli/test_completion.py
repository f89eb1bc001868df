"""Shell completion: what a shell is told, and what it then asks."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest


@pytest.fixture
def script(tmp_path: Path) -> Path:
    """The command as it is installed."""
    path = tmp_path / "veridical"
    path.write_text(f"#!{sys.executable}\nfrom veridical.cli import main\nmain()\n")
    path.chmod(0o755)
    return path


def ask(script: Path, words: str) -> list[str]:
    asked = {
        "_VERIDICAL_COMPLETE": "complete_bash",
        "COMP_WORDS": words,
        "COMP_CWORD": str(len(words.split(" ")) - 1),
    }
    done = subprocess.run(
        [script], env={**os.environ, **asked}, capture_output=True, text=True, timeout=60
    )
    return done.stdout.split()


def test_commands_options_and_choices(script: Path) -> None:
    assert ask(script, "veridical wat") == ["watch"]
    assert "--policy" in ask(script, "veridical check --po")
    assert ask(script, "veridical check --preset f") == ["fast"]
    assert set(ask(script, "veridical init ")) == {"ci", "pytest", "promptfoo"}


def test_it_installs_itself(script: Path, tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    done = subprocess.run(
        [script, "--install-completion", "bash"],
        env={**os.environ, "HOME": str(home), "_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION": "1"},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    written = [p for p in home.rglob("*") if p.is_file() and "_VERIDICAL_COMPLETE" in p.read_text()]
    assert written
