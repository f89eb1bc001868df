"""Names that were there before the layers were moved: commands, options, scorers, Python."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from record import members
from replay_commands import HELP, RECORDED, commands_of, flag, options_of, run_all
from replay_compare import differences

import veridical

HELPS: dict[str, dict[str, list[str]]] = json.loads((RECORDED / "help.json").read_text("utf-8"))
SCORERS: list[dict[str, Any]] = json.loads((RECORDED / "scorers.json").read_text("utf-8"))
PYTHON: dict[str, dict[str, Any]] = json.loads((RECORDED / "python.json").read_text("utf-8"))
#: Keywords of ``check`` and of the engine that it makes, with values that change nothing.
CHECK: dict[str, Any] = {
    **{"preset": "fast", "against": "samples", "samples": 3, "limit": 1, "mapping": None},
    **{"reader": None, "strict": True, "retry_failed": False, "claims": False, "corpus": None},
    **{"corpus_top": None, "sampling": None, "policy": None, "select": None, "repair": None},
    **{"out": None, "engine": None, "embedder": "minilm", "token_encoder": None, "llm": None},
    **{"nli": "veridical-nli-mini", "proxy": None, "budget": None, "store": None},
    **{"processes": 0, "threads": 1, "device": None},
    # came since
    **{"prior": None, "fresh": True, "notify": None, "age": 0.05, "named_only": False},
}
ROWS = [{"response": "It is in Mali.", "samples": ["It is in Mali.", "It is in Peru."]}]


def test_every_command_has_its_options(tmp_path: Path) -> None:
    outcomes = run_all([(*command, flag(command)) for command in HELP], tmp_path)
    for command, outcome in zip(HELP, outcomes, strict=True):
        recorded = HELPS[" ".join(command)]
        assert outcome.exit_code == 0, outcome.stderr
        assert not set(recorded["options"]) - set(options_of(outcome.stdout)), command
        assert not set(recorded["commands"]) - set(commands_of(outcome.stdout)), command
    assert len(HELPS["check"]["options"]) > 30 and len(HELPS[""]["commands"]) == 13


def test_every_scorer_is_described_as_it_was(tmp_path: Path) -> None:
    (outcome,) = run_all([("scorers", "--json")], tmp_path)
    today = {entry["name"]: entry for entry in json.loads(outcome.stdout)}
    for recorded in SCORERS:
        name = recorded["name"]
        assert name in today, f"{name} has gone"
        prose = {"summary": today[name]["summary"], "source": today[name]["source"]}
        # what "auto" was is "all" now
        presets = {"all" if preset == "auto" else preset for preset in recorded["presets"]}
        assert presets <= set(today[name]["presets"]), name
        now = {**prose, "presets": today[name]["presets"]}
        assert list(differences({**recorded, **now}, today[name])) == [], name


#: Members that nobody but the engine called: ``Engine.service`` took their place.
GONE = {"Engine": {"checkpoint_service", "nli_service", "proxy_service"}}


@pytest.mark.parametrize("name", PYTHON)
def test_every_public_name_resolves_with_its_members(name: str) -> None:
    module, _, own = name.rpartition(".")
    place = veridical.claims if module else veridical
    assert own in place.__all__
    value = getattr(place, own)
    recorded = PYTHON[name]
    if "members" in recorded:
        lost = set(recorded["members"]) - set(members(value)) - GONE.get(name, set())
        assert not lost - {n for n in lost if hasattr(value, n)}, f"{name}: {sorted(lost)}"


@pytest.mark.parametrize("keyword", CHECK)
def test_check_takes_its_keywords(keyword: str) -> None:
    settings = {"processes": 0, keyword: CHECK[keyword]}
    (result,) = veridical.check(ROWS, "exact_match", **settings)
    assert result.risk is not None and result.scores["exact_match"].risk == 0.5


@pytest.mark.parametrize("name", ["plan", "tune", "bench"])
def test_functions_take_their_keywords(name: str, tmp_path: Path) -> None:
    """A file that is not there is all that they complain of."""
    given = {k: v for k, v in PYTHON[name]["keywords"].items() if k != "scorers"}
    missing = str(tmp_path / "missing.jsonl")
    given.update({"suites": "graded", "data": missing} if name == "bench" else {"inputs": missing})
    with pytest.raises(veridical.UsageError, match=r"missing\.jsonl"):
        getattr(veridical, name)(**given)
