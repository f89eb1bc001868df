"""Sources in languages that the model does not read are named once, with their share."""

from __future__ import annotations

from pathlib import Path

import pytest

import veridical
from veridical.notices import reset_warnings
from veridical.run.unread import warn_of_unread

ENGLISH = "The bridge was opened in 1932 and it is still the longest of the country."
GERMAN = "Die Brücke wurde im Jahr 1932 eröffnet und ist noch immer die längste des Landes."


def warnings(capsys: pytest.CaptureFixture[str]) -> list[str]:
    return [x for x in capsys.readouterr().err.splitlines() if "does not read" in x]


def test_contexts(capsys: pytest.CaptureFixture[str]) -> None:
    reset_warnings()
    rows = [
        {"response": "It opened in 1932.", "contexts": [ENGLISH, GERMAN if i == 0 else ENGLISH]}
        for i in range(4)
    ]
    veridical.check(rows, "nli_grounding", nli="mini", store=None).summary()
    (told,) = warnings(capsys)
    assert "12% of the contexts inspected (1 of 8: de 1)" in told
    veridical.check(rows[1:], "nli_grounding", nli="mini", store=None).summary()
    veridical.check(rows, "support", store=None).summary()  # asks no model
    assert warnings(capsys) == []


def test_a_corpus(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    reset_warnings()
    for name, text in (("a", ENGLISH), ("b", GERMAN)):
        (tmp_path / f"{name}.txt").write_text(text, encoding="utf-8")
    rows = [{"prompt": "When did the bridge open?", "response": "The bridge opened in 1932."}]
    veridical.check(rows, "nli_grounding", nli="mini", store=None, corpus=str(tmp_path)).summary()
    (told,) = warnings(capsys)
    assert "50% of the passages inspected (1 of 2: de 1)" in told


def test_nothing_is_said_of_a_language_that_is_read(capsys: pytest.CaptureFixture[str]) -> None:
    from collections import Counter

    reset_warnings()
    warn_of_unread("contexts", Counter({"en": 3, None: 2}), frozenset({"en"}), "m")
    assert warnings(capsys) == []
