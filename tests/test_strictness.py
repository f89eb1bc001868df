"""The operating point: it moves verdicts and what rests on them, and no risk."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import veridical
from veridical.cli.app import app
from veridical.core.registry import REGISTRY, Scorer
from veridical.core.scores import Score, Unit
from veridical.core.verdict_cuts import Cuts
from veridical.errors import UsageError
from veridical.serve.schemas import CheckBody
from veridical.text.spans import Span

NAME = "fixed_for_strictness"
CUTS = {"low": Cuts(0.6, 0.8), "balanced": Cuts(0.4, 0.6), "high": Cuts(0.2, 0.4)}
ROWS = [{"response": "It is so.", "contexts": ["It is."]}]


async def _fixed(record: Any, evidence: Any) -> Score:
    return Score.of(0.5, units=[Unit.of(Span(0, 9, "It is so."), 0.5)])


@pytest.fixture(autouse=True)
def scorer() -> None:
    REGISTRY.register(
        Scorer.of(
            NAME,
            _fixed,
            level="sentence",
            source="test",
            judges=True,
            cuts=lambda raw, strictness: CUTS[strictness],
        )
    )


def test_verdicts_move_and_risks_stay() -> None:
    found = {
        s: veridical.check(ROWS, NAME, strictness=s, store=None)[0]  # type: ignore[call-overload]
        for s in (None, "low", "balanced", "high")
    }
    verdicts = {s: result.verdict for s, result in found.items()}
    assert verdicts == {
        None: "unclear",
        "low": "supported",
        "balanced": "unclear",
        "high": "unsupported",
    }
    assert {result.risk for result in found.values()} == {0.5}
    labels = [result.spans[0].label for result in found.values()]
    assert labels == ["unclear", "entailment", "unclear", "neutral"]


def test_one_answer_takes_it_too() -> None:
    one = veridical.check_one("It is so.", contexts="It is.", scorers=NAME, strictness="high")
    assert one.verdict == "unsupported"
    with pytest.raises(UsageError, match="severe"):
        veridical.check_one("It is so.", strictness="severe")  # type: ignore[arg-type]


def test_a_policy_names_it_where_the_run_does_not(tmp_path: Path) -> None:
    path = tmp_path / "policy.toml"
    path.write_text('accept = 0.9\nstrictness = "high"')
    (by_policy,) = veridical.check(ROWS, NAME, policy=path, store=None)
    (by_run,) = veridical.check(ROWS, NAME, policy=path, strictness="low", store=None)
    assert (by_policy.verdict, by_run.verdict) == ("unsupported", "supported")


def test_a_run_is_of_one_operating_point(tmp_path: Path) -> None:
    out = tmp_path / "run"
    veridical.check(ROWS, NAME, strictness="low", out=out, store=None)
    manifest = json.loads((out / "manifest.json").read_text())
    assert manifest["identity"]["parameters"]["strictness"] == "low"
    with pytest.raises(UsageError, match="strictness"):
        veridical.check(ROWS, NAME, strictness="high", out=out, store=None)


@pytest.mark.parametrize(
    ("strictness", "verdict", "code"),
    [("low", "supported", 0), ("balanced", "unclear", 0), ("high", "unsupported", 3)],
)
def test_the_command_line_takes_it_and_its_gate_follows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, strictness: str, verdict: str, code: int
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "rows.jsonl").write_text(json.dumps(ROWS[0]) + "\n")
    command = ["check", "rows.jsonl", "--scorers", NAME, "--processes", "0", "--json", "out.jsonl"]
    done = CliRunner().invoke(
        app,
        [*command, "--fail-on", "unsupported", "--strictness", strictness],
        standalone_mode=False,
    )
    assert done.return_value == code, done.output
    (line,) = (tmp_path / "out.jsonl").read_text().splitlines()
    assert json.loads(line)["verdict"] == verdict


@pytest.mark.parametrize(
    "command", ["check", "plan", "watch", "shard run", "guard", "hook claude-code", "mcp"]
)
def test_every_command_that_judges_refuses_another_one(command: str) -> None:
    refused = CliRunner().invoke(app, [*command.split(), "--strictness", "severe"])
    assert refused.exit_code != 0
    assert "severe" in refused.output and "balanced" in refused.output


def test_a_body_of_the_server_takes_it() -> None:
    body = {"records": ROWS, "strictness": "low"}
    assert CheckBody.model_validate(body).strictness == "low"
    with pytest.raises(ValueError, match="strictness"):
        CheckBody.model_validate(body | {"strictness": "severe"})
