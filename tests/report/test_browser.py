"""The report in a real browser: what it shows, and that hostile text stays text."""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from browsing import SIZES, Open, count_is, open_row, rows, title_is, until
from builders import HOSTILE, assorted, hostile, many, summary, wikibio

from veridical.report.html import write_report

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = pytest.mark.browser


def test_hostile_text_stays_text_everywhere(show: Open, size: str) -> None:
    pairs, head = hostile()
    page = show(pairs, head, size=size)
    scripts = page.locator("script").count()
    for bad, (record, _) in zip(HOSTILE, pairs, strict=True):
        open_row(page, record.row)
        page.evaluate("document.querySelectorAll('details').forEach((d) => { d.open = true; })")
        for unit in page.locator("#response .unit").all():
            unit.hover()
        detail = page.locator("#detail")
        whole = detail.evaluate("(d) => d.textContent")
        assert whole.count(bad) >= 20, bad
        assert page.locator("#response").evaluate("(e) => e.textContent") == f"{bad} 🙂 {bad}"
        assert detail.locator("img, svg, script, iframe, style, link, form, a").count() == 0
    assert page.locator("script").count() == scripts
    assert page.locator("img, iframe, object, embed, svg:not([role=img])").count() == 0
    assert page.title() == "A run"
    assert page.evaluate("Object.keys({}.__proto__).length") == 0
    page.keyboard.press("Escape")
    page.fill("#search", "</script>")
    until(page, "document.getElementById('count').textContent.includes(' of ')")
    page.wait_for_timeout(100)  # anything that was going to run has run


def test_the_policy_forbids_scripts_and_markup_from_strings(
    browser: Browser, tmp_path: Path
) -> None:
    path = tmp_path / "report.html"
    write_report(path, assorted(), summary(assorted()), title="A run", shown=None)
    with browser.new_context() as context:
        page = context.new_page()
        page.goto(path.as_uri())
        page.wait_for_selector("html[data-ready]")
        refused = page.evaluate(
            """() => {
              const tries = [
                () => { document.body.innerHTML = "<b>x</b>"; },
                () => document.write("<b>x</b>"),
              ];
              return tries.map((f) => { try { f(); return "done"; } catch (e) { return e.name; } });
            }"""
        )
        assert refused == ["TypeError", "TypeError"]
        page.evaluate(
            """() => { const i = new Image(); i.src = "https://example.invalid/x.png";
              window.seen = new Promise((r) => addEventListener("securitypolicyviolation",
                (e) => r(e.effectiveDirective))); document.body.append(i); }"""
        )
        assert page.evaluate("window.seen") == "img-src"


def test_code_point_offsets_with_emoji(show: Open) -> None:
    page = show(assorted())
    open_row(page, 0)
    response = assorted()[0][0].response
    assert page.locator("#response").evaluate("(e) => e.textContent") == response
    assert page.locator("#response .unit").all_inner_texts() == [
        "👩‍🚀 Ada flew in 1961.",
        "🚀 She landed on Mars 🪐 in 1962.",
    ]
    marks = page.locator("#evidence mark").all_inner_texts()
    assert marks == ["Indeed 🎈", "It says the moon is far away. Th"]
    lit = page.evaluate(
        "[...CSS.highlights.get('evidence')].map((r) => r.startContainer.data"
        ".slice(r.startOffset, r.endOffset))"
    )
    assert lit == marks
    open_row(page, 2)
    assert page.locator("#response .unit").all_inner_texts() == [
        "東京は日本の首都です",
        "人口は九千万人です。",
    ]


def test_nested_and_overlapping_units_keep_the_text_whole(show: Open) -> None:
    page = show(assorted())
    open_row(page, 3)
    pieces = page.locator("#response .unit")
    assert pieces.all_inner_texts() == [
        "The cat sat on the mat a",
        "nd then it flew to t",
        "he moon",
        ".",
    ]
    # the span is boxed, in the colour of the claim or sentence that it stands in
    assert [p.get_attribute("data-band") for p in pieces.all()] == ["1", "4", "4", "1"]
    boxed = pieces.evaluate_all("(all) => all.map((p) => p.classList.contains('wrong'))")
    assert boxed == [False, False, True, True]
    pieces.nth(2).hover()
    heads = page.locator(".about-head b").all_inner_texts()
    assert heads == ["0.50", "0.90", "0.20"]


def test_bad_offsets_are_listed_and_break_nothing(show: Open) -> None:
    page = show(assorted())
    open_row(page, 4)
    assert page.locator("#response > .unit").all_inner_texts() == ["Bad offsets"]
    assert page.locator("#response .lost .unit").all_inner_texts() == [
        "[500, 900]",
        "[7, 7]",
        "[9, 4]",
    ]
    page.locator("#response .lost .unit").first.focus()
    assert page.locator("#evidence mark").count() == 2
    open_row(page, 5)
    assert "(empty answer)" in page.locator("#response").inner_text()


def test_right_to_left_text_runs_right_to_left(show: Open) -> None:
    page = show(assorted())
    open_row(page, 1)
    assert page.locator("#response").evaluate("(e) => getComputedStyle(e).direction") == "rtl"
    assert page.locator("#response").evaluate("(e) => getComputedStyle(e).textAlign") == "start"


def test_focus_and_arrow_keys_show_evidence(show: Open, size: str) -> None:
    page = show(assorted(), size=size, hash="#row=0")
    page.wait_for_selector("#response .unit.active")
    assert page.locator("#evidence .about-head").inner_text().startswith("0.80 sentence")
    stops = page.locator("#response .unit[tabindex='0']")
    assert stops.count() == 1  # one tab stop, however many units
    stops.focus()
    assert "This scorer reports no passages." in page.locator("#evidence").inner_text()
    page.keyboard.press("ArrowRight")
    assert page.locator("#response .unit:focus").inner_text().startswith("🚀")
    panel = page.locator("#evidence").inner_text()
    for piece in ("0.80", "contradicted", "raw 0.2", "Sample 1", "p = 0.75", "Context 1"):
        assert piece in panel
    assert "2 pieces of evidence" in page.locator("#say").inner_text()
    box = page.locator("#evidence").bounding_box()
    assert box is not None
    assert box["y"] + 60 < SIZES[size]["height"]  # in sight, beside or below the response
    page.locator("#evidence .link").first.click()
    assert page.locator(".card:focus h4").inner_text() == "Sample 1"


def test_sorting(show: Open) -> None:
    page = show(assorted())
    assert rows(page) == [4, 3, 2, 1, 0, 5]  # riskiest first, unknown last
    page.click("#direction")
    assert rows(page) == [0, 1, 2, 3, 4, 5]
    page.select_option("#sort", "row")
    assert rows(page) == [0, 1, 2, 3, 4, 5]
    page.select_option("#sort", "verdict")
    assert rows(page) == [3, 4, 2, 5, 1, 0]  # the worst first
    assert page.locator("#sort option").count() == 3


def test_filters_and_their_counts(show: Open) -> None:
    page = show(assorted())
    count = page.locator("#count")
    assert count.get_attribute("aria-live") == "polite"
    assert count.inner_text() == "6 records"

    def after(action: Callable[[], Any], expected: list[int]) -> None:
        action()
        until(page, count_is(f"{len(expected)} of 6 records"))
        assert rows(page) == expected
        page.click("#clear")
        until(page, count_is("6 records"))

    after(lambda: page.fill("#search", "flew MOON"), [3])
    after(lambda: page.fill("#search", "question 2?"), [2])
    after(lambda: page.fill("#search", "首都"), [2])
    after(lambda: page.fill("#search", "no such words"), [])
    after(lambda: page.select_option("#verdict", "contradicted"), [3])
    after(lambda: page.select_option("#decision", "reject"), [3])
    assert page.locator("#active").is_hidden()


def test_deep_link(show: Open, size: str) -> None:
    page = show(assorted(), size=size, hash="#row=2")
    page.wait_for_selector("#detail-title")
    assert page.locator("#detail-title").inner_text() == "Row 2 · case-8"
    page.evaluate("location.hash = 'row=77'")
    until(page, "document.getElementById('missing').textContent.includes('Row 77 is not')")
    assert page.locator("#missing").is_visible()


def test_choice_of_units_holds_from_record_to_record(show: Open, shared_data: Path) -> None:
    pairs = list(islice(wikibio(shared_data / "wikibio_gpt3" / "wikibio_gpt3.jsonl"), 5))
    page = show(pairs)
    open_row(page, 0)
    assert page.locator("#units option:checked").inner_text().startswith("support (")
    page.select_option("#units", label=next(
        t for t in page.locator("#units option").all_inner_texts() if t.startswith("human labels")
    ))  # fmt: skip
    open_row(page, 1)
    assert page.locator("#units option:checked").inner_text().startswith("human labels")
    grades = {u.label for u in pairs[1][0].unit_labels or ()}
    shown = set(
        page.locator("#response .unit").evaluate_all("(a) => a.map((u) => u.dataset.figure)")
    )
    assert shown == {f"{g:.2f}" for g in grades}


def test_ten_thousand_records(show: Open, size: str) -> None:
    page = show(list(many(10_000)), size=size)
    ready = page.evaluate("performance.now()")
    assert ready < 20_000  # loose: a loaded machine; it is well under a second on an idle one
    nodes = "document.querySelectorAll('body *:not(script)').length"
    assert page.locator("#count").inner_text() == "10,000 records"
    before = page.evaluate(nodes)
    assert before < 900
    for place in (0.25, 0.5, 1.0):
        page.locator("#list").evaluate("(e, p) => { e.scrollTop = p * e.scrollHeight; }", place)
        page.wait_for_timeout(50)
        assert 5 <= page.locator(".option").count() <= 40
    last = page.locator(".option").last
    assert last.get_attribute("aria-posinset") == "10000" == last.get_attribute("aria-setsize")
    assert page.evaluate(nodes) < before + 40
    page.fill("#search", "number 4242 ")
    until(page, count_is("1 of 10,000 records"))
    assert rows(page) == [4242]
    page.locator(".option").click()
    until(page, title_is(4242))
    assert "Answer number 4242" in page.locator("#response").inner_text()
