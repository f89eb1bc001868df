"""Headline table of ``reproduction.md`` against the pages that its rows name."""

from __future__ import annotations

import re
from types import ModuleType

import pytest
from docs_modules import docs_module
from places import ROOT

DOCS = ROOT / "docs"
PAPERS = ("CheckEmbed", "UQLM", "RefChecker", "SelfCheckGPT", "Mirage")


@pytest.fixture(scope="module")
def rows() -> ModuleType:
    return docs_module("headline_rows")


def _without_zero(text: str) -> str:
    """Drop leading zeros: pages print 0.616 or .616."""
    return re.sub(r"\b0\.", ".", text)


def test_every_paper_has_headlines_and_each_is_measured_or_says_why_not(rows: ModuleType) -> None:
    assert tuple(dict.fromkeys(row.paper for row in rows.HEADLINES)) == PAPERS
    for row in rows.HEADLINES:
        assert row.published and row.size, row.headline
        if row.ours:
            assert row.command and row.page, row.headline
        else:
            assert row.size.startswith("not "), row.headline
            assert row.interval is None, row.headline


def test_figures_are_those_of_the_page_that_a_row_names(rows: ModuleType) -> None:
    for row in rows.HEADLINES:
        if not row.ours:
            continue
        page = _without_zero((DOCS / row.page.partition("#")[0]).read_text("utf-8"))
        first = _without_zero(row.ours[0])
        lines = [line for line in page.splitlines() if first in line]
        assert lines, (row.headline, row.ours[0])
        for figure in row.ours[1:]:
            assert _without_zero(figure) in page, (row.headline, figure)
        if row.interval:
            low, high = map(_without_zero, row.interval)
            near = rf"{re.escape(first)}.*{re.escape(low)}.*{re.escape(high)}"
            assert any(re.search(near, line) for line in lines), (row.headline, row.interval)


def test_sections_that_rows_name_are_there(rows: ModuleType) -> None:
    papers = docs_module("papers")
    for row in rows.HEADLINES:
        if row.page:
            assert papers._link(row.page), row.page


def test_the_page_has_the_table(rows: ModuleType) -> None:
    reproduction = docs_module("reproduction")
    table = reproduction.headlines(rows.HEADLINES)
    assert table in (DOCS / "reproduction.md").read_text("utf-8")
    assert len(table.splitlines()) == len(rows.HEADLINES) + 2
