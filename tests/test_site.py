"""The documentation site: it builds without a warning, fetches nothing, and fits a phone."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from browser_fixtures import browser as browser
from places import ROOT

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytest.importorskip("mkdocs", reason="needs the [docs] extra")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site, built anew; a broken link or a page outside the menu fails it."""
    out = tmp_path_factory.mktemp("site")
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(out)],
        cwd=ROOT, env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    assert "not included in the" not in done.stderr, done.stderr[-3000:]
    return out


def test_every_page_is_there_and_fetches_nothing(site: Path) -> None:
    docs = ROOT / "docs"
    pages = {p.relative_to(docs).with_suffix(".html") for p in docs.rglob("*.md")}
    pages = {p.with_name("index.html") if p.name == "README.html" else p for p in pages}
    for page in sorted(pages):
        text = (site / page).read_text(encoding="utf-8")
        tags = re.findall(r"<(?:script|img|iframe)\b[^>]*>|<link\b[^>]*\bstylesheet[^>]*>", text)
        assert [tag for tag in tags if "http:" in tag or "https:" in tag] == [], page


def test_the_reference_has_every_public_name_with_its_text(site: Path) -> None:
    import veridical

    text = (site / "reference.html").read_text(encoding="utf-8")
    public = {f"veridical.{name}" for name in veridical.__all__}
    public -= {"veridical.claims", "veridical.__version__", "veridical.bench"}
    public |= {"veridical_lab.bench.runner.bench"}
    assert [name for name in sorted(public) if f'id="{name}"' not in text] == []
    assert "Raises" in text and "UsageError" in text and ":class:" not in text


@pytest.mark.browser
@pytest.mark.parametrize("width", [400, 1280])
def test_pages_fit_and_search_finds(browser: Browser, site: Path, width: int) -> None:
    serve = partial(Quiet, directory=str(site))
    with ThreadingHTTPServer(("127.0.0.1", 0), serve) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        here = f"http://127.0.0.1:{server.server_port}/"
        page = browser.new_page(viewport={"width": width, "height": 900})
        trouble: list[str] = []
        page.on("pageerror", lambda e: trouble.append(str(e)))
        page.on("request", lambda r: r.url.startswith(here) or trouble.append(r.url))
        for name in (
            "index.html",
            "guide.html",
            "evidence/gallery.html",
            "reference.html",
            "coverage.html",
        ):
            page.goto(here + name)
            assert page.evaluate("document.documentElement.scrollWidth") <= width, name
            assert page.locator("h1").count() == 1
        page.keyboard.press("/")
        page.keyboard.type("semantic entropy")
        page.wait_for_selector(".md-search-result__link", state="attached")
        page.close()
        server.shutdown()
    assert not trouble


class Quiet(SimpleHTTPRequestHandler):
    """Tells nobody about each request."""

    def log_message(self, *_: object) -> None:
        pass
