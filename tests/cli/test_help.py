"""What the help says is all shown: nothing in it passes for markup."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from rich.text import Text
from typer.main import get_command
from typer.testing import CliRunner

from veridical.cli.app import app


def commands(command: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    yield path, command
    for name, sub in getattr(command, "commands", {}).items():
        yield from commands(sub, (*path, name))


ALL = dict(commands(get_command(app)))


@pytest.mark.parametrize("path", ALL, ids=" ".join)
def test_no_part_of_a_help_text_is_lost(path: tuple[str, ...]) -> None:
    command = ALL[path]
    texts = [command.help, command.epilog, *(getattr(p, "help", None) for p in command.params)]
    for text in texts:
        if text:
            assert Text.from_markup(text).plain == text.replace("\\[", "[")


@pytest.mark.parametrize("command", ["check", "plan", "sample", "bench"])
def test_the_section_of_an_endpoint_is_shown(command: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "400")
    monkeypatch.setenv("TERMINAL_WIDTH", "400")
    shown = CliRunner().invoke(app, [command, "--help"]).output
    assert "a [llm.NAME] of veridical.toml" in " ".join(shown.split())
