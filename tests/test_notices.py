"""Notices: told once, on one line, and never the end of a process without a standard error."""

from __future__ import annotations

import sys

import pytest

from veridical.notices import forget_told, tell_once


def test_a_notice_is_told_once(capsys: pytest.CaptureFixture[str]) -> None:
    forget_told()
    for _ in range(2):
        tell_once("one\x1b[2J")
    tell_once("two")
    assert capsys.readouterr().err == "warning: one?[2J\nwarning: two\n"


def test_without_a_standard_error_nothing_is_told(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    forget_told()
    monkeypatch.setattr(sys, "stderr", None)
    tell_once("three")
    assert capsys.readouterr().out == ""
