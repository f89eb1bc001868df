"""A run that is being written while its page is open, and one of many records."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from browsing import until
from review_pages import served, watched
from review_runs import make_run, rows

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytest.importorskip("fastapi")
pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(os.name == "nt", reason="a process is stopped and goes on"),
]
ROWS = 3000


def test_a_run_under_way_updates_in_the_page(browser: Browser, tmp_path: Path) -> None:
    """The run is stopped half way, so that the page has to see it so; then it goes on."""
    data, out = tmp_path / "answers.jsonl", tmp_path / "out"
    data.write_text("".join(json.dumps(row) + "\n" for row in rows(ROWS)), "utf-8")
    check = subprocess.Popen(
        [
            *(sys.executable, "-m", "veridical", "check", str(data), "--out", str(out)),
            *("--scorers", "support", "--store", "none", "--processes", "0"),
        ],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        lines, end = out / "results.jsonl", time.monotonic() + 60
        while not (lines.exists() and lines.read_bytes().count(b"\n") > 50):
            assert check.poll() is None and time.monotonic() < end
            time.sleep(0.005)
        check.send_signal(signal.SIGSTOP)
        with served("view", str(out), cwd=tmp_path) as page_of, watched(browser) as pages:
            page = pages.open(page_of.link)  # the only run is opened at once
            until(page, "document.getElementById('run-live') !== null")
            told = page.locator("#run-live").inner_text()
            assert f"of {ROWS:,} records so far" in told
            before = int(told.split(" ")[2].replace(",", ""))
            assert 50 < before < ROWS
            assert page.locator("progress").get_attribute("value") == str(before / ROWS)
            page.evaluate("window.same = true")
            check.send_signal(signal.SIGCONT)
            assert check.wait(120) == 0
            for _ in range(3):  # it may take several looks, each as long as until() waits
                if page.locator("#run-live").count() == 0:
                    break
                page.wait_for_timeout(3000)
            until(page, f"document.getElementById('run-count').textContent.includes('({ROWS:,}')")
            assert page.locator("#run-live").count() == 0
            assert page.evaluate("window.same"), "the page was loaded anew"
    finally:
        check.kill()
        check.wait()


def test_many_records_page_without_freezing(browser: Browser, tmp_path: Path) -> None:
    count = 6_000
    row = {"response": "It is so.", "contexts": ["It is so."]}
    run = make_run(tmp_path, [{**row, "id": i} for i in range(count)], scorers="knowledge_f1")
    with served("view", str(run), cwd=tmp_path) as page_of, watched(browser) as pages:
        page = pages.open(page_of.link)  # which is there before the run is read
        for _ in range(6):
            if page.locator("#run-records tr").count():
                break
            page.wait_for_timeout(5000)
        page.locator("#run-order").select_option("row")
        for number in (120, 60, 1):
            page.locator("#run-page").fill(str(number))
            page.keyboard.press("Enter")
            first = f"row {50 * (number - 1)} "
            until(page, "document.querySelector('#run-records small')"
                  f".textContent.startsWith('{first}')")  # fmt: skip
        assert "of 120 (6,000 records)" in page.locator("#run-count").inner_text()
