"""``veridical hook claude-code``: transcripts of agents, what it says of them, and how it ends."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
from commands import run_command

SOURCE = "The tower is 57 m tall. It was finished in 1889."
WRONG = "The tower is 70 m tall."


def said(*blocks: Any, id: str = "m2", **more: Any) -> dict[str, Any]:
    message = {"role": "assistant", "id": id, "content": list(blocks)}
    return {"type": "assistant", "message": message, "uuid": "u", **more}


def text(value: str) -> dict[str, str]:
    return {"type": "text", "text": value}


def user(content: Any, **more: Any) -> dict[str, Any]:
    return {"type": "user", "message": {"role": "user", "content": content}, **more}


CALL = {"type": "tool_use", "id": "t1", "name": "WebFetch", "input": {"url": "x"}}
RESULT = {"type": "tool_result", "tool_use_id": "t1", "content": [text("Other."), text(SOURCE)]}
BEFORE = [
    {"type": "summary", "summary": "Towers"},
    user("How tall is the tower?"),
    said(text("I look it up."), CALL, id="m1"),
    user([RESULT]),
]


def hook(
    tmp_path: Path, entries: list[Any], *arguments: str, **event: Any
) -> subprocess.CompletedProcess[str]:
    transcript = tmp_path / "transcript.jsonl"
    lines = [e if isinstance(e, str) else json.dumps(e) for e in entries]
    transcript.write_text("\n".join(lines) + "\n", encoding="utf-8")
    given = {"transcript_path": str(transcript), "stop_hook_active": False, **event}
    return call(json.dumps(given), *arguments)


def call(stdin: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    return run_command("hook", "claude-code", *arguments, stdin=stdin)


def test_a_contradicted_answer_goes_back_to_the_agent(tmp_path: Path) -> None:
    done = hook(tmp_path, [*BEFORE, said(text(WRONG))])
    assert done.returncode == 2 and done.stdout == ""
    assert f'- contradicted: "{WRONG}"' in done.stderr
    assert 'WebFetch says: "The tower is 57 m tall."' in done.stderr
    assert "Correct these statements" in done.stderr


def test_a_supported_answer_is_let_through_in_silence(tmp_path: Path) -> None:
    done = hook(tmp_path, [*BEFORE, said(text("The tower is 57 m tall."))])
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_an_agent_that_was_stopped_already_is_let_go_in_silence(tmp_path: Path) -> None:
    done = hook(tmp_path, [*BEFORE, said(text(WRONG))], stop_hook_active=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_what_was_not_checked_is_told_to_the_user(tmp_path: Path) -> None:
    entries = [user("How tall?"), said(text(WRONG))]
    done = hook(tmp_path, entries)
    assert done.returncode == 0 and done.stderr == ""
    assert "was not checked" in json.loads(done.stdout)["systemMessage"]
    done = hook(tmp_path, entries, "--fail-on", "contradicted,unchecked")
    assert done.returncode == 2 and "unchecked" in done.stderr


def test_verdicts_may_be_chosen(tmp_path: Path) -> None:
    entries = [*BEFORE, said(text("The lake is deep and full of pike."))]
    assert hook(tmp_path, entries).returncode == 2
    assert hook(tmp_path, entries, "--fail-on", "contradicted").returncode == 0


def test_an_answer_in_several_lines_and_a_reply_of_its_own(tmp_path: Path) -> None:
    """The transcript has a line for each block of a message."""
    blocks = [
        said({"type": "thinking", "thinking": "57 m"}),
        said(text("It was finished in 1889.")),
        said(text(WRONG)),
    ]
    done = hook(tmp_path, [*BEFORE, *blocks])
    assert done.returncode == 2 and WRONG in done.stderr and "1889" not in done.stderr
    done = hook(tmp_path, BEFORE, last_assistant_message=WRONG)
    assert done.returncode == 2 and WRONG in done.stderr


def test_what_is_not_the_conversation_is_passed_over(tmp_path: Path) -> None:
    odd = [
        "not json",
        "[]",
        {"type": "user"},
        {"type": "user", "message": {"role": "user", "content": 5}},
        {"type": "assistant", "message": None},
        user([{**RESULT, "content": WRONG}], isSidechain=True),
        user([{**RESULT, "content": WRONG}], isMeta=True),
        said(text("API Error"), isApiErrorMessage=True),
    ]
    done = hook(tmp_path, [*BEFORE, *odd, said(text(WRONG)), *odd])
    assert done.returncode == 2 and "contradicted" in done.stderr


@pytest.mark.parametrize("entries", [[], BEFORE, [*BEFORE, said(CALL)]])
def test_where_nothing_was_said_there_is_nothing_to_say(tmp_path: Path, entries: list[Any]) -> None:
    done = hook(tmp_path, entries)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_hostile_text_stays_text(tmp_path: Path) -> None:
    hostile = "\x1b[2J\u202e The tower is 57 m tall.\x07"
    result = {**RESULT, "content": hostile}
    done = hook(tmp_path, [*BEFORE[:-1], user([result]), said(text(WRONG))])
    assert done.returncode == 2 and not {"\x1b", "\u202e", "\x07"} & {*done.stderr}


@pytest.mark.parametrize(
    ("stdin", "arguments", "message"),
    [
        ("", [], "not JSON"),
        ("[]", [], "JSON object"),
        ("{}", [], "transcript_path is missing"),
        ('{"transcript_path": "/nowhere/t.jsonl"}', [], "No such file"),
        ('{"transcript_path": "/"}', [], "is not a file"),
        ('{"transcript_path": "a\\u0000b"}', [], "cannot read"),
        ("{}", ["--fail-on", "reject"], "unknown verdict"),
        ("{}", ["--fail-on", ","], "--fail-on is empty"),
    ],
)
def test_what_is_refused(stdin: str, arguments: list[str], message: str) -> None:
    done = call(stdin, *arguments)
    assert done.returncode == 1 and message in done.stderr and "Traceback" not in done.stderr


def test_a_pipe_does_not_hold_it(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    assert call(json.dumps({"transcript_path": str(tmp_path / "pipe")})).returncode == 1
