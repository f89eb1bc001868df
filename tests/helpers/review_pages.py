"""The pages of ``veridical review``, ``rate`` and ``view``, by real processes, in a browser."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from browsing import SIZES
from servers import Running, running

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page


@dataclass
class Served:
    """A page under way: its process, and the link of each person."""

    server: Running
    links: dict[str, str]

    @property
    def url(self) -> str:
        return self.server.url

    @property
    def link(self) -> str:
        """The only link."""
        (link,) = self.links.values()
        return link

    def token(self, who: str = "") -> str:
        return (self.links[who] if who else self.link).partition("#token=")[2]


@contextmanager
def served(
    *arguments: str, cwd: Path, env: Mapping[str, str] | None = None, patience: float = 20.0
) -> Iterator[Served]:
    """``veridical ARGUMENTS`` whose page answers, at the latest after seconds of ``patience``."""
    with running(arguments, cwd=cwd, env=env, seconds=max(60, patience)) as server:
        end = time.monotonic() + patience
        while not any("Ctrl-C" in line for line in server.errors):
            assert time.monotonic() < end, "".join(server.errors)
            time.sleep(0.02)
        found = re.findall(r"(?:(\S+): )?open (http://\S+#token=\S+)", "".join(server.errors))
        yield Served(server, dict(found))


@dataclass
class Watched:
    """Pages in which nothing may go wrong, nothing foreign run, and nothing be asked of others."""

    browser: Browser
    trouble: list[str] = field(default_factory=list)
    contexts: list[Any] = field(default_factory=list)

    def open(self, link: str, *, size: str = "wide", scheme: str = "light") -> Page:
        """A page in a browser of its own, ready."""
        context = self.browser.new_context(viewport=SIZES[size], color_scheme=scheme)  # type: ignore[arg-type]
        self.contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(20_000)
        origin = link.partition("/#")[0]
        page.add_init_script(
            "addEventListener('securitypolicyviolation', (e) => console.error('CSP', e.blockedURI))"
        )
        page.on("console", lambda m: self.trouble.append(f"console: {m.text}"))
        page.on("pageerror", lambda e: self.trouble.append(f"error: {e}"))
        page.on("dialog", lambda d: (self.trouble.append(f"dialog: {d.message}"), d.dismiss()))
        page.on(
            "request",
            lambda r: (
                None
                if r.url.startswith((origin + "/", "data:"))
                else self.trouble.append(f"request: {r.url}")
            ),
        )
        page.goto(link)
        page.wait_for_selector("html[data-ready]")
        return page


@contextmanager
def watched(browser: Browser) -> Iterator[Watched]:
    """Fails at the end where anything went wrong in a page."""
    pages = Watched(browser)
    yield pages
    for context in pages.contexts:
        context.close()
    assert not pages.trouble, pages.trouble  # told, as helpers are not rewritten
