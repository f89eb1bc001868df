"""Guarantees and drift in the report."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from browsing import Open
from builders import HOSTILE, assorted

from veridical.decide.drift import Drift
from veridical.decide.guarantees import GUARANTEES, PolicyGuarantees
from veridical.ensembles.ensemble_file import StoredGuarantee
from veridical.report.guarantees import drift_tables, guarantee_table


def guarantee(threshold: float | None = 0.3125, **more: Any) -> StoredGuarantee:
    fields = {"alpha": 0.1, "delta": 0.05, "n": 1200, "reason": None, **more}
    if threshold is not None:
        fields |= {"accepted": 0.45, "observed": 0.062, "bound": 0.088}
    return StoredGuarantee(method="ltt", threshold=threshold, **fields)


def refused(reason: str) -> StoredGuarantee:
    return guarantee(None, reason=reason, n=9)


def drift(p: float | None = 0.4, **more: Any) -> Drift:
    fields = {"n": 50, "effective": 40.0, "ks": 0.21, "p": p, "p_holm": p, "psi": 0.1}
    fields |= {"mean": 0.61, "mean_before": 0.44, "not_scored": 0.0, "not_scored_before": 0.0}
    return Drift(**{**fields, **more})


STRATA = PolicyGuarantees(
    by="task",
    of={"qa": guarantee(), "chat": guarantee(0.2), "law": refused("9 are too few"), "new": None},
    rules=True,
)


def test_all_that_is_promised_is_on_the_page() -> None:
    table = guarantee_table(PolicyGuarantees(by=None, of={"": guarantee()}))
    for shown in ("all", "0.3125", "10 %", "95 %", "1,200", "45 %", "6.2 %", "8.8 %"):
        assert f">{shown}<" in table
    assert "together" not in table and "drawn like those that were graded" in table


def test_strata_refusals_and_what_holds_together() -> None:
    table = guarantee_table(STRATA)
    assert "task = qa" in table and "No guarantee: 9 are too few." in table
    assert ">No guarantee.<" in table
    assert "Each of these holds separately with that probability" in table
    assert "The rules may revoke some of these" in table
    both = guarantee_table(STRATA.model_copy(update={"simultaneous": 0.1}))
    assert "All of these hold together with probability 0.9." in both
    assert "separately" not in both


def test_the_terminal_says_the_same() -> None:
    lines = STRATA.lines
    assert lines[0] == (
        "task = qa: at most 10 % of the accepted are hallucinated with probability 0.95 (risk at "
        "most 0.3125, by 1200 graded answers, of which it accepts 45%)"
    )
    assert lines[2] == "task = law: no guarantee: 9 are too few"
    assert lines[3] == "task = new: no guarantee"
    assert "separately" in lines[4] and "rules" in lines[5]
    assert PolicyGuarantees(by=None, of={"": guarantee()}).lines[1:] == ()


def test_promises_are_kept_with_the_run(tmp_path: Path) -> None:
    assert PolicyGuarantees.load(tmp_path) is None
    STRATA.save(tmp_path)
    assert PolicyGuarantees.load(tmp_path) == STRATA
    (tmp_path / GUARANTEES).write_text("{}", "utf-8")
    assert PolicyGuarantees.load(tmp_path) is None


def test_drift_is_told_with_its_figures() -> None:
    (table,) = drift_tables({"ensemble": {"ngram": drift(0.0001), "support": drift()}})
    for shown in ("0.610", "0.440", "0.21", "&lt; 0.001", "0.400", "yes", "no"):
        assert f">{shown}<" in table
    assert "Drifted from the answers it was tuned on: ngram." in table and 'class="alarm"' in table
    (still,) = drift_tables({"ensemble": {"ngram": drift()}})
    assert "No drift from the answers it was tuned on." in still and "alarm" not in still
    none = drift(None, ks=None, mean=None, mean_before=None)
    (unknown,) = drift_tables({"ensemble": {"ngram": none}})
    assert "Nothing is scored that could have drifted." in unknown and "Nothing to" in unknown
    assert drift_tables({}) == []


def test_names_and_reasons_are_escaped() -> None:
    of = {name: refused(name) for name in HOSTILE}
    told = guarantee_table(PolicyGuarantees(by=HOSTILE[0], of=of))
    told += drift_tables({HOSTILE[0]: {name: drift(0.01) for name in HOSTILE}})[0]
    assert "<script" not in told and "<img" not in told and "<svg" not in told
    assert 'onerror="' not in told and "&lt;/script&gt;" in told


@pytest.mark.browser
def test_guarantees_and_drift_are_shown(show: Open, size: str) -> None:
    of = {"qa": guarantee(), **{name: refused(name) for name in HOSTILE}}
    found = {"ngram": drift(0.01), HOSTILE[0]: drift()}
    tables = [
        guarantee_table(PolicyGuarantees(by="task", of=of)),
        *drift_tables({HOSTILE[1]: found}),
    ]
    page = show(assorted(), size=size, tables=tables)
    figures = page.locator("figure.decided")
    assert figures.count() == 2
    accepted = figures.nth(0)
    assert accepted.locator("caption, figcaption").inner_text() == "Guarantee of accepted answers"
    cells = accepted.locator("tbody tr").nth(0).locator("th, td").all_inner_texts()
    assert cells == ["task = qa", "0.3125", "10 %", "95 %", "1,200", "45 %", "6.2 %", "8.8 %"]
    refusals = accepted.locator("tbody tr td[colspan]")
    assert refusals.count() == len(HOSTILE)
    told = refusals.evaluate_all("(cells) => cells.map((c) => c.textContent)")
    assert all(reason in text for reason, text in zip(HOSTILE, told, strict=True))
    moved = figures.nth(1)
    assert moved.locator("p.alarm").inner_text().startswith("Drifted from the answers")
    assert moved.locator("tbody tr").nth(0).locator("td").all_inner_texts()[-2:] == ["0.010", "yes"]
    assert figures.locator("img, svg, script, iframe").count() == 0
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert page.evaluate("document.title") == "A run"
