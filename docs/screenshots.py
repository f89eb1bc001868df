"""Pictures of the pages, by the pages themselves: ``python docs/screenshots.py [FOLDER]``.

Checks the demo, then opens its report, ``veridical review`` and ``veridical view`` in Chromium, and
writes report.png, review.png and view.png into FOLDER (docs/images). Needs the [dev] extra and
Chromium; ``CHROMIUM`` names the program.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

IMAGES = Path(__file__).parent / "images"
VERIDICAL = [sys.executable, "-m", "veridical"]
WIDTH = 1280
#: Delay before a screenshot, in milliseconds, so that charts and lists are drawn.
SETTLED = 1500


@contextmanager
def opened(folder: Path, *words: str) -> Iterator[str]:
    """Start a command and yield the address of its page; stop it when the block ends."""
    with subprocess.Popen(
        [*VERIDICAL, *words],
        cwd=folder,
        stderr=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        text=True,
    ) as process:
        try:
            assert process.stderr is not None
            said = []
            for line in process.stderr:
                said.append(line)
                if found := re.search(r"http://\S+#token=\S+", line):
                    yield found[0]
                    return
            raise SystemExit(f"{' '.join(words)} opened no page:\n{''.join(said)}")
        finally:
            process.terminate()


def shot(page: Page, address: str, path: Path, ready: str, height: int) -> None:
    """Open an address, wait for the selector ``ready`` and save a picture ``height`` high."""
    page.set_viewport_size({"width": WIDTH, "height": height})
    page.goto(address)
    page.wait_for_selector(ready, timeout=60_000)
    page.wait_for_timeout(SETTLED)
    page.screenshot(path=path)
    print(path, file=sys.stderr)


def main(images: Path) -> None:
    images.mkdir(parents=True, exist_ok=True)
    program = os.environ.get("CHROMIUM") or shutil.which("chromium")
    with tempfile.TemporaryDirectory() as temporary, sync_playwright() as playwright:
        folder = Path(temporary)
        # Keep the user's settings out of the pictures.
        os.environ |= {"XDG_CONFIG_HOME": temporary, "VERIDICAL_CONFIG": ""}
        subprocess.run([*VERIDICAL, "demo"], cwd=folder, check=True, capture_output=True)
        (run,) = (folder / ".veridical" / "runs").iterdir()
        browser = playwright.chromium.launch(executable_path=program)
        page = browser.new_page(color_scheme="light")
        shot(page, (folder / "demo.html").as_uri(), images / "report.png", "h1", 1000)
        with opened(folder, "review", str(run)) as address:
            shot(page, address, images / "review.png", "fieldset", 460)
        with opened(folder, "view") as address:
            shot(page, address, images / "view.png", "td:has-text('7')", 240)
        browser.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else IMAGES)
