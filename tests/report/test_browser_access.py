"""The report in a real browser: keyboard, assistive technology, contrast, print, no script."""

from __future__ import annotations

from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from browsing import Open, open_row, title_is, until
from builders import assorted, hostile, summary, wikibio

from veridical.report.html import write_report

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = pytest.mark.browser


def test_keyboard_alone_wide(show: Open) -> None:
    page = show(assorted())
    page.keyboard.press("/")
    assert page.evaluate("document.activeElement.id") == "search"
    page.keyboard.type("c")
    page.keyboard.press("Escape")
    assert page.input_value("#search") == ""
    page.keyboard.press("Escape")
    assert page.evaluate("document.activeElement.id") == "list"

    def selected() -> str:
        return page.locator(".option[aria-selected=true] .facts").inner_text().split(" · ")[1]

    assert selected() == "row 4"
    for key, row in (("ArrowDown", 3), ("j", 2), ("k", 3), ("End", 5), ("Home", 4), ("ArrowUp", 4)):
        page.keyboard.press(key)
        assert selected() == f"row {row}"
        active = page.locator("#list").get_attribute("aria-activedescendant")
        assert page.locator(f"#{active}").get_attribute("aria-selected") == "true"
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "detail-title"
    until(page, title_is(3))
    assert page.evaluate("location.hash") == "#row=3"
    page.keyboard.press("Escape")
    assert page.evaluate("document.activeElement.id") == "list"
    page.uncheck("#shortcuts")
    page.locator("#list").focus()
    page.keyboard.press("j")
    assert selected() == "row 3"  # single-key shortcuts are off


def test_narrow_page_opens_a_record_and_comes_back(show: Open) -> None:
    page = show(assorted(), size="narrow")
    assert not page.locator("#detail").is_visible()
    page.locator(".option").nth(1).click()
    page.wait_for_selector("#detail-title:focus")
    assert not page.locator("#list").is_visible()
    page.click("#step1")
    until(page, title_is(2))
    assert page.evaluate("document.activeElement.id") == "step1"
    page.click(".back")
    assert page.locator("#list").is_visible()
    assert page.evaluate("document.activeElement.id") == "list"
    page.locator(".option").nth(0).click()
    page.wait_for_selector("#detail-title:focus")
    page.go_back()
    page.wait_for_selector("#list", state="visible")


def test_heat_map_has_headers_and_numbers(show: Open, shared_data: Path) -> None:
    pairs = list(islice(wikibio(shared_data / "wikibio_gpt3" / "wikibio_gpt3.jsonl"), 1))
    raw = pairs[0][1].scores["checkembed"].raw
    assert isinstance(raw, dict)
    page = show(pairs, hash="#row=0")
    page.locator("#detail > details").evaluate("(d) => { d.open = true; }")
    table = page.locator("table.heat")
    assert table.locator("tbody th[scope=row]").all_inner_texts() == [
        "response",
        *(f"sample {i}" for i in range(1, 7)),
    ]
    assert table.locator("thead th[scope=col]").all_inner_texts() == [*"R123456", "outlier"]
    cells = table.locator("tbody tr").nth(1).locator("td").all_inner_texts()
    assert cells == [f"{v:.2f}" for v in [*raw["matrix"][1], raw["outlier"][1]]]


BARE = """() => {
  const bad = [];
  const name = (e) => e.getAttribute("aria-label") || e.textContent.trim() || e.labels?.length
    || document.getElementById(e.getAttribute("aria-labelledby"))?.textContent;
  const named = "button, select, input, summary, [role=listbox], [role=region], [role=button]";
  for (const e of document.querySelectorAll(named))
    if (!name(e)) bad.push(`no name: ${e.outerHTML.slice(0, 80)}`);
  for (const a of ["aria-labelledby", "aria-controls", "for"])
    for (const e of document.querySelectorAll(`[${a}]`))
      if (!document.getElementById(e.getAttribute(a))) bad.push(`${a}: no ${e.getAttribute(a)}`);
  const ids = [...document.querySelectorAll("[id]")].map((e) => e.id);
  if (new Set(ids).size !== ids.length) bad.push("ids are not unique");
  for (const [what, n] of [["main", 1], ["h1", 1], ["body > header", 1], ["body > footer", 1]])
    if (document.querySelectorAll(what).length !== n) bad.push(`not ${n} ${what}`);
  for (const t of document.querySelectorAll("table"))
    if (!t.querySelector("th[scope=col]") || !t.querySelector("th[scope=row]"))
      bad.push("table headers");
  const levels = [...document.querySelectorAll("h1,h2,h3,h4")].map((h) => Number(h.tagName[1]));
  levels.forEach((l, i) => { if (i && l > levels[i - 1] + 1) bad.push(`a jump to h${l}`); });
  if (document.documentElement.lang !== "en") bad.push("lang");
  if (document.documentElement.scrollWidth > innerWidth) bad.push("scrolls sideways");
  return bad;
}"""

CONTRAST = """() => {
  const c = new OffscreenCanvas(1, 1).getContext("2d", { willReadFrequently: true });
  const pixel = (layers) => {
    c.clearRect(0, 0, 1, 1);
    for (const l of layers) { c.fillStyle = l; c.fillRect(0, 0, 1, 1); }
    return [...c.getImageData(0, 0, 1, 1).data].slice(0, 3).map((v) => v / 255)
      .map((v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4));
  };
  const light = ([r, g, b]) => 0.2126 * r + 0.7152 * g + 0.0722 * b;
  const bad = [];
  let seen = 0;
  for (const e of document.querySelectorAll("body *")) {
    const own = [...e.childNodes].some((n) => n.nodeType === 3 && n.data.trim());
    if (!own || !e.checkVisibility() || e.closest("script, noscript, .hidden, option")) continue;
    const layers = [];
    for (let p = e; p; p = p.parentElement) layers.unshift(getComputedStyle(p).backgroundColor);
    const [x, y] = [light(pixel(layers)), light(pixel([...layers, getComputedStyle(e).color]))];
    const ratio = (Math.max(x, y) + 0.05) / (Math.min(x, y) + 0.05);
    seen++;
    const what = `${e.tagName}.${e.className} ${e.textContent.slice(0, 20)}`;
    if (ratio < 4.5) bad.push(`${ratio.toFixed(2)} ${what}`);
  }
  return [seen, [...new Set(bad)]];
}"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_accessible_basics_and_contrast(
    show: Open, size: str, scheme: str, shared_data: Path
) -> None:
    pairs = list(islice(wikibio(shared_data / "wikibio_gpt3" / "wikibio_gpt3.jsonl"), 12))
    errors = [{"row": 3, "file": "a.jsonl", "line": 4, "field": None, "error": "not JSON"}]
    page = show(pairs, summary(pairs, row_errors=1, errors=errors), size=size, scheme=scheme)
    page.evaluate("document.querySelectorAll('details').forEach((d) => { d.open = true; })")
    for row in (None, 4):
        if row is not None:
            open_row(page, row)
        assert page.evaluate(BARE) == []
        seen, bad = page.evaluate(CONTRAST)
        assert seen > 40
        assert bad == []


def test_narrowest_page_does_not_scroll_sideways(show: Open) -> None:
    pairs, head = hostile()
    page = show(pairs, head, size="narrow")
    page.set_viewport_size({"width": 360, "height": 700})
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    open_row(page, 0)
    assert page.evaluate("document.documentElement.scrollWidth") <= 360


def test_theme_button_cycles(show: Open) -> None:
    page = show(assorted())

    def paper() -> str:
        return str(page.evaluate("getComputedStyle(document.documentElement).backgroundColor"))

    light = paper()
    assert page.locator("#theme").inner_text() == "Theme: auto"
    page.click("#theme")
    assert (page.locator("#theme").inner_text(), paper()) == ("Theme: light", light)
    page.click("#theme")
    assert page.locator("#theme").inner_text() == "Theme: dark"
    assert paper() != light


def test_without_javascript_the_summary_stands(browser: Browser, tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    write_report(path, assorted(), summary(assorted()), title="A run", shown=None)
    with browser.new_context(java_script_enabled=False) as context:
        page = context.new_page()
        page.goto(path.as_uri())
        assert page.locator("noscript p").is_visible()
        assert page.locator("table.scorers tbody tr").count() == 2
        assert page.locator("#filters").is_hidden()


def test_printing_shows_summary_and_record(show: Open, size: str) -> None:
    page = show(assorted(), size=size, hash="#row=0")
    page.wait_for_selector("#response .unit")
    page.emulate_media(media="print")
    for part in ("h1", ".answer", "#detail", "#evidence"):
        assert page.locator(part).is_visible()
    for part in (".browse", ".turn", "#theme"):
        assert page.locator(part).is_hidden()
