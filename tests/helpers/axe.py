"""axe-core, which looks for barriers to assistive technology. It is no part of the project: where
it lies is told by ``VERIDICAL_AXE`` (the file ``axe.min.js`` of ``npm install axe-core``)."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from browsing import SIZES

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page


#: Sizes and schemes of pages that are looked at: what fits depends on the one, and contrast on
#: the other.
SHOWN = [("wide", "light"), ("narrow", "dark")]


def axe_source() -> str:
    """The script's text; the test is skipped, with a warning, where it is not there."""
    path = Path(os.environ.get("VERIDICAL_AXE", "axe.min.js"))
    if not path.is_file():
        why = (
            "NO AXE-CORE: barriers are not looked for with it (npm install axe-core, then "
            "VERIDICAL_AXE=node_modules/axe-core/axe.min.js)"
        )
        warnings.warn(why, stacklevel=2)
        pytest.skip(why)
    return path.read_text("utf-8")


@contextmanager
def opened(browser: Browser, path: Path, size: str, scheme: str) -> Iterator[Page]:
    """The page of a file, in which a script can be run whatever its policy says."""
    with browser.new_context(
        viewport=SIZES[size],  # type: ignore[arg-type]
        color_scheme=scheme,  # type: ignore[arg-type]
        bypass_csp=True,
    ) as context:
        page = context.new_page()
        page.goto(path.as_uri())
        yield page


def violations(page: Page, source: str) -> list[str]:
    """What axe-core finds on an :func:`opened` page: rule and element."""
    page.evaluate(source)
    found = page.evaluate("axe.run(document)")
    return [
        f"{rule['id']}: {node['html'][:120]}"
        for rule in found["violations"]
        for node in rule["nodes"]
    ]
