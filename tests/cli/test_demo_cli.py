"""``veridical demo`` writes its file once, and takes the place of nobody's."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from veridical.cli import main


@pytest.mark.parametrize(
    ("out", "message"),
    [
        ("mine.jsonl", "exists and is not the file of examples"),
        ("demo.txt", "must end in .jsonl"),
        ("no/where.jsonl", "no/where.jsonl"),
    ],
)
def test_what_is_refused(
    out: str,
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("mine.jsonl").write_text('{"answer": "mine"}\n')
    monkeypatch.setattr(sys, "argv", ["veridical", "demo", "--out", out])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 1
    assert message in " ".join(capsys.readouterr().err.split())
    assert Path("mine.jsonl").read_text() == '{"answer": "mine"}\n'
