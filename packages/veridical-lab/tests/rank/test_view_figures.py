"""Figures of ``rank`` and ``tune``, as their commands write them, in the page of runs."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import httpx
import pytest
from browser_fixtures import browser as browser
from browsing import until
from builders import HOSTILE
from graded_answers import answers
from review_pages import Served, served, watched

from veridical_lab.rank import Ranking

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytest.importorskip("fastapi")
pytestmark = pytest.mark.browser
FACTS = ("Paris is in France.", "Rome is in Italy.", "Oslo is in Norway.")
WRONG = ("Paris is in Spain.", "Rome is in Italy.", "Oslo is in Peru.")


def write(path: Path, rows: list[dict[str, object]]) -> None:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("figures")
    for name, told in (("right", FACTS), ("wrong", WRONG)):
        write(
            folder / f"{name}.jsonl",
            [{"prompt": f"{i}?", "response": a, "contexts": FACTS[i]} for i, a in enumerate(told)],
        )
    write(folder / "graded.jsonl", answers())
    hostile = HOSTILE[0].replace("=", "").replace("/", "")  # a model's name in NAME=FILE
    for command in (
        ("rank", "right.jsonl", f"{hostile}=wrong.jsonl", "--json", "ranking.json"),
        ("tune", "graded.jsonl", "--scorers", "ngram, exact_match", "--json", "tuned.json"),
    ):
        words = [sys.executable, "-m", "veridical", *command, "--bootstrap", "40"]
        done = subprocess.run(words, cwd=folder, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture(scope="module")
def page_of(folder: Path) -> Iterator[Served]:
    with served("view", "ranking.json", "tuned.json", "--store", "none", cwd=folder) as page:
        yield page


def test_a_ranking_opens(browser: Browser, page_of: Served, folder: Path) -> None:
    made = Ranking.model_validate_json((folder / "ranking.json").read_text("utf-8"))
    names = [model.model for model in made.parts[0].models]
    with watched(browser) as pages:
        page = pages.open(page_of.link)
        until(page, "document.querySelectorAll('#entries tr').length === 2")
        with page.expect_popup() as opened:
            page.get_by_role("link", name="ranking.json").click()
        ranking = opened.value
        ranking.wait_for_selector("table")
        text = ranking.locator("body").inner_text()
        assert all(name in text for name in names) and len(names) == 2
        assert ranking.locator("img, iframe").count() == 0


def test_figures_of_tune_open(browser: Browser, page_of: Served, folder: Path) -> None:
    told = json.loads((folder / "tuned.json").read_text("utf-8"))["honest"]
    with watched(browser) as pages:
        page = pages.open(page_of.link)
        page.get_by_role("link", name="tuned.json").click()
        until(page, "document.querySelectorAll('#figures tbody tr').length === 2")
        line = page.locator("#figures .answer-line").inner_text()
        assert f"{told['ensemble']['value']:.3f}" in line and f"on {told['n']} answers" in line
        for row, component in zip(
            page.locator("#figures tbody tr").all_inner_texts(), told["components"], strict=True
        ):
            assert component["name"] in row and f"{component['alone']['value']:.3f}" in row


def test_a_ranking_of_another_version_is_refused(folder: Path) -> None:
    made = json.loads((folder / "ranking.json").read_text("utf-8"))
    (folder / "old.json").write_text(json.dumps({**made, "unknown": 1}))
    with served("view", "old.json", "--store", "none", cwd=folder) as page:
        headers = {"authorization": f"Bearer {page.token()}"}
        (entry,) = httpx.get(f"{page.url}/api/index", headers=headers).json()["entries"]
        assert entry["kind"] == "rank"
        answer = httpx.get(f"{page.url}/report", params={"key": entry["key"]}, headers=headers)
        assert answer.status_code == 422 and "not a ranking of this version" in answer.text
