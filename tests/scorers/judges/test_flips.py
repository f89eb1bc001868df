"""Judges whose answers follow the order of the alternatives are named once."""

from __future__ import annotations

import pytest

import veridical
from veridical.llm.fake import FakeLlm
from veridical.notices import reset_warnings
from veridical.scorers.judges import statement_judge as module
from veridical.scorers.judges._flips import FlipCount

SAME, FLIPPED = ("Yes", "Yes"), ("Yes", "No")


def test_a_judge_that_changes_many_answers_is_named_once(
    capsys: pytest.CaptureFixture[str],
) -> None:
    reset_warnings()
    flips = FlipCount()
    flips.note("steady", [SAME] * 30 + [FLIPPED] * 5)
    flips.note("short", [FLIPPED] * 9)  # too few to say
    assert capsys.readouterr().err == ""
    for _ in range(3):
        flips.note("swayed", [SAME] * 6 + [FLIPPED] * 4)
    told = capsys.readouterr().err
    assert told.count("warning:") == 1
    assert "swayed changes its answer to 4 of 10 statements" in told


def test_of_a_run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    reset_warnings()
    monkeypatch.setattr(module, "_FLIPS", FlipCount())
    first = FakeLlm({"Answer Yes or No.": "Yes", "": "No"})  # always what stands first
    rows = [{"response": f"The hall has {i} rooms.", "contexts": ["A hall."]} for i in range(12)]
    veridical.check(rows, "statement_judge", llm=first, store=None).summary()
    assert "the LLM that judges changes its answer to" in capsys.readouterr().err
