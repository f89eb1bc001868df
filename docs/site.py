"""What the site does to the pages: links to files beside the documentation become their names, and
so do the references of docstrings."""

from __future__ import annotations

import re
from typing import Any


def on_page_markdown(markdown: str, *, page: Any, **_: Any) -> str:
    """Called by mkdocs with the text of each page."""
    up = "\\.\\./" * (page.file.src_uri.count("/") + 1)
    return re.sub(rf"\[([^\]]+)\]\({up}[^)]*\)", r"\1", markdown)


def on_page_content(html: str, **_: Any) -> str:
    """Called by mkdocs with each page as HTML."""
    return re.sub(r":(?:attr|class|data|exc|func|meth|mod):(?=\s*<code>)", "", html)
