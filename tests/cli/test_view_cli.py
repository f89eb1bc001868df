"""``veridical view``: what is refused before a page is opened, and its help without the extra."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest


def view(folder: Path, *options: str, code: str = "") -> subprocess.CompletedProcess[str]:
    command = ["-c", code, "view"] if code else ["-m", "veridical", "view"]
    return subprocess.run(
        [sys.executable, *command, *options],
        cwd=folder,
        env={**os.environ, "COLUMNS": "80"},
        capture_output=True,
        text=True,
        timeout=120,
    )


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["nowhere"], "nowhere: no such file or folder"),
        (["answers.jsonl"], "answers.jsonl is not a run directory"),
        (["other.json"], "other.json is not a run directory"),
        (["broken"], "is not a readable run directory"),
        ([".", "nowhere"], "nowhere: no such file or folder"),
        (["--port", "70000"], "--port"),
        ([".", "--llm", "nothing-like-it"], "nothing-like-it"),
        ([".", "--nli", "nothing-like-it"], "nothing-like-it"),
        ([".", "--host", "198.51.100.7"], "cannot listen on 198.51.100.7"),
    ],
)
def test_what_cannot_work_is_refused(tmp_path: Path, options: list[str], says: str) -> None:
    pytest.importorskip("fastapi")
    pytest.importorskip("uvicorn")
    (tmp_path / "answers.jsonl").write_text('{"response": "It is so."}\n')
    (tmp_path / "other.json").write_text('{"a": 1}')
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "manifest.json").write_text("{")
    done = view(tmp_path, *options)
    assert done.returncode == 1, done.stderr
    told = " ".join(done.stderr.split())
    assert says in told and "Traceback" not in told and "internal error" not in told


_BARE = """
import sys
for name in ("fastapi", "uvicorn", "starlette"):
    sys.modules[name] = None
from veridical.cli import main
main()
"""


def test_help_needs_no_extra_and_the_page_says_what_it_needs(tmp_path: Path) -> None:
    shown = view(tmp_path, "--help", code=_BARE)
    assert shown.returncode == 0 and "claim by claim" in shown.stdout
    done = view(tmp_path, code=_BARE)
    assert done.returncode == 1 and "pip install fastapi uvicorn prometheus-client" in done.stderr
