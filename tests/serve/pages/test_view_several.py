"""More than two runs named on the command line: each against the first, in one table."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx
import pytest
from axe import axe_source, violations
from browsing import SIZES, until
from review_pages import Served, served, watched
from review_runs import make_run, rows

from veridical.api import reopen

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytest.importorskip("fastapi")
NAMES = ("one", "two", "&lt;three")
ROWS = "document.querySelectorAll('#several-runs tr').length"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three runs over the same questions; more answers say nothing in each."""
    folder = tmp_path_factory.mktemp("several")
    for n, name in enumerate(NAMES):
        given = rows(9)
        for row in given[: 3 * n]:
            row["response"] = "Nobody can say what it is."
        given[0]["response"] = "" if n == 1 else given[0]["response"]  # states nothing
        make_run(folder, given, name, scorers="support, nli_grounding")
    return folder


@pytest.fixture(scope="module")
def page_of(folder: Path) -> Iterator[Served]:
    with served("view", *NAMES, "--nli", "mini", "--store", "none", cwd=folder) as page:
        yield page


def ask(page_of: Served, path: str, **params: str) -> Any:
    headers = {"authorization": f"Bearer {page_of.token()}"}
    return httpx.get(page_of.url + path, params=params, headers=headers, timeout=60)


def percent(share: float) -> str:
    return f"{100 * share:.1f} %"


@pytest.mark.browser
def test_each_run_stands_beside_the_first(browser: Browser, page_of: Served, folder: Path) -> None:
    means, shares = [], []
    for name in NAMES:
        results = list(reopen(folder / name))
        risks = [r.risk for r in results if r.risk is not None]
        means.append(sum(risks) / len(risks))
        counts = Counter(r.verdict for r in results)
        shares.append({verdict: n / len(results) for verdict, n in counts.items()})
    verdicts = {verdict for found in shares for verdict in found}
    assert len(verdicts) >= 2 and shares[0] != shares[2]
    with watched(browser) as pages:
        page = pages.open(page_of.link)
        until(page, f"{ROWS} === 3 && !document.querySelector('#several-runs [colspan]')")
        heads = page.locator("#several-head th").all_inner_texts()
        assert set(heads[3:-1]) == verdicts
        for i, name in enumerate(NAMES):
            row = page.locator("#several-runs tr").nth(i)
            assert row.locator("th").inner_text() == name
            cells = row.locator("td").all_inner_texts()
            assert cells[0] == "9" and cells[1].startswith(f"{means[i]:.2f}")
            for verdict, cell in zip(heads[3:-1], cells[2:-1], strict=True):
                mine, first = shares[i].get(verdict, 0), shares[0].get(verdict, 0)
                sign = "−" if mine < first else "+"
                change = f"{sign}{percent(abs(mine - first))}" if i else ""
                assert cell.split("\n") == [text for text in (percent(mine), change) if text]
        page.get_by_role("link", name="one against two").click()
        until(page, "document.getElementById('compare-b').textContent.startsWith('two')")
        assert page.locator("#compare-a").inner_text().startswith("one")
        page.locator("nav").get_by_text("Runs", exact=True).click()
        entries = page.locator("#entries th").all_inner_texts()
        for name in NAMES:
            name = re.escape(name)
            listed = rf"{name}\s*run · {name}\.jsonl · \d{{4}}-\d\d-\d\d \d\d:\d\d UTC"
            assert sum(re.fullmatch(listed, entry) is not None for entry in entries) == 1
        page.locator("#several-go").click()
        until(page, f"!document.getElementById('several').hidden && {ROWS} === 3")
        page.locator("#several-runs th a").first.click()
        until(page, "document.querySelectorAll('#run-records tr').length === 9")


@pytest.mark.browser
def test_axe_finds_nothing_in_the_table(browser: Browser, page_of: Served, size: str) -> None:
    source = axe_source()
    with browser.new_context(viewport=SIZES[size], bypass_csp=True) as context:  # type: ignore[arg-type]
        page = context.new_page()
        page.goto(page_of.link)
        until(page, f"{ROWS} === 3 && !document.querySelector('#several-runs [colspan]')")
        assert not violations(page, source)


def test_what_makes_no_sense_is_refused(page_of: Served) -> None:
    keys = ask(page_of, "/api/index").json()["named"]
    assert len(keys) == 3
    for wrong, says in (
        ("", "keys must be keys of runs"),
        (f"{keys[0]},../secret", "keys must be keys of runs"),
        ("0" * 16, "unknown entry"),
        (",".join(keys * 3), "select at most 8"),
    ):
        answer = ask(page_of, "/api/several", keys=wrong)
        assert answer.status_code == 422 and says in answer.json()["detail"]
    assert httpx.get(page_of.url + "/api/several").status_code == 401
