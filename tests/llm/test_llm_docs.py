"""The page on endpoints: its configurations are read, its forms name endpoints, its Python runs."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from places import ROOT

from veridical.llm.endpoints import configured, find_endpoint

PAGE = (ROOT / "docs" / "llm.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)


def sections() -> list[str]:
    """The configurations of endpoints."""
    return [block for block in blocks("toml") if block.startswith("[llm.")]


@pytest.fixture(autouse=True)
def alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.delenv("VERIDICAL_CONFIG", raising=False)


def test_every_configuration_is_read() -> None:
    Path("veridical.toml").write_text("\n".join(sections()))
    assert set(configured()) == {
        *("mini", "anthropic", "ollama", "vllm", "llamacpp"),
    }


def test_the_short_forms_are_the_same_endpoints() -> None:
    Path("veridical.toml").write_text(sections()[-1])
    named = configured()
    for name in ("anthropic", "ollama"):
        short = find_endpoint(f"{name}:{named[name].model}")
        assert (short.identity, short.key_env) == (named[name].identity, named[name].key_env)
        assert short.supports == named[name].supports


def test_every_llm_of_the_commands_is_one() -> None:
    Path("veridical.toml").write_text(sections()[0])
    commands = "\n".join(blocks("sh")).replace("\\\n", " ")
    named = re.findall(r"--llm (\S+)", commands)
    assert len(named) >= 4
    for spec in named:
        find_endpoint(spec)


def test_the_python_runs() -> None:
    done = subprocess.run(
        [sys.executable, "-c", blocks("python")[0]], capture_output=True, text=True, check=True
    )
    assert done.stdout == "[0.0, 1.0]\n2\n"
