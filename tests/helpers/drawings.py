"""Rules that every drawing of a page keeps."""

from __future__ import annotations

import xml.etree.ElementTree as ET

HOSTILE = "<script>alert(1)</script>&\"'"


def check_drawing(drawing: str, title: str) -> None:
    """Fail unless a drawing is sound SVG, named by its title, without scripts and styles."""
    root = ET.fromstring(drawing)
    assert root.get("role") == "img"
    assert root[0].tag == "title" and root[0].text == title
    assert not list(root.iter("script"))
    assert not any(e.get("style") for e in root.iter())
