"""Hooks of the site for links out of the documentation.

Links to files outside ``docs`` become their names, and so do the references of docstrings.
"""

from __future__ import annotations

import re
from typing import Any


def on_page_markdown(markdown: str, *, page: Any, **_: Any) -> str:
    """Replace links to files outside ``docs``; called by mkdocs for each page."""
    up = "\\.\\./" * (page.file.src_uri.count("/") + 1)
    return re.sub(rf"\[([^\]]+)\]\({up}[^)]*\)", r"\1", markdown)


def on_page_content(html: str, **_: Any) -> str:
    """Remove the roles of references; called by mkdocs for each page as HTML."""
    return re.sub(r":(?:attr|class|data|exc|func|meth|mod):(?=\s*<code>)", "", html)
