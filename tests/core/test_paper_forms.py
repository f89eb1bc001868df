"""``--paper-forms``: every form binds, differs from the default, and leaves what is given."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from veridical import check_one, plan
from veridical.cli.app import app
from veridical.core.paper_forms import PAPER_FORMS
from veridical.core.resolving import resolve
from veridical.errors import UsageError

ROW = {"response": "It rained.", "samples": ["It rained.", "It snowed."]}


@pytest.mark.parametrize("name", PAPER_FORMS)
def test_every_form_is_another_scorer_than_the_default(name: str) -> None:
    arguments = PAPER_FORMS[name].arguments
    (bound,) = resolve(name, paper_forms=True, llm=True)
    assert {n: bound.values[n] for n in arguments} == arguments
    assert all(bound.scorer.defaults[n] != value for n, value in arguments.items())


def test_what_is_given_stays_and_other_scorers_do_too() -> None:
    scorers = "ngram(n=2), selfcheck_nli(order=paper), cosine"
    keys = [b.key for b in resolve(scorers, paper_forms=True)]
    assert keys == ["ngram(counting=paper,n=2)", "selfcheck_nli(texts=plain)", "cosine"]


def test_what_is_set_once_may_be_set_again() -> None:
    once = resolve("ngram, judge", paper_forms=True, llm=True)
    assert resolve(once, paper_forms=True, llm=True) == once


def test_two_that_become_one_are_refused() -> None:
    with pytest.raises(UsageError, match="twice"):
        resolve("ngram, ngram(counting=paper)", paper_forms=True)


def test_the_default_ensemble_is_of_no_paper() -> None:
    (plain,) = [b for b in resolve(None) if b.scorer.name == "ensemble"]
    (formed,) = [b for b in resolve(None, paper_forms=True) if b.scorer.name == "ensemble"]
    assert plain.identity == formed.identity


def test_check_check_one_and_plan(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.jsonl").write_text(json.dumps(ROW))
    arguments = ["a.jsonl", "--scorers", "ngram", "--paper-forms", "--json", "r.jsonl"]
    assert app(["check", *arguments], standalone_mode=False) == 0
    line = json.loads((tmp_path / "r.jsonl").read_text())
    assert list(line["scores"]) == ["ngram(counting=paper)"]
    found = check_one(
        ROW["response"], samples=ROW["samples"], scorers="ngram", paper_forms=True, store="none"
    )
    assert found.scores["ngram(counting=paper)"].raw == pytest.approx(
        line["scores"]["ngram(counting=paper)"]["raw"]
    )
    assert "ngram(counting=paper)" in str(plan([ROW], "ngram", paper_forms=True))
