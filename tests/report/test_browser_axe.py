"""The report by axe-core, in light and dark, wide and narrow: no violation.

VERIDICAL_AXE=node_modules/axe-core/axe.min.js pytest tests/report/test_browser_axe.py
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from axe import SHOWN, axe_source, opened, violations
from browsing import title_is, until
from builders import assorted, hostile, summary
from claim_builders import claimed, other_records

from veridical.report.claim_rates import rates_by_model, rates_tables
from veridical.report.html import write_report
from veridical.report.redacted import redacted

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = pytest.mark.browser

CLAIMS = [claimed(), *other_records()]
PAGES: dict[str, tuple[list[Any], Any, Any]] = {
    "assorted": (assorted(), summary(assorted(), row_errors=1), ()),
    "claims": (CLAIMS, summary(CLAIMS), rates_tables(rates_by_model(iter(CLAIMS), ["claims"]))),
    "redacted": ([redacted(*pair) for pair in CLAIMS], summary(CLAIMS), ()),
    "hostile": (*hostile(), ()),
}


@pytest.mark.parametrize(("size", "scheme"), SHOWN)
@pytest.mark.parametrize("name", PAGES)
def test_axe_finds_nothing(
    browser: Browser, tmp_path: Path, name: str, size: str, scheme: str
) -> None:
    source = axe_source()
    pairs, head, tables = PAGES[name]
    path = tmp_path / "report.html"
    write_report(path, iter(pairs), head, title="A run", shown=None, tables=tables)
    with opened(browser, path, size, scheme) as page:
        page.wait_for_selector("html[data-ready]")
        assert violations(page, source) == []
        row = pairs[0][0].row
        page.evaluate(f"location.hash = 'row={row}'")
        until(page, title_is(row))
        page.evaluate("document.querySelectorAll('details').forEach((d) => { d.open = true; })")
        assert violations(page, source) == []
