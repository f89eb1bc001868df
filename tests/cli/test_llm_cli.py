"""LLMs on the command line: the ledger is shown, the budget kept, the plan made."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from commands import run_command

from veridical.cli.finish import judge_lines

SCRIPT = [{"contains": "Paris", "text": "Score: Correct"}, {"text": "Score: Incorrect"}]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "script.json").write_text(json.dumps(SCRIPT))
    (tmp_path / "veridical.toml").write_text(
        '[llm.mine]\nbase_url = "fake:script.json"\nmodel = "m"\nprice_in = 0\nprice_out = 0\n'
        '[llm.unpriced]\nbase_url = "fake:script.json"\nmodel = "m"\n'
    )
    rows = [{"prompt": "Capital?", "response": r} for r in ("Paris", "Lyon", "Paris")]
    (tmp_path / "answers.jsonl").write_text("".join(json.dumps(r) + "\n" for r in rows))
    return tmp_path


def run(folder: Path, *command: str) -> subprocess.CompletedProcess[str]:
    return run_command(
        *command,
        "--processes",
        "0",
        cwd=folder,
        env={"XDG_CONFIG_HOME": str(folder), "VERIDICAL_CONFIG": ""},
    )


def test_a_run_says_what_it_has_called(folder: Path) -> None:
    command = ("answers.jsonl", "--scorers", "judge", "--llm", "mine")
    planned = run(folder, "plan", *command)
    assert planned.returncode == 0, planned.stderr
    assert "LLM calls: 2 (0 more are journaled)" in " ".join(planned.stdout.split())
    done = run(folder, "check", *command, "--json", "-")
    assert done.returncode == 0, done.stderr
    risks = [json.loads(x)["scores"]["judge"]["risk"] for x in done.stdout.splitlines()]
    assert risks == [0, 1, 0]
    assert "LLM calls: 2;" in done.stderr
    again = run(folder, "check", *command, "--out", "other", "--json", "-")
    assert "2 from the journal" in again.stderr and "LLM calls: 0;" in again.stderr
    assert again.stdout == done.stdout


def test_a_budget_without_prices_and_an_llm_that_is_not_there(folder: Path) -> None:
    for options, said in (
        (("--llm", "unpriced", "--budget", "1"), "price_in"),
        (("--llm", "minr"), "mine"),
        ((), "--llm NAME"),
    ):
        done = run(folder, "check", "answers.jsonl", "--scorers", "judge", *options)
        assert done.returncode == 1
        assert said in done.stderr and "Traceback" not in done.stderr


def test_a_checker_is_named_as_the_judge(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    counted = {"answered": 1, "journaled": 0, "failed": 0, "not_sent": 0}

    def lines(llm: dict[str, str], ledger: dict[str, int] | None = counted) -> list[str]:
        results: Any = SimpleNamespace(identity={"models": llm}, ledger=ledger)
        return judge_lines(results)

    assert lines({"llm": "local:checker-0.5b?threads=2@local:12ab:4096:xllamacpp-1"}) == [
        "judge: local:checker-0.5b?threads=2, trained to judge statements by documents"
    ]
    assert lines({"llm": "local:qwen-1.5b@local:12ab"}) == lines({}) == []
    monkeypatch.chdir(folder)
    (folder / "veridical.toml").write_text('[llm.mine]\nbase_url = "local:checker-0.5b"\n', "utf-8")
    assert lines({"llm": "mine@local:12ab"}) == [
        "judge: mine (checker-0.5b), trained to judge statements by documents"
    ]
    assert lines({"llm": "gone@local:12ab"}) == []
    llm = {"llm": "local:checker-0.5b@local:12ab"}
    assert lines(llm, {**counted, "answered": 0, "failed": 2, "not_sent": 1}) == [
        "judge: none; local:checker-0.5b answered none of 3 calls"
    ]
    assert lines(llm, {**counted, "answered": 0}) == lines(llm, None) == []
    (judge,) = lines(llm, {**counted, "answered": 0, "journaled": 1})
    assert judge.startswith("judge: local:checker-0.5b, trained")
