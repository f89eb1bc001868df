"""Decisions, selected answers and repairs in the report."""

from __future__ import annotations

import pytest
from browsing import Open, open_row
from builders import HOSTILE

from veridical.core.records import Record
from veridical.core.registry import REGISTRY
from veridical.core.scores import Change, Repair, Result, ResultSummary, Score, Selected
from veridical.engine.summary import Summary
from veridical.report.decided import tables_of
from veridical.report.decision_payload import MAX_CHANGES, MAX_RISKS
from veridical.report.payload import detail

TEXT = "🙂 Ann sang. Bob ran. Cy slept."


def changed(**more: object) -> Repair:
    fields = {
        "how": "drop",
        "status": "changed",
        "scorer": "claims",
        "text": "🙂 Ann sang. Cy ran.",
        "changes": (
            Change(start=12, end=21, text="Bob ran. ", new="", unsupported=("Bob ran.",)),
            Change(start=21, end=30, text="Cy slept.", new="Cy ran."),
        ),
        "risk": 0.25,
        "by": "ensemble",
        "remaining": 0,
        "decision": "accept",
        **more,
    }
    return Repair(**fields)  # type: ignore[arg-type]


def best(**more: object) -> Selected:
    fields = {
        "kind": "sample",
        "index": 1,
        "text": "Ann sang.",
        "risk": 0.25,
        "by": "ensemble",
        "risks": (0.9, None, 0.25),
        "decision": "review",
        **more,
    }
    return Selected(**fields)  # type: ignore[arg-type]


def pair(**fields: object) -> tuple[Record, Result]:
    record = Record(row=0, id="r", response=TEXT, samples=["a", "Ann sang."])
    made = Result(
        id="r", row=0, risk=0.9, by="ensemble", scores={"claims": Score.of(0.9)}, **fields
    )
    return record, made


def test_what_was_not_asked_for_is_not_there() -> None:
    assert not {"why", "selected", "repair"} & set(detail(*pair()))


def test_the_page_carries_what_the_line_says() -> None:
    shown = detail(*pair(decision="reject", why=("a", "b"), selected=best(), repair=changed()))
    assert shown["why"] == ["a", "b"]
    assert shown["selected"] == {
        "kind": "sample",
        "index": 1,
        "risk": 0.25,
        "by": "ensemble",
        "decision": "review",
        "text": "Ann sang.",
        "risks": [0.9, None, 0.25],
        "of": 3,
    }
    assert [c["new"] for c in shown["repair"]["changes"]] == ["", "Cy ran."]
    assert shown["repair"]["changes"][0]["why"] == ["Bob ran."]


def test_long_ones_are_cut() -> None:
    change = Change(start=0, end=1, text="x", new="y")
    shown = detail(
        *pair(
            selected=best(risks=(0.5,) * 1000),
            repair=changed(changes=(change,) * 1000, reason="x" * 200_000),
        )
    )
    assert len(shown["selected"]["risks"]) == MAX_RISKS and shown["selected"]["of"] == 1000
    assert len(shown["repair"]["changes"]) == MAX_CHANGES
    assert len(shown["repair"]["reason"]) < 101_000


def test_tables_count_records_and_escape_causes() -> None:
    summary = Summary(REGISTRY.parse("claims"))
    for i, cause in enumerate(HOSTILE):
        decision = ("accept", "review", "reject")[i % 3]
        line = pair(decision=decision, why=(cause, "always"), selected=best())[1].model_dump_json()
        summary.add(ResultSummary.model_validate_json(line))
    decisions, selected = tables_of(summary)
    assert f"always</bdi> <b>× {len(range(0, len(HOSTILE), 3))}" in decisions
    assert "<script" not in decisions and 'onerror="' not in decisions
    assert "&lt;/script&gt;" in decisions
    assert "sample" in selected and "100 %" in selected
    assert tables_of(Summary(REGISTRY.parse("claims"))) == []


@pytest.mark.browser
def test_decisions_selections_and_changes_are_shown(show: Open) -> None:
    record, made = pair(decision="reject", why=HOSTILE, selected=best(), repair=changed())
    bad = Change(start=0, end=1, text=HOSTILE[0], new=HOSTILE[1], unsupported=HOSTILE)
    worse = made.model_copy(
        update={
            "row": 1,
            "selected": best(text=HOSTILE[0], by=HOSTILE[1]),
            "repair": changed(changes=(bad,), by=HOSTILE[2], scorer=HOSTILE[3]),
        }
    )
    none = made.model_copy(
        update={
            "row": 2,
            "selected": best(kind=None, index=None, text=None, risk=None, risks=(None,)),
            "repair": Repair(how="rewrite", status="failed", reason=HOSTILE[0]),
        }
    )
    rows = [record.model_copy(update={"row": i}) for i in range(3)]
    page = show(list(zip(rows, (made, worse, none), strict=True)))
    open_row(page, 0)
    assert page.locator(".diff del").all_text_contents() == ["Bob ran. ", "Cy slept."]
    assert page.locator(".diff ins").all_text_contents() == ["Cy ran."]
    whole = page.locator(".diff").evaluate("(d) => d.textContent")
    assert whole == "🙂 Ann sang. Bob ran. Cy slept. Cy ran."
    text = page.locator("#detail").evaluate("(d) => d.textContent")
    assert "Decision: reject" in text and "Best of 3: sample 2" in text
    assert "response 0.90, sample 1 –, sample 2 0.25" in text
    assert all(cause in text for cause in HOSTILE)
    open_row(page, 1)
    text = page.locator("#detail").evaluate("(d) => d.textContent")
    assert HOSTILE[0] in text and HOSTILE[1] in text and HOSTILE[3] in text
    assert page.locator("#detail").locator("img, svg, script, iframe, a").count() == 0
    open_row(page, 2)
    text = page.locator("#detail").evaluate("(d) => d.textContent")
    assert "Best of 1: none" in text and f"Failed: {HOSTILE[0]}" in text
