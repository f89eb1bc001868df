"""A template is part of the scorer: a run by another version of it is another run."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

import veridical
from veridical.errors import UsageError
from veridical.llm.fake import FakeLlm
from veridical.prompts import Prompt, Turn, load_prompt

ROWS = [{"prompt": "Capital of France?", "response": r} for r in ("Paris", "Lyon")]


@pytest.mark.parametrize(
    ("spec", "template"),
    [
        ("judge", "correct_incorrect"),
        ("p_true", "p_true"),
        ("panel(judges='self|likert')", "likert"),
        ("selfcheck_prompt(against=reference)", "selfcheck_paper"),
    ],
)
def test_a_changed_template_resumes_no_run(
    spec: str, template: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    llm = FakeLlm({"": "Correct"})
    rows = [{**row, "reference": "Paris."} for row in ROWS]

    def run(out: str) -> dict[str, str]:
        results = veridical.check(rows, spec, llm=llm, out=tmp_path / out)
        (signature,) = {s.signature for r in results for s in r.scores.values()}
        return {"signature": signature}

    first = run("a")
    own = load_prompt(template)
    assert f"|prompt:{own.identity}|" in first["signature"]
    calls = len(llm.asked)
    assert run("a") == first and len(llm.asked) == calls  # resumed
    turns = (*own.turns[:-1], Turn("user", own.turns[-1].content + " Be strict."))
    changed = replace(own, version="0123abcd", turns=turns)

    def edited(name: str) -> Prompt:
        return changed if name == template else load_prompt(name)

    monkeypatch.setattr("veridical.prompts.prompt.load_prompt", edited)
    with pytest.raises(UsageError, match="scorers"):
        run("a")
    assert f"|prompt:{template}@0123abcd|" in run("b")["signature"]
