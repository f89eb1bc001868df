"""The scorers that users of other tools ask for, from end to end: real models, odd rows."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from veridical.cli import main

NAMES = (
    *("citations", "actions", "turns", "factual_correctness"),
    *("context_recall", "context_precision", "answer_relevancy"),
)
CALL = {"id": "1", "function": {"name": "create_ticket", "arguments": "{}"}}
TALK = [
    {"role": "user", "content": "Open a ticket. When did order 17 leave?"},
    {"role": "assistant", "content": None, "tool_calls": [CALL]},
    {"role": "tool", "tool_call_id": "1", "content": '{"id": 7, "order": "17 left on Monday"}'},
]
PARIS = ["Lyon is a city in France.", "Paris is the capital of France."]
ROWS: list[dict[str, Any]] = [
    {
        "prompt": "What is the capital of France?",
        "response": "Paris is the capital of France [2].",
        "contexts": PARIS,
        "reference": "Paris is the capital of France.",
    },
    {"response": "Paris is the capital of France [3].", "contexts": PARIS},
    {"response": "Paris is the capital of France.", "contexts": PARIS},
    {"response": "I created the ticket and deleted order 17.", "prompt": TALK},
    {"response": "", "prompt": TALK, "contexts": PARIS, "reference": "Paris."},
    {
        "response": "巴黎是法国的首都【1】。",
        "contexts": ["巴黎是法国的首都。"],
        "reference": "巴黎。",
    },
    {"response": "\u202e[1][2][99]\x1b[31m</script>", "contexts": ["\u202e"], "prompt": "\u200b"},
    {"response": "[1-999]" * 2000 + " so.", "contexts": ["So it is."]},
    {"response": "Yes.", "prompt": [{"role": "tool", "content": 7}, {"tool_calls": "x"}]},
]


def run(*arguments: str) -> int:
    """The command's exit code."""
    with pytest.MonkeyPatch.context() as patch, pytest.raises(SystemExit) as ended:
        patch.setattr(sys, "argv", ["veridical", *arguments])
        main()
    return int(ended.value.code or 0)


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    folder = tmp_path_factory.mktemp("asked")
    rows, out = folder / "rows.jsonl", folder / "results.jsonl"
    rows.write_text("".join(json.dumps(r) + "\n" for r in ROWS), encoding="utf-8")
    arguments = ["check", str(rows), "--scorers", ",".join(NAMES), "--json", str(out)]
    code = run(*arguments, "--out", str(folder / "run"), "--store", "none")
    assert code in (0, 2)  # some scorers apply to few rows
    return [json.loads(line) for line in out.read_text("utf-8").splitlines()]


def statuses(results: list[dict[str, Any]], row: int) -> dict[str, str]:
    scores = results[row]["scores"]
    return {name: scores[name]["status"] for name in NAMES}


def test_no_odd_row_fails(results: list[dict[str, Any]]) -> None:
    assert len(results) == len(ROWS)
    for row in range(len(ROWS)):
        assert "failed" not in statuses(results, row).values(), results[row]


def test_a_full_row_is_scored_by_all_that_need_no_conversation(
    results: list[dict[str, Any]],
) -> None:
    found = results[0]
    scores = found["scores"]
    assert {n for n, s in statuses(results, 0).items() if s == "scored"} == {*NAMES} - {
        "actions",
        "turns",
    }
    assert scores["citations"]["units"][0]["label"] == "supported"
    assert scores["factual_correctness"]["raw"]["precision"] == 1.0
    assert scores["context_precision"]["raw"]["useful"] == [0, 1]
    assert scores["context_recall"]["raw"]["recall"] == 1.0
    assert (found["by"], found["verdict"]) == ("factual_correctness", "supported")


def test_citations_that_do_not_exist_and_answers_without_any(
    results: list[dict[str, Any]],
) -> None:
    assert results[1]["scores"]["citations"]["raw"]["not_found"] == ["3"]
    assert results[1]["scores"]["citations"]["risk"] == 1.0
    assert results[2]["scores"]["citations"]["reason"] == "the response cites nothing"
    assert results[7]["scores"]["citations"]["risk"] == 1.0


def test_actions_and_turns_of_a_conversation(results: list[dict[str, Any]]) -> None:
    scores = results[3]["scores"]
    labels = [a["label"] for a in scores["actions"]["raw"]["actions"]]
    assert labels == ["done", "not_called"]
    assert scores["turns"]["status"] == "scored"


def test_an_empty_answer_has_no_risk(results: list[dict[str, Any]]) -> None:
    found = results[4]
    assert (found["risk"], found["verdict"], found["reason"]) == (None, "unchecked", "no_statement")
    scored = {n for n, s in statuses(results, 4).items() if s == "scored"}
    assert scored == {"context_recall", "context_precision"}  # which do not look at it


def test_plan_and_help_know_them(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = tmp_path / "rows.jsonl"
    rows.write_text("".join(json.dumps(r) + "\n" for r in ROWS), encoding="utf-8")
    assert run("plan", str(rows), "--scorers", ",".join(NAMES)) == 0
    planned = capsys.readouterr()
    assert run("scorers") == 0
    listed = capsys.readouterr()
    for name in NAMES:
        assert name in planned.out + planned.err
        assert name in listed.out
