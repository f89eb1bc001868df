"""Commands made of classes of options: the same options, defaults and bounds as in Python."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from typing import Any, get_type_hints

import pytest
import typer
from typer.main import get_command
from typer.testing import CliRunner

from veridical.cli.check import CheckOptions, PlanOptions
from veridical.cli.declared import argument, check_files, command, flag, flags, output
from veridical.cli.options import rows_of, run_keywords
from veridical.core.options import Names, declared, names_of
from veridical.diff.options import Pairing
from veridical.engine.options import EngineOptions
from veridical.errors import UsageError
from veridical.run.options import RunOptions


@flags(RunOptions)
class Shared:
    inputs: list[str] = argument("Files.")
    limit: int | None
    json_path: str | None = output("Where to.", "--json")


@flags(EngineOptions)
class Own(Shared):
    twice: bool = flag(default=False, after="inputs")
    folder: Path | None = flag(names=Names.RUN)
    precision: str | None
    pairing: Pairing = "id"


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


def _command(function: Any) -> Any:
    app = typer.Typer()
    app.command()(function)
    return get_command(app)


def test_a_command_is_declared_by_a_class() -> None:
    made = _command(show)
    names = [p.name for p in made.params if p.name not in ("install_completion", "show_completion")]
    assert names == ["folder", "precision", "pairing", "inputs", "twice", "limit", "json_path"]
    assert made.help == "Show the options."
    assert run("a", "b", "--limit", "3").output.strip() == str(Own(inputs=["a", "b"], limit=3))
    assert run("a", "--limit", "0").exit_code == 2


def test_an_option_says_which_files_it_names(tmp_path: Path) -> None:
    data = tmp_path / "data.jsonl"
    data.write_text("{}\n")
    check_files(Own(inputs=[str(data)], json_path=str(tmp_path / "out.json")))
    with pytest.raises(UsageError, match="it is an input"):
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


def test_choices_and_bounds_are_those_of_python() -> None:
    made = {p.name: p for p in _command(show).params}
    assert run("a", "--precision", "fast").output.strip() == str(
        Own(inputs=["a"], precision="fast")
    )
    assert run("a", "--pairing", "row").output.strip() == str(Own(inputs=["a"], pairing="row"))
    for given in (["--precision", "quick"], ["--pairing", "none"], ["--limit", "0"]):
        assert run("a", *given).exit_code == 2
    assert made["limit"].help == declared(RunOptions, "limit").help


def test_what_is_not_given_may_be_unsaid() -> None:
    @flags(RunOptions, unsaid=True)
    class Unsaid(Own):
        workers: int = flag(default=1)

    options: Any = Unsaid
    assert options(inputs=["a"]).pairing is None and options(inputs=["a"]).twice is None
    assert options(inputs=["a"]).workers == 1


def test_standard_input_stands_alone() -> None:
    assert rows_of(["-"]) == "-"
    assert rows_of(["a", "b"]) == ["a", "b"]
    with pytest.raises(UsageError, match="cannot be mixed"):
        rows_of(["-", "a"])
