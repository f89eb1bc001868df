"""A real browser for tests of pages."""

from __future__ import annotations

from browser_fixtures import browser, show, size

__all__ = ["browser", "show", "size"]
