"""The pictures of the documentation come from the pages themselves, by a script that runs."""

from __future__ import annotations

import shutil
import struct
import subprocess
import sys
from pathlib import Path

import pytest
from places import ROOT

PICTURES = ("report.png", "review.png", "view.png")


def size(path: Path) -> tuple[int, int]:
    """Width and height of a PNG."""
    head = path.read_bytes()[:24]
    assert head[:8] == b"\x89PNG\r\n\x1a\n"
    width, height = struct.unpack(">II", head[16:24])
    return width, height


@pytest.mark.browser
def test_the_script_makes_the_pictures_that_are_shown(tmp_path: Path) -> None:
    pytest.importorskip("playwright")
    if shutil.which("chromium") is None:
        pytest.skip("needs Chromium")
    command = [sys.executable, str(ROOT / "docs" / "screenshots.py"), str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    for name in PICTURES:
        assert size(tmp_path / name) == size(ROOT / "docs" / "images" / name), name
        # An empty page makes a much smaller file.
        made, shown = (f.stat().st_size for f in (tmp_path / name, ROOT / "docs/images" / name))
        assert made > shown / 2, name


def test_every_picture_is_shown_and_is_made() -> None:
    pages = "".join(p.read_text("utf-8") for p in (ROOT / "docs").glob("*.md"))
    there = {p.name for p in (ROOT / "docs" / "images").glob("*.png")}
    assert there == set(PICTURES)
    assert all(f"images/{name}" in pages for name in there)
