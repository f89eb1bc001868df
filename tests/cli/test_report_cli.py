"""``veridical report``: which records a page shows, and without their texts."""

from __future__ import annotations

import base64
import json
import re
import subprocess
import zlib
from pathlib import Path
from typing import Any

import pytest
from commands import run_command

ROWS = [
    {"id": "right", "response": "Paris has 2 rivers.", "contexts": ["Paris has 2 rivers."]},
    {"id": "wrong", "response": "Lisbon has 9 rivers.", "contexts": ["Lisbon has 1 river."]},
    {"id": "none", "response": "", "contexts": ["Rome."]},
]


def veridical(*arguments: str) -> subprocess.CompletedProcess[str]:
    return run_command(*arguments)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("report")
    data = folder / "a.jsonl"
    data.write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    out = str(folder / "run")
    done = veridical(
        *("check", str(data), "--scorers", "nli_grounding", "--out", out, "--store", "none")
    )
    assert done.returncode == 0, done.stderr
    return folder / "run"


def report(run: Path, *options: str) -> tuple[subprocess.CompletedProcess[str], Path]:
    out = run.parent / "r.html"
    out.unlink(missing_ok=True)
    return veridical("report", str(run), "--out", str(out), *options), out


def blocks(page: Path, kind: str) -> list[Any]:
    found = re.findall(rf'data-kind="{kind}" data-first="\d+">([^<]+)<', page.read_text("utf-8"))
    return [item for data in found for item in json.loads(zlib.decompress(base64.b64decode(data)))]


def test_verdicts_choose_records(run: Path) -> None:
    done, page = report(run)
    verdicts = {row[1]: row[3] for row in blocks(page, "index")}
    assert done.returncode == 0 and list(verdicts) == ["right", "wrong", "none"]
    assert verdicts["right"] == "supported" and verdicts["none"] == "unchecked"
    done, page = report(run, "--only", f"{verdicts['wrong']}, unchecked")
    assert done.returncode == 0 and [row[1] for row in blocks(page, "index")] == ["wrong", "none"]
    assert " records of 3." in page.read_text("utf-8")


def test_a_redacted_page_has_no_text_of_a_record(run: Path) -> None:
    done, page = report(run, "--redact")
    shown = json.dumps([*blocks(page, "index"), *blocks(page, "detail"), *blocks(page, "search")])
    assert done.returncode == 0 and not re.search(
        "Paris|Lisbon|Rome|river", page.read_text("utf-8") + shown
    )
    assert "wrong" in shown and "supported" in shown


@pytest.mark.parametrize(
    ("only", "message"),
    [
        ("contradicte", "did you mean 'contradicted'"),
        (" , ", "only contains no verdict; choose among contradicted"),
    ],
)
def test_a_word_that_is_no_verdict_is_refused(run: Path, only: str, message: str) -> None:
    done, page = report(run, "--only", only)
    assert done.returncode == 1 and message in done.stderr
    assert not page.exists()
