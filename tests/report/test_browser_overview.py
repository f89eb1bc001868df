"""The answer of a report in a real browser: verdicts and risks that filter, links to a record."""

from __future__ import annotations

from typing import Any

import pytest
from browsing import Open, count_is, open_row, rows, title_is, until
from builders import assorted, many, summary
from claim_builders import claimed, other_records

from veridical.core.records import Record
from veridical.core.scores import Result, Score, Unit
from veridical.text.spans import Span

pytestmark = pytest.mark.browser


def pair(row: int, units: list[Unit], **more: Any) -> tuple[Record, Result]:
    """A record of two sentences and ten samples, with an ensemble over a scorer."""
    record = Record(row=row, response="It is one. It is two.", samples=["Other."] * 10)
    whole = [Unit.of(Span(0, 21, record.response), 0.1)] * 3
    scores = {"other": Score.of(0.1, units=whole), "ensemble(llm=x)": Score.of(0.8, units=units)}
    fields: dict[str, Any] = {"verdict": "inconsistent", "reason": None, **more}
    return record, Result(id=row, row=row, risk=0.8, by="ensemble", scores=scores, **fields)


def test_the_answer_stands_first_and_cards_filter(show: Open, size: str) -> None:
    page = show(assorted(), size=size)
    body = page.locator("body").inner_text()
    assert body.index("1 of 6 answers contain a statement") < body.index("Records")
    assert "Not calibrated on your data" in body
    cards = page.locator(".verdict-card")
    assert [" ".join(t.split()) for t in cards.all_inner_texts()] == [
        *("✗ Contradicted 1", "? Unsupported 1", "≠ Inconsistent 1"),
        *("– Unchecked 1", "≈ Consistent 1", "✓ Supported 1"),
    ]
    cards.nth(2).click()
    until(page, count_is("1 of 6 records"))
    assert rows(page) == [2] and page.input_value("#verdict") == "inconsistent"
    assert cards.nth(2).get_attribute("aria-pressed") == "true"
    if size == "wide":  # what is shown beside the list is one of it
        until(page, title_is(2))
    page.select_option("#verdict", "supported")
    until(page, "document.querySelectorAll('.option').length === 1")
    assert rows(page) == [0]
    assert [c.get_attribute("aria-pressed") for c in cards.all()] == [*["false"] * 5, "true"]
    cards.nth(5).focus()
    page.keyboard.press("Space")  # again: all
    until(page, count_is("6 records"))


def test_bars_filter_by_mouse_and_keyboard(show: Open) -> None:
    page = show(assorted())  # risks 0.1 .. 0.5, and one without
    bars = page.locator(".hit:enabled")
    assert bars.count() == 5 and page.locator(".hit").count() == 20
    assert page.locator(".hit[tabindex='0']").count() == 1
    bars.nth(4).click()
    until(page, count_is("1 of 6 records"))
    assert rows(page) == [4] and page.locator("#range").inner_text() == "Risk 0.50 to 0.55 ×"
    page.keyboard.press("ArrowLeft")
    assert page.evaluate("document.activeElement.ariaLabel") == "Risk 0.40 to 0.45: 1 record"
    page.keyboard.press("Shift+ArrowLeft")
    until(page, count_is("3 of 6 records"))
    assert rows(page) == [4, 3, 2]
    page.locator(".verdict-card").nth(0).click()  # both at once
    until(page, count_is("1 of 6 records"))
    page.click("#range")
    until(page, "document.getElementById('range').hidden")
    assert rows(page) == [3]
    page.click("#clear")
    until(page, count_is("6 records"))
    assert page.locator("[aria-pressed=true].hit, [aria-pressed=true].verdict-card").count() == 0


def test_a_link_opens_a_record_far_down(show: Open, size: str) -> None:
    pairs = list(many(3000))
    page = show(pairs, size=size, hash="#row=1234")
    until(page, title_is(1234))
    assert "Answer number 1234" in page.locator("#response").inner_text()
    box = page.locator("#detail-title").bounding_box()
    assert box is not None and 0 <= box["y"] < 800
    if size == "wide":
        assert page.locator(".option[aria-selected=true] .facts").inner_text().count("row 1234 ")


def test_the_units_that_made_the_risk_are_shown_first(show: Open) -> None:
    labelled = [
        Unit.of(Span(0, 10, "It is one."), 0.9, label="neutral"),
        Unit.of(Span(11, 21, "It is two."), 0.7, label="contradiction"),
    ]
    page = show([pair(0, labelled)], hash="#row=0")
    until(page, title_is(0))
    names = page.locator("#units option").all_inner_texts()
    assert names == ["ensemble(llm=x) (2 units)", "other (3 units)"]
    units = page.locator("#response .unit")
    assert [u.replace("\u202f", " ") for u in units.evaluate_all(
        "(a) => a.map((u) => u.dataset.figure)")] == ["? 0.90", "✗ 0.70"]  # fmt: skip
    panel = page.locator("#evidence").inner_text()  # a contradiction comes before a higher risk
    assert "contradicted" in panel and "It is in none of the 10 samples." in panel


def test_claims_are_the_view_to_begin_with(show: Open) -> None:
    record, made = claimed()
    made.scores["other"] = Score.of(0.9, units=made.scores["claims"].units[:1])
    made = made.model_copy(update={"by": "other"})
    page = show([(record, made)], hash="#row=0")
    page.wait_for_selector("#response .claim")
    assert page.locator("#units option:checked").inner_text() == "claims (4 claims)"


def test_why_there_is_no_verdict(show: Open) -> None:
    page = show([*assorted(), pair(6, [], verdict="unchecked", reason="language")])
    open_row(page, 5)
    assert page.locator(".verdict-line").inner_text() == (
        "– Unchecked: the answer is empty, declines to answer or is small talk"
    )
    open_row(page, 6)
    assert "no model reads its language" in page.locator(".verdict-line").inner_text()


def test_nothing_good_is_shown_where_nothing_was_checked(show: Open, size: str) -> None:
    fields: dict[str, Any] = {"verdict": "unchecked", "reason": "nothing_to_check"}
    records = [
        (Record(row=row, response="It is one."),
         Result(id=row, row=row, risk=None, by=None, scores={}, **fields))
        for row in range(3)
    ]  # fmt: skip
    columns = [("ctx", "contexts", "--map contexts=ctx")]
    page = show(records, summary(records, unused_columns=columns), size=size)
    text = page.locator("body").inner_text()
    assert "Nothing was checked." in text
    assert "ctx is a column that is not used; did you mean contexts? --map contexts=ctx" in text
    assert "✓" not in text and page.locator(".banner.bad").count() == 1
    assert page.locator(".histogram").count() == 0
    tones = page.locator("[data-v]").evaluate_all("(a) => a.map((e) => e.dataset.v)")
    assert set(tones) == {"none"}


def test_a_run_of_an_earlier_version_is_shown_by_its_risks(show: Open) -> None:
    old = [
        (record, made.model_copy(update={"verdict": "unchecked", "reason": "earlier_version"}))
        for record, made in assorted()
    ]
    page = show(old, hash="#row=3")
    until(page, title_is(3))
    assert page.locator(".verdict-card").count() == 0 and page.locator("#verdict").is_hidden()
    assert "an earlier version scored it" in page.locator(".verdict-line").inner_text()
    assert rows(page) == [4, 3, 2, 1, 0, 5]
    assert "Unchecked" not in page.locator(".option .facts").first.inner_text()


def test_scorers_are_closed_and_only_those_that_applied(show: Open) -> None:
    pairs = [*other_records(), *assorted()[5:]]
    head = summary(pairs)
    page = show(pairs, head, hash="#row=5")
    until(page, title_is(5))
    assert page.locator(".scorers").is_hidden() and page.locator("table.scores").count() == 0
    page.locator(".more summary", has_text="Scorers").click()
    assert page.locator(".scorers tbody th").all_inner_texts() == ["claims\nManakul 2023, eq. 10"]
    assert "Not applicable to any record: support." in page.locator(".more").inner_text()
    page.locator("#detail > details > summary").click()
    assert "support: the response is empty" in page.locator("#detail .idle").inner_text()
