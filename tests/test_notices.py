"""Notices: told once, on one line, and never the end of a process without a standard error."""

from __future__ import annotations

import sys

import pytest

from veridical.notices import reset_warnings, warn_once


def test_a_notice_is_told_once(capsys: pytest.CaptureFixture[str]) -> None:
    reset_warnings()
    for _ in range(2):
        warn_once("one\x1b[2J")
    warn_once("two")
    assert capsys.readouterr().err == "warning: one?[2J\nwarning: two\n"


def test_without_a_standard_error_nothing_is_told(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    reset_warnings()
    monkeypatch.setattr(sys, "stderr", None)
    warn_once("three")
    assert capsys.readouterr().out == ""
