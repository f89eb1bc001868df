"""``veridical corpus`` and ``check --corpus`` as a user runs them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from commands import run_command
from fake_models import FakeEncoder, FakeNli


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr("veridical.models.load_nli", lambda spec, **_: FakeNli())
    monkeypatch.setattr("veridical.models.load_encoder", lambda spec, **_: FakeEncoder())
    monkeypatch.chdir(tmp_path)
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "ada.html").write_text("<p>Ada was born in London.<p>She wrote.")
    (tmp_path / "docs" / "bad.txt").write_bytes(b"\xff")
    (tmp_path / "in.jsonl").write_text(json.dumps({"response": "Ada was born in London."}) + "\n")
    return tmp_path


def run(capsys: Any, *arguments: str) -> tuple[int, str, str]:
    from veridical.cli.app import app

    code = app([*arguments], standalone_mode=False)
    out, err = capsys.readouterr()
    return code, out, err


def test_a_corpus_is_indexed_searched_and_read(capsys: Any) -> None:
    code, out, err = run(capsys, "corpus", "docs", "--search", "Where was Ada born?", "--top", "1")
    assert code == 0
    assert "corpus: 1 documents of 1 files, in 1 passages; 1 skipped" in err
    assert "skipped: bad.txt: not UTF-8 at byte 0" in err
    found = json.loads(out)
    code, text, _ = run(capsys, "corpus", "docs", "--text", "ada.html")
    assert text == "Ada was born in London.\n\nShe wrote."
    assert text[found["start"] : found["end"]] == found["text"]
    code, out, _ = run(capsys, "corpus", "docs", "--skipped")
    assert out.startswith("bad.txt\tnot UTF-8")


def test_check_and_plan_take_a_corpus(capsys: Any, folder: Path) -> None:
    arguments = ("in.jsonl", "--scorers", "nli_grounding", "--corpus", "docs", "--processes", "0")
    code, out, err = run(capsys, "plan", *arguments)
    assert code == 0 and "1 queries; 1 files, 1 documents, 1 passages, 1 skipped" in " ".join(
        out.split()
    )
    code, out, err = run(capsys, "check", *arguments, "--json", "-", "--report", "r.html")
    assert code == 0
    assert "skipped: bad.txt" in err
    (item,) = json.loads(out)["scores"]["nli_grounding"]["units"][0]["evidence"]
    (kept,) = (folder / ".veridical" / "runs").glob("*/contexts.jsonl")
    told = json.loads(kept.read_text())
    text = told["contexts"][item["index"]]["text"]
    assert text[item["start"] : item["end"]] == item["text"] == "Ada was born in London."
    assert (folder / "r.html").exists()


def test_what_does_not_exist_is_said() -> None:
    for corpus, why in (("absent", "no such corpus"), ("search:web", "no search service")):
        done = run_command(
            "check", "in.jsonl", "--corpus", corpus, env={"XDG_CONFIG_HOME": "/nonexistent"}
        )
        assert done.returncode == 1
        assert why in done.stderr and "Traceback" not in done.stderr
