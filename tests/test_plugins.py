"""Additions by other distributions, and the message where they are not installed."""

from __future__ import annotations

import importlib
import subprocess
import sys
import warnings
from pathlib import Path

import pytest
from places import ROOT
from typer.testing import CliRunner

import veridical
from veridical import plugins
from veridical.cli.app import app
from veridical.core.kinds import kind_of
from veridical.core.registry import REGISTRY, Registry
from veridical.engine.back_ends import load
from veridical.errors import UsageError
from veridical.report.stored import write_stored

INSTALL = "pip install . packages/veridical-lab"
GROUPS = (plugins.COMMANDS, plugins.SCORERS, plugins.MODELS, plugins.RESULTS, plugins.NAMES)


@pytest.fixture
def alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """No other distribution is installed."""
    monkeypatch.setattr(plugins, "points", lambda group: {})
    monkeypatch.setattr(REGISTRY, "_scorers", {})


def declared() -> dict[str, dict[str, str]]:
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    text = (ROOT / "packages" / "veridical-lab" / "pyproject.toml").read_text("utf-8")
    return tomllib.loads(text)["project"]["entry-points"]


def test_all_that_the_laboratory_adds_is_there() -> None:
    groups = declared()
    assert set(groups) == set(GROUPS)
    for group in GROUPS:
        assert set(plugins.points(group)) >= set(groups[group]), f"install it anew: {INSTALL}"
        for name in groups[group]:
            assert plugins.load(group, name) is not None


def test_the_core_knows_the_names_of_all_that_it_adds() -> None:
    for group, points in declared().items():
        top = {n for n in points if n.partition(".")[0] != "evaluate" or n == "evaluate"}
        assert top == plugins.LAB[group], group


def test_both_distributions_have_one_version() -> None:
    text = (ROOT / "packages" / "veridical-lab" / "pyproject.toml").read_text("utf-8")
    assert f'version = "{veridical.__version__}"' in text
    assert f'"veridical=={veridical.__version__}"' in text


@pytest.mark.usefixtures("alone")
def test_what_is_missing_is_said_in_one_line(tmp_path: Path) -> None:
    for name in ("bench", "rank", "redteam", "study", "train"):
        done = CliRunner().invoke(app, [name, "--help"])
        assert INSTALL in str(done.exception) and "\n" not in str(done.exception)
    for ask in (
        lambda: veridical.bench,
        lambda: REGISTRY.parse("unieval"),
        lambda: load(kind_of("reader"), "org/model"),
        lambda: write_stored("bench", tmp_path, tmp_path / "r.html"),
        lambda: importlib.import_module("veridical.evaluate.no_such_module"),
        lambda: REGISTRY.parse("claims(extractor='trained|file.json')"),
        lambda: REGISTRY.parse("claims(checker='repc', model='file.json')"),
    ):
        with pytest.raises(UsageError, match=INSTALL) as e:
            ask()
        assert isinstance(e.value, ImportError)


@pytest.mark.usefixtures("alone")
def test_the_core_lists_only_what_is_there() -> None:
    shown = CliRunner().invoke(app, ["--help"]).output
    assert "check" in shown and "redteam" not in shown
    assert "unieval" not in REGISTRY.names() and "cosine" in REGISTRY.names()
    with pytest.raises(UsageError, match="unknown scorer"):
        REGISTRY.get("no_such_scorer")


def test_no_scorer_of_the_laboratory_is_in_a_preset() -> None:
    for name in plugins.LAB[plugins.SCORERS]:
        assert not Registry().get(name).presets


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("veridical.evaluate.datasets.halueval", "veridical_lab.bench.datasets.halueval"),
        ("veridical.evaluate.rank.ranking", "veridical_lab.rank.ranking"),
        ("veridical.evaluate.checkembed", "veridical_lab.studies.checkembed"),
        ("veridical.evaluate.graders.choice", "veridical.tuning.graders.choice"),
        ("veridical.evaluate.report.document", "veridical.report.document"),
        ("veridical.sampling.grid", "veridical_lab.sampling.grid"),
        ("veridical.llm.injections.attempts", "veridical_lab.injections.attempts"),
        ("veridical.models.seq2seq", "veridical_lab.models"),
        ("veridical.core.checkpoint_evidence", "veridical_lab.models.evidence"),
    ],
)
def test_a_module_is_found_at_its_old_place(old: str, new: str) -> None:
    for name in [n for n in sys.modules if n == old or old.startswith(f"{n}.evaluate")]:
        sys.modules.pop(name) if name != "veridical" else None
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        module = importlib.import_module(old)
    assert module is importlib.import_module(new) and module.__name__ == new
    assert any(f"{old} is {new} now" in str(w.message) for w in told)
    assert all(w.category is DeprecationWarning for w in told)


def test_a_module_that_never_was_is_not_found() -> None:
    for name in ("veridical.no_such_module", "veridical.bench"):
        with pytest.raises(ModuleNotFoundError):
            importlib.import_module(name)


def test_a_check_loads_nothing_of_the_laboratory() -> None:
    code = (
        "import sys, veridical; veridical.check_one('It rains.', contexts=['It rains.']); "
        "print([m for m in sys.modules if m.startswith('veridical_lab')])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
