"""What the browser tests share: page sizes, and waiting and looking in an open report."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Page

SIZES = {"wide": {"width": 1280, "height": 900}, "narrow": {"width": 390, "height": 844}}
Open = Callable[..., "Page"]


def until(page: Page, condition: str) -> None:
    """Wait until a JavaScript expression is true (Playwright's own waiting needs unsafe-eval)."""
    for _ in range(200):
        if page.evaluate(condition):
            return
        page.wait_for_timeout(50)
    pytest.fail(f"never true: {condition}")


def title_is(row: int) -> str:
    return f"document.getElementById('detail-title')?.textContent.split(' ')[1] === '{row}'"


def count_is(text: str) -> str:
    return f"document.getElementById('count').textContent === '{text}'"


def open_row(page: Page, row: int) -> None:
    page.evaluate(f"location.hash = 'row={row}'")
    until(page, title_is(row))


def rows(page: Page) -> list[int]:
    """Row numbers in the list, as drawn."""
    facts = page.locator(".option .facts").all_inner_texts()
    return [int(row) for f in facts for row in re.findall(r"\brow (\d+)", f)[:1]]
