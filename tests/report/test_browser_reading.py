"""Reading an answer: wrong words in their sentence, Markdown in its look, and the raw text."""

from __future__ import annotations

import pytest
from browsing import Open, open_row
from builders import HOSTILE, summary

from veridical.core.records import Record
from veridical.core.scores import EvidenceItem, Result, Score, Unit
from veridical.text.spans import Span

pytestmark = pytest.mark.browser

ANSWER = (
    "## Result\n\n- **The city museum** opened in 1954 and holds *4,000* paintings.\n"
    "- See [the page](https://example.org/x) and ![a picture](http://example.org/x.png) `x`.\n\n"
    "| a | b |\n|---|---|\n| 1 | 2 |\n\n```py\nx = 1 ** 2 ** 3\n```\n> quoted ~~no~~ text\n"
    "snake_case_name and 2 * 3 * 4 stay [so](javascript:alert(1))\n"
)
SOURCE = "# Museum\n\nThe **city museum** opened in 1923 and holds 4,000 paintings. It is large."


def read(answer: str = ANSWER, source: str = SOURCE) -> list[tuple[Record, Result]]:
    """A record whose second sentence is contradicted, with a wrong word of a lower risk."""
    start, end = answer.index("**The city"), answer.index("paintings.") + len("paintings.")
    word = answer.index("1954")
    begin, stop = source.index("The **"), source.index("paintings.") + len("paintings.")
    item = EvidenceItem(
        kind="context", index=0, context=0, start=begin, end=stop, text=source[begin:stop]
    )
    units = (
        Unit.of(Span(start, end, answer[start:end]), 0.93, label="contradiction", evidence=[item]),
        Unit.of(Span(word, word + 4, "1954"), 0.42, level="span", label="contradiction"),
    )
    record = Record(
        row=0,
        prompt="When did the museum open?",
        response=answer,
        contexts=[{"id": "museum.md", "text": source}],
    )
    result = Result(
        id=0,
        row=0,
        risk=0.93,
        by="ensemble",
        verdict="contradicted",
        reason=None,
        scores={"ensemble": Score.of(0.93, units=units)},
    )
    return [(record, result)]


def test_wrong_words_are_boxed_in_the_colour_of_their_sentence(show: Open) -> None:
    page = show(read(), summary(read()))
    open_row(page, 0)
    units = page.locator("#response .unit")
    assert units.evaluate_all("(all) => all.map((u) => u.dataset.band)") == ["4", "4", "4"]
    looks = units.evaluate_all(
        "(all) => all.map((u) => [getComputedStyle(u).backgroundColor,"
        " getComputedStyle(u).boxShadow !== 'none'])"
    )
    assert len({colour for colour, _ in looks}) == 1
    assert [boxed for _, boxed in looks] == [False, True, False]
    wrong = page.locator("#response .unit.wrong")
    assert wrong.inner_text() == "1954" and wrong.get_attribute("aria-description") == "wrong words"
    figures = units.evaluate_all("(all) => all.map((u) => u.dataset.figure ?? null)")
    assert figures == [None, None, "✗\u202f0.93"]


def test_markdown_is_shown_in_its_look_and_raw_on_demand(show: Open) -> None:
    page = show(read(), summary(read()))
    open_row(page, 0)
    answer = page.locator("#response")
    seen = answer.inner_text()
    for gone in ("##", "**The", "](https", "```", "|---|", "> quoted", "~~"):
        assert gone not in seen, gone
    for kept in ("the page", "a picture", "x = 1 ** 2 ** 3", "snake_case_name", "2 * 3 * 4"):
        assert kept in seen, kept
    assert answer.evaluate("(e) => e.textContent") == ANSWER
    assert page.locator("#detail a, #detail img").count() == 0
    assert answer.locator(".md-heading").inner_text() == "Result"
    assert "museum.md" in page.locator(".quote-head").first.inner_text()
    assert "museum.md" in page.locator(".cards.context h4").inner_text()
    card = page.locator(".cards.context .text")
    assert "**" not in card.inner_text() and card.evaluate("(e) => e.textContent") == SOURCE
    lit = page.evaluate(
        "[...CSS.highlights.get('evidence')].map((r) =>"
        " [r.startContainer.data.slice(r.startOffset), r.endContainer.data.slice(0, r.endOffset)])"
    )
    assert lit == [["The ", " opened in 1923 and holds 4,000 paintings."]]
    page.click("#raw")
    assert page.locator("#raw").get_attribute("aria-pressed") == "true"
    assert answer.inner_text().split() == ANSWER.split()
    page.reload()
    page.wait_for_selector("#response .unit")
    assert answer.inner_text().split() == ANSWER.split()  # the choice holds
    page.click("#raw")
    assert "**The" not in answer.inner_text()


def test_hostile_markdown_stays_text(show: Open) -> None:
    for bad in HOSTILE:
        marked = f"[{bad}](https://example.org) **{bad}** `{bad}`\n\n> {bad}\n\n| {bad} |\n"
        pairs = read(ANSWER + marked, SOURCE + marked)
        page = show(pairs, summary(pairs))
        open_row(page, 0)
        assert page.locator("#response").evaluate("(e) => e.textContent") == ANSWER + marked
        assert page.locator("#detail :is(a, img, script, iframe, svg, style, form)").count() == 0


@pytest.mark.parametrize("piece", ["*", "**", "`", "[", "[a](", "_a", "~~", "|-|\n", "> ", "#"])
def test_a_long_run_of_marks_is_drawn_at_once(show: Open, piece: str) -> None:
    text = ANSWER + piece * (60_000 // len(piece))
    pairs = read(text)
    page = show(pairs, summary(pairs))
    open_row(page, 0)
    assert page.locator("#response").evaluate("(e) => e.textContent.length") == len(text)
