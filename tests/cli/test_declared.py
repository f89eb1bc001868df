"""Commands made of classes of options: the same options, defaults and bounds as in Python."""

from __future__ import annotations

from dataclasses import dataclass, fields
from pathlib import Path
from typing import Annotated, Any, get_type_hints

import pytest
import typer
from typer.main import get_command
from typer.testing import CliRunner

from veridical.cli.check import CheckOptions, PlanOptions
from veridical.cli.declared import After, check_files, command
from veridical.cli.options import Against, Limit, Preset, Repair, Select, rows_of, run_keywords
from veridical.core.options import Names, declared, names_of
from veridical.engine.options import EngineOptions
from veridical.errors import UsageError
from veridical.run.options import RunOptions


@dataclass(frozen=True, kw_only=True)
class Shared:
    inputs: Annotated[list[str], typer.Argument()]
    limit: Limit = None
    json_path: Annotated[str | None, typer.Option("--json"), Names.OUTPUT] = None


@dataclass(frozen=True, kw_only=True)
class Own(Shared):
    twice: Annotated[bool, typer.Option("--twice"), After("inputs")] = False
    folder: Annotated[Path | None, typer.Option(), Names.RUN] = None


@command
def show(options: Own) -> int:
    """Show the options."""
    check_files(options)
    print(options)
    return 0


def run(*arguments: str) -> Any:
    app = typer.Typer()
    app.command()(show)
    return CliRunner().invoke(app, arguments)


def test_a_command_is_declared_by_a_class() -> None:
    app = typer.Typer()
    app.command()(show)
    made: Any = get_command(app)
    names = [p.name for p in made.params if p.name not in ("install_completion", "show_completion")]
    assert names == ["inputs", "twice", "limit", "json_path", "folder"]
    assert made.help == "Show the options."
    assert run("a", "b", "--limit", "3").output.strip() == str(Own(inputs=["a", "b"], limit=3))
    assert run("a", "--limit", "0").exit_code == 2


def test_an_option_says_which_files_it_names(tmp_path: Path) -> None:
    data = tmp_path / "data.jsonl"
    data.write_text("{}\n")
    check_files(Own(inputs=[str(data)], json_path=str(tmp_path / "out.json")))
    with pytest.raises(UsageError, match="it is the data"):
        check_files(Own(inputs=[str(data)], json_path=str(data)))
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "manifest.json").write_text("{}")
    inside = str(tmp_path / "run" / "manifest.json")
    with pytest.raises(UsageError, match="manifest"):
        check_files(Own(inputs=[str(data)], json_path=inside, folder=tmp_path / "run"))


@pytest.mark.parametrize("options", [CheckOptions, PlanOptions])
def test_defaults_are_those_of_python(options: Any) -> None:
    assert get_type_hints(options)
    defaults = {spec.name: spec.default for spec in fields(options)}
    shared = run_keywords(options(inputs=["a"]))
    assert {*shared} == {*defaults} & {*names_of(RunOptions, EngineOptions)}
    for classes in (RunOptions, EngineOptions):
        for spec in fields(classes):
            if spec.name in shared and spec.name not in ("store", "mapping"):
                assert shared[spec.name] == spec.default, spec.name


@pytest.mark.parametrize(
    ("choices", "name"), [(Against, "against"), (Select, "select"), (Repair, "repair")]
)
def test_choices_are_those_of_python(choices: Any, name: str) -> None:
    assert {c.value for c in choices} == {*declared(RunOptions, name).choices} - {"auto"}
    assert Preset.auto.value == RunOptions.preset


def test_standard_input_stands_alone() -> None:
    assert rows_of(["-"]) == "-"
    assert rows_of(["a", "b"]) == ["a", "b"]
    with pytest.raises(UsageError, match="cannot be mixed"):
        rows_of(["-", "a"])
