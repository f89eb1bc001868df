"""What a notebook shows: counts and the worst answers, inert whatever an answer holds."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from typing import TYPE_CHECKING

import pytest
from browser_fixtures import browser as browser

import veridical

if TYPE_CHECKING:
    from playwright.sync_api import Browser

BAD = "<img src=x onerror=alert(1)>\x1b[31m</td><script>alert(2)</script> is in Mali."
ROWS = [
    {"id": BAD, "response": BAD, "contexts": ["Chad is not in Mali. " + BAD]},
    {"id": "b", "response": "Chad is in Mali. " + "long " * 200, "contexts": [BAD]},
    {"id": "c", "response": 3},
    *({"id": f"d{i}", "response": "In Mali.", "contexts": "In Mali."} for i in range(20)),
]


class Tags(HTMLParser):
    """The elements and attributes of a page."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: set[str] = set()
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes |= {name for name, _ in attrs}


@pytest.fixture(scope="module")
def results() -> veridical.Results:
    return veridical.check(ROWS, "claims")


def test_the_answer_comes_first_and_the_worst_follow(results: veridical.Results) -> None:
    page = results._repr_html_()
    first = page.index("1 of 22 answers contains a statement that the sources do not support")
    assert first < page.index("1 row failed: response: must be text") < page.index("<table")
    assert page.count("<tr>") == 1 + 10 and "The 10 riskiest" in page
    assert "context 1, characters" in page and len(page) < 20_000


def test_cells_are_left_aligned_with_the_question_and_the_source() -> None:
    row = {
        "question": "Where is Chad? <b>",
        "response": "Chad is in Mali.",
        "contexts": [{"id": "atlas.pdf", "text": "Chad is not in Mali."}],
    }
    page = veridical.check([row], "claims")._repr_html_()
    cells = re.findall(r"<t[dh] [^>]*>", page)
    assert len(cells) == 12 and all("text-align:left" in cell for cell in cells)
    assert ">question</th>" in page and "Where is Chad? &lt;b&gt;" in page
    assert "context 1 (atlas.pdf), characters" in page


def test_foreign_text_is_inert(results: veridical.Results) -> None:
    page = results._repr_html_()
    tags = Tags(page)
    assert {*tags.tags} <= {
        *("div", "p", "strong", "table", "caption", "thead", "tbody", "tr", "th", "td"),
        *("span", "br", "small"),
    }
    assert tags.attributes <= {"style", "scope", "dir"}
    assert "url(" not in page and "\x1b" not in page
    assert re.sub(r"text-decoration:underline 2px #\w+", "", page).count("#") == 0  # no colours


def test_nothing_to_show_is_shown() -> None:
    page = veridical.check([{"response": 1}], "exact_match")._repr_html_()
    assert "No answer could be read" in page and "<table" not in page


def test_a_browser_shows_it_and_runs_nothing(browser: Browser, results: veridical.Results) -> None:
    page = browser.new_page()
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.on("dialog", lambda dialog: asked.append("dialog"))
    page.set_content(f"<html lang=en><body>{results._repr_html_()}{results[0]._repr_html_()}")
    assert page.locator("tbody tr").count() == 10 and page.locator("script, img").count() == 0
    assert "<img src=x onerror=alert(1)>" in page.locator("tbody").inner_text()
    assert asked == []
    page.close()
