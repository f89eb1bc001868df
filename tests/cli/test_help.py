"""Help: every option, under a heading, with examples that run, in 80 columns and nothing cut."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command
from typer.testing import CliRunner

from veridical.cli.app import app
from veridical.cli.help import shell_lines
from veridical.core.options import Group


def commands(command: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    yield path, command
    for name, sub in getattr(command, "commands", {}).items():
        yield from commands(sub, (*path, name))


ALL = dict(commands(get_command(app)))


def is_long(path: tuple[str, ...]) -> bool:
    """Return True if ``--help`` leaves options to ``--help-all``."""
    return any(parameter.name == "help_all" for parameter in ALL[path].params)


def shown(path: tuple[str, ...], flag: str = "") -> str:
    """The help with every option, or what another flag prints."""
    flag = flag or ("--help-all" if is_long(path) else "--help")
    return CliRunner().invoke(app, [*path, flag], prog_name="veridical").output


def examples(text: str) -> list[str]:
    """The command lines of a help page, as a shell reads them."""
    block = text.partition("\nExamples\n")[2].partition("\n\n")[0]
    return [" ".join(line.split()) for line in block.replace("\\\n", "").splitlines()]


@pytest.fixture(autouse=True)
def narrow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")


@pytest.mark.parametrize("path", ALL, ids=" ".join)
def test_help_fits_and_shows_everything(path: tuple[str, ...]) -> None:
    text = shown(path)
    assert max(map(len, text.splitlines())) <= 80 and "…" not in text
    words = " ".join(text.split())
    command = ALL[path]
    assert " ".join((command.help or "").split()) in words
    for parameter in command.params:
        for flag in (*parameter.opts, *parameter.secondary_opts):
            assert flag in words or flag.upper() in words
        assert " ".join((parameter.help or "").split()) in words, parameter.name


@pytest.mark.parametrize("path", ALL, ids=" ".join)
def test_help_has_examples_that_the_command_line_takes(path: tuple[str, ...]) -> None:
    lines = examples(shown(path))
    assert lines
    for line in lines:
        words = shlex.split(line.partition(" > ")[0])
        assert words.pop(0) == "veridical"
        command, names = ALL[()], []
        while words and words[0] in getattr(command, "commands", {}):
            names.append(words.pop(0))
            command = ALL[tuple(names)]
        if "--help" not in words:
            command.make_context("veridical", words)  # a usage error, were anything wrong


@pytest.mark.parametrize("name", ["check", "plan", "sample", "bench", "tune", "rank"])
def test_options_stand_under_headings(name: str) -> None:
    titles = {group.value for group in Group}
    text = shown((name,))
    assert len(titles & set(text.splitlines())) > 4
    other = text.partition("\nOther\n")[2].partition("\n\n")[0]
    assert re.findall(r"--[a-z-]+", other) == ["--help-all", "--help"], "an option has no heading"


@pytest.mark.parametrize("path", [p for p in ALL if is_long(p)], ids=" ".join)
def test_the_help_of_a_long_command_is_short(path: tuple[str, ...]) -> None:
    text = shown(path, "--help")
    parameters = {p.name: p for p in ALL[path].params}
    essential = ALL[path].callback.essential
    assert 8 <= len(essential) <= 15 and set(essential) <= {*parameters}
    assert len(examples(text)) == 2
    flags = {parameters[name].opts[0] for name in essential}
    listed = set(re.findall(r"^  (--[a-z-]+)", text, re.MULTILINE))
    assert listed == {f for f in flags if f.startswith("-")} | {"--help-all", "--help"}
    left_out = len(parameters) - 1 - len(essential)
    assert f"{' '.join(('veridical', *path))} --help-all shows {left_out} more options." in (
        " ".join(text.split())
    )


def test_no_other_command_has_many_options() -> None:
    counts = {p: len(c.params) for p, c in ALL.items() if not is_long(p)}
    assert {path: count for path, count in counts.items() if count > 15} == {}


def test_commands_are_listed_by_purpose() -> None:
    text = shown(())
    titles = ["Everyday", "Set up and plan", "Tune and decide", "Production", "People", "Research"]
    places = [text.index(f"\n{title}\n") for title in titles]
    assert places == sorted(places) and "\nOthers\n" not in text
    everyday = text[places[0] : places[1]]
    assert re.findall(r"^  ([a-z]+) ", everyday, re.MULTILINE) == [
        *("check", "explain", "report", "view", "demo", "init")
    ]


def test_headings_of_check() -> None:
    text = shown(("check",))
    gates = text.partition("\nGates for CI\n")[2].partition("\n\n")[0]
    assert "--fail-over X|NAME:X" in gates and "--min-coverage X" in gates
    assert "[0 to\n" in gates or "0 to 1" in gates
    assert text.index("\nExamples\n") < text.index("\nInput\n") < text.index("\nOutput\n")
    assert "a [llm.NAME] of veridical.toml" in " ".join(text.split())


def test_many_choices_are_listed_in_the_help() -> None:
    words = " ".join(shown(("tune",)).split())
    assert "--objective NAME" in words and "auroc, average_precision, brier" in words


def test_long_examples_go_on_in_the_next_line() -> None:
    line = (
        "veridical check answers.jsonl --scorers \"ngram, support(x='a b')\" --report report.html"
    )
    lines = shell_lines(line, 50)
    assert max(map(len, lines)) <= 50 and all(part.endswith("\\") for part in lines[:-1])
    assert shlex.split(" ".join(part.rstrip("\\") for part in lines)) == shlex.split(line)
    assert len(shell_lines(line, 100)) == 1


def test_wide_terminals_get_wider_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "300")
    assert 80 < max(map(len, shown(("check",)).splitlines())) <= 100


ROWS = [
    {"response": "It is in Mali.", "samples": ["It is in Mali.", "It is in Peru."], "label": i % 2}
    for i in range(4)
]


@pytest.mark.parametrize(
    "line",
    [
        "veridical check answers.jsonl --preset fast --json results.jsonl --report report.html",
        "veridical plan answers.jsonl",
        "veridical scorers",
        "veridical prompts",
        "veridical models",
        "veridical bench --list",
    ],
)
def test_examples_run(line: str, tmp_path: Path) -> None:
    assert any(line in examples(shown(path)) for path in ALL), "no longer an example"
    text = "".join(json.dumps(row) + "\n" for row in ROWS)
    (tmp_path / "answers.jsonl").write_text(text, encoding="utf-8")
    command = [sys.executable, "-m", *shlex.split(line)]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
