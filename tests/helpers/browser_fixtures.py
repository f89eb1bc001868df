"""A real browser for tests of pages: Debian's Chromium, driven by Playwright."""

from __future__ import annotations

import os
import shutil
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from browsing import SIZES, Open
from builders import summary

from veridical.report.html import write_report

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

CHROMIUM = os.environ.get("VERIDICAL_CHROMIUM", "/usr/bin/chromium")
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    sync_api = None
    if Path(CHROMIUM).exists() or shutil.which(CHROMIUM):
        try:
            from playwright import sync_api
        except ImportError:
            sync_api = None
    if sync_api is None:
        why = f"NO BROWSER: the report is not tested in one (needs playwright and {CHROMIUM})"
        warnings.warn(why, stacklevel=1)
        pytest.skip(why)
    with sync_api.sync_playwright() as p:
        found = p.chromium.launch(executable_path=CHROMIUM, headless=True, args=FLAGS)
        yield found
        found.close()


@pytest.fixture(params=SIZES)
def size(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def show(browser: Browser, tmp_path: Path) -> Iterator[Open]:
    """Opens a report; afterwards nothing may have gone wrong, run or been asked of a network."""
    trouble: list[str] = []
    contexts = []

    def open_(
        pairs: Any,
        head: Any = None,
        *,
        size: str = "wide",
        scheme: str = "light",
        hash: str = "",
        tables: Any = (),
    ) -> Page:
        head = head or summary(pairs)
        path = tmp_path / "report.html"
        write_report(path, iter(pairs), head, title="A run", shown=None, tables=tables)
        context = browser.new_context(viewport=SIZES[size], color_scheme=scheme)  # type: ignore[arg-type]
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(20_000)
        page.add_init_script(
            "addEventListener('securitypolicyviolation', (e) => console.error('CSP', e.blockedURI))"
        )
        page.on("console", lambda m: trouble.append(f"console: {m.text}"))
        page.on("pageerror", lambda e: trouble.append(f"error: {e}"))
        page.on("dialog", lambda d: (trouble.append(f"dialog: {d.message}"), d.dismiss()))
        page.on(
            "request",
            lambda r: (
                None
                if r.url.startswith((path.as_uri(), "data:"))
                else trouble.append(f"request: {r.url}")
            ),
        )
        page.goto(path.as_uri() + hash)
        page.wait_for_selector("html[data-ready]")
        return page

    yield open_
    for context in contexts:
        context.close()
    assert trouble == []
