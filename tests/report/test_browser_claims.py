"""The claims view in a real browser: verdicts, passages, filters, keyboard, hostile text."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from browsing import SIZES, Open, count_is, open_row, rows, until
from builders import HOSTILE, assorted, summary
from claim_builders import (
    CONTEXTS,
    RESPONSE,
    claimed,
    hostile_claims,
    many_claims,
    other_records,
    place,
)
from test_browser_access import BARE, CONTRAST

from veridical.core.scores import Score, Unit
from veridical.report.claim_rates import rates_by_model, rates_tables
from veridical.text.spans import Span

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = pytest.mark.browser

SPANS = [
    ("contradiction", "Ada Byron was a poet", "✗ 1"),
    ("neutral", "wrote 3 books ", None),
    ("contradiction", "in 1840", "✗ 3"),
    ("neutral", ".", "? 2"),
    ("entailment", "She flew.", "✓ 4"),
]


def spans(page: Page) -> list[tuple[str, str, str | None]]:
    """Verdict, text and mark of each coloured span of the response."""
    found = page.locator("#response .claim").evaluate_all(
        "(a) => a.map((e) => [e.dataset.v, e.textContent, e.dataset.mark ?? null])"
    )
    return [(v, t, m and m.replace("\u202f", " ")) for v, t, m in found]


def active(page: Page) -> str:
    """The words of the response that the chosen claim is made of."""
    return "|".join(page.locator("#response .words.active").all_inner_texts())


def lit(page: Page, name: str) -> list[str]:
    found = page.evaluate(
        f"[...(CSS.highlights.get('{name}') ?? [])].map((r) => r.startContainer.data"
        ".slice(r.startOffset, r.endOffset))"
    )
    assert isinstance(found, list)
    return found


def test_verdicts_colour_the_response_and_keep_it_whole(show: Open) -> None:
    page = show([claimed(), *other_records()], hash="#row=0")
    page.wait_for_selector("#response .claim")
    assert page.locator("#response").evaluate("(e) => e.textContent") == RESPONSE
    assert spans(page) == SPANS
    lines = page.locator("#response .claim").evaluate_all(
        "(a) => a.map((e) => [getComputedStyle(e).textDecorationStyle,"
        " getComputedStyle(e).backgroundColor])"
    )
    looks = {v: tuple(look) for (v, _, _), look in zip(SPANS, lines, strict=True)}
    assert [looks[v][0] for v in ("contradiction", "neutral", "entailment")] == [
        "wavy", "dashed", "solid",
    ]  # fmt: skip
    assert len({look[1] for look in looks.values()}) == 3
    labels = page.locator("#response .claim").evaluate_all("(a) => a.map((e) => e.ariaLabel)")
    assert labels[:2] == [
        "Ada Byron was a poet (Contradicted, claim 1)",
        "wrote 3 books  (Unsupported, claim 2)",
    ]


def test_a_claim_shows_both_sides_and_where_they_stand(show: Open, size: str) -> None:
    page = show([claimed()], size=size, hash="#row=0")
    page.locator(".claim-row").nth(0).click()
    panel = page.locator("#evidence")
    text = panel.inner_text()
    pieces = ("Contradicted claim 1 of 4", "sources disagree", "relation", "other", "contradiction")
    for piece in (*pieces, "Context 1 · c0 p = 0.80", "Context 2 · c1 p = 0.60"):
        assert piece in text
    assert text.index("Contradicting") < text.index("Supporting")
    assert panel.locator(".side[data-v=contradiction] mark").all_inner_texts() == [
        "Ada Byron was a mathematician, not a poet."
    ]
    assert panel.locator(".side[data-v=entailment] mark").all_inner_texts() == [
        "She was called a poet too."
    ]
    assert lit(page, "contradiction") == ["Ada Byron was a mathematician, not a poet."]
    assert lit(page, "entailment") == ["She was called a poet too."]
    assert lit(page, "neutral") == lit(page, "evidence") == []
    assert page.locator("#say").inner_text() == (
        "Contradicted, other, claim 1: contradicted by 1 passage, supported by 1 passage."
    )
    box = panel.bounding_box()
    assert box is not None and box["y"] + 60 < SIZES[size]["height"]
    panel.locator(".link").nth(1).click()
    assert page.locator(".card:focus h4").inner_text() == "Context 2 · c1"


def test_the_words_of_a_claim_are_marked_and_claims_in_them_told(show: Open) -> None:
    page = show([claimed()], hash="#row=0")
    page.locator(".claim-row").nth(1).click()
    assert active(page) == "Ada Byron|wrote 3 books |in 1840|."  # its subject is another's too
    beside = page.locator("#evidence .beside .claim-link")
    assert [t.split() for t in beside.all_inner_texts()] == [
        ["✗", "Contradicted", "It", "was", "in", "1840"]
    ]
    beside.click()
    assert active(page) == "in 1840"
    assert page.locator(".claim-row[aria-pressed=true] .claim-says").inner_text() == (
        "It was in 1840"
    )
    assert "a date that the sources do not have" in page.locator("#evidence").inner_text()


def test_keyboard_alone(show: Open) -> None:
    page = show([claimed()], hash="#row=0")
    stops = page.locator("#response .claim[tabindex='0'], .claim-row[tabindex='0']")
    assert stops.count() == 2  # one in the response, one in the list
    stops.first.focus()
    assert active(page).replace("|", "") == "Ada Byron was a poet"
    for _ in range(2):
        page.keyboard.press("ArrowRight")
    assert page.evaluate("document.activeElement.textContent") == "in 1840"
    assert page.locator("#evidence .claim-text").inner_text() == "It was in 1840"
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "claim-row"
    assert page.evaluate("document.activeElement.ariaPressed") == "true"
    page.keyboard.press("ArrowDown")
    assert page.locator("#evidence .claim-text").inner_text() == "She flew."
    assert page.locator("#say").inner_text() == "Supported, claim 4: supported by 1 passage."
    page.keyboard.press("ArrowUp")
    page.keyboard.press("ArrowUp")
    assert page.locator(".claim-row:focus .claim-says").inner_text() == (
        "Ada Byron wrote 3 books in 1840."
    )


def test_filter_by_verdict_holds_from_record_to_record(show: Open) -> None:
    page = show([claimed(), *other_records()], hash="#row=0")
    toggles = page.locator(".verdict-toggle")
    assert [t.split() for t in toggles.all_inner_texts()] == [
        ["✗", "Contradicted", "2"], ["?", "Unsupported", "1"], ["~", "Unclear", "0"],
        ["✓", "Supported", "1"],
    ]  # fmt: skip
    page.locator("#verdict-contradiction").focus()
    page.keyboard.press("Space")
    assert page.evaluate("document.activeElement.id") == "verdict-contradiction"
    assert page.locator("#verdict-contradiction").get_attribute("aria-pressed") == "false"
    assert spans(page) == [
        ("neutral", "wrote 3 books in 1840.", "? 2"), ("entailment", "She flew.", "✓ 4"),
    ]  # fmt: skip
    assert page.locator("#response").evaluate("(e) => e.textContent") == RESPONSE
    assert page.locator(".claim-row").count() == 2
    assert "Unsupported" in page.locator("#evidence .claim-head").inner_text()
    assert page.locator("#say").inner_text() == "2 of 4 claims shown."
    open_row(page, 2)
    assert page.locator("#verdict-contradiction").get_attribute("aria-pressed") == "false"
    page.click("#verdict-neutral")
    page.click("#verdict-entailment")
    assert "No claim is shown" in page.locator("#evidence").inner_text()
    assert page.locator("#response .claim").count() == 0


def test_records_are_found_by_their_worst_verdict(show: Open) -> None:
    page = show([claimed(), *other_records()])
    expected = {"contradicted": [0], "unsupported": [4, 2], "supported": [1], "unchecked": [3]}
    for verdict, found in expected.items():
        page.select_option("#verdict", verdict)
        until(page, count_is(f"{len(found)} of 5 records"))
        assert rows(page) == found
    page.click("#clear")
    until(page, count_is("5 records"))


def test_a_refusal_and_a_reason(show: Open) -> None:
    page = show([claimed(), *other_records()], hash="#row=3")
    page.wait_for_selector("#evidence")
    assert "declines to answer: it makes no claim" in page.locator("#evidence").inner_text()
    open_row(page, 4)
    text = page.locator("#evidence").inner_text()
    assert "Unsupported claim 1 of 1" in text and "Nothing says so." in text


def test_risk_units_take_over_from_claims_and_back(show: Open) -> None:
    record, made = claimed()
    other = assorted()[3][1].scores["support"]
    made.scores["support"] = other.model_copy(update={"units": other.units[2:]})
    page = show([(record, made)], hash="#row=0")
    assert page.locator("#units option").all_inner_texts() == ["claims (4 claims)",
                                                               "support (1 unit)"]  # fmt: skip
    page.select_option("#units", "1")
    assert page.locator("#response .unit").count() == 1
    assert page.locator(".claim-row, .verdict-toggle").count() == 0
    assert lit(page, "contradiction") == []
    page.select_option("#units", "0")
    assert spans(page) == SPANS
    page.locator(".claim-row").nth(3).click()
    page.select_option("#units", "1")
    page.select_option("#units", "0")  # the claim that was chosen is so again
    assert page.locator(".claim-row[aria-pressed=true] .claim-says").inner_text() == "She flew."


@pytest.mark.parametrize(("by", "first"), [("ensemble", "ensemble (2 units)"), (None, "claims")])
def test_wrong_words_of_what_made_the_risk_come_before_claims(
    show: Open, by: str | None, first: str
) -> None:
    record, made = claimed()
    (sentence, *_) = record.sentences
    start, end = place("was a poet", RESPONSE)
    words = Span(start, end, RESPONSE[start:end])
    units = (Unit.of(sentence, 0.9), Unit.of(words, 0.8, level="span", label="unsupported"))
    made.scores["ensemble"] = Score.of(0.9, units=units)
    page = show([(record, made.model_copy(update={"by": by}))], hash="#row=0")
    assert page.locator("#units option:checked").inner_text().startswith(first)
    assert (page.locator("#response .unit").count() > 0) is (by is not None)


def test_very_many_claims_are_listed_in_parts(show: Open) -> None:
    page = show([many_claims(5000)], hash="#row=0")
    page.wait_for_selector(".claim-row")
    assert page.locator(".claim-row").count() == 100
    assert page.locator("#response .claim").count() == 5000
    page.locator(".claims > button").click()
    assert page.locator(".claim-row").count() == 200
    before = page.evaluate("performance.now()")
    page.click("#verdict-neutral")
    page.wait_for_selector("#verdict-neutral[aria-pressed=false]")
    assert page.evaluate("performance.now()") - before < 10_000  # loose: a loaded machine


def test_hostile_claims_stay_text(show: Open, size: str) -> None:
    pairs = hostile_claims()
    tables = rates_tables(rates_by_model(iter(pairs), ["claims"]))
    page = show(pairs, size=size, tables=tables)
    scripts = page.locator("script").count()
    for bad, (record, _) in zip(HOSTILE, pairs, strict=True):
        open_row(page, record.row)
        page.wait_for_selector(".claim-row")
        assert page.locator("#response").evaluate("(e) => e.textContent") == record.response
        whole = ""
        for row in page.locator(".claim-row").all():
            row.focus()
            whole += page.locator("#detail").evaluate("(d) => d.textContent")
        assert whole.count(bad) >= 60
        assert page.locator("#detail").locator("img, svg, script, iframe, style, a").count() == 0
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert page.locator("script").count() == scripts
    assert page.locator("img, iframe, object, svg:not([role=img]):not(.shares svg)").count() == 0
    assert page.title() == "A run"


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_accessible_basics_and_contrast(show: Open, size: str, scheme: str) -> None:
    pairs = [claimed(), *other_records()]
    tables = rates_tables(rates_by_model(iter(pairs), ["claims"]))
    page = show(pairs, summary(pairs), size=size, scheme=scheme, tables=tables)
    assert page.locator(".rates tbody tr").count() == 3
    page.evaluate("document.querySelectorAll('details').forEach((d) => { d.open = true; })")
    for row in (None, 0):
        if row is not None:
            open_row(page, row)
            page.locator(".claim-row").first.click()
        assert page.evaluate(BARE) == []
        seen, bad = page.evaluate(CONTRAST)
        assert seen > 40
        assert bad == []
    marks = page.locator("#response .claim").evaluate_all(
        "(a) => a.map((e) => getComputedStyle(e, '::after').content)"
    )
    assert marks[0].startswith('"✗') and marks[0].endswith('/ ""')  # not read out


def test_long_contexts_scroll_to_the_evidence(show: Open) -> None:
    record, made = claimed()
    far = "Nothing of note happened there. " * 300
    longer = record.model_copy(
        update={"contexts": [c.model_copy(update={"text": c.text + far}) for c in record.contexts]}
    )
    unit = made.scores["claims"].units[3]
    tail = len(CONTEXTS[0]) + len(far) - 32
    item = unit.evidence[0].model_copy(
        update={"start": tail, "end": tail + 31, "text": "Nothing of note happened there."}
    )
    units = (*made.scores["claims"].units[:3], unit.model_copy(update={"evidence": (item,)}))
    made.scores["claims"] = made.scores["claims"].model_copy(update={"units": units})
    page = show([(longer, made)], hash="#row=0")
    page.locator(".claim-row").nth(3).click()
    assert lit(page, "entailment") == ["Nothing of note happened there."]
    box = page.locator(".card .text.long").first
    assert box.evaluate("(e) => e.scrollTop") > 500
