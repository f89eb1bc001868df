"""``veridical explain``: one answer of a run by its row or id, and what is refused."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from veridical.cli import main

ROWS = [
    {"id": "tower", "question": "How tall?", "answer": "It is 70 m tall.", "contexts": "57 m."},
    {"id": "1", "answer": "It is red.", "contexts": "It is red."},
    {"id": "bad"},
]


@pytest.fixture
def call(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., tuple[int, str, str]]:
    monkeypatch.chdir(tmp_path)
    Path("a.jsonl").write_text("".join(json.dumps(row) + "\n" for row in ROWS), "utf-8")

    def run(*arguments: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["veridical", *arguments])
        with pytest.raises(SystemExit) as ended:
            main()
        out, err = capsys.readouterr()
        return int(ended.value.code or 0), out, err

    run("check", "a.jsonl", "--scorers", "nli_grounding", "--out", "run", "--store", "none")
    return run


@pytest.mark.parametrize("name", ["0", "tower"])
def test_a_record_by_its_row_or_id(call: Callable[..., tuple[int, str, str]], name: str) -> None:
    code, out, _ = call("explain", "run", name)
    assert code == 0 and "Question: How tall?" in out and ">>> It is 70 m tall." in out
    assert max(map(len, out.splitlines())) <= 80


def test_a_row_comes_before_an_id_like_it(call: Callable[..., tuple[int, str, str]]) -> None:
    code, out, _ = call("explain", "run", "1", "--json")
    assert code == 0 and json.loads(out)["row"] == 1


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("9", "no row or id '9' (2 results)"),
        ("nobody", "no row or id 'nobody'"),
        ("2", "row 2 was not read"),
        ("-1", "No such option"),
    ],
)
def test_what_is_not_there(
    call: Callable[..., tuple[int, str, str]], name: str, message: str
) -> None:
    code, _, err = call("explain", "run", name)
    assert code == 1 and message in " ".join(err.split()) and "Traceback" not in err


def test_a_folder_that_is_no_run(call: Callable[..., tuple[int, str, str]]) -> None:
    code, _, err = call("explain", "nowhere", "0")
    assert code == 1 and "nowhere" in err
