"""The page of runs in a real browser: index, records, A against B, a check that is watched."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from axe import SHOWN, axe_source, violations
from bench_builders import answered
from browsing import SIZES, until
from builders import HOSTILE
from review_pages import Served, served, watched
from review_runs import make_run, rows

import veridical
from veridical.diff import diff

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytest.importorskip("fastapi")
pytestmark = pytest.mark.browser

RECORDS = "document.querySelectorAll('#run-records tr').length"
DONE = "document.getElementById('paste-state').textContent === 'done'"


def judged_run(folder: Path, name: str, given: list[dict[str, Any]]) -> Path:
    """A run whose answers have verdicts."""
    data = folder / f"{name}.jsonl"
    data.write_text("".join(json.dumps(row) + "\n" for row in given), "utf-8")
    veridical.check(data, "nli_grounding", nli="mini", store=None, processes=0, out=folder / name)
    return folder / name


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two runs over the same questions, a benchmark, figures, and hostile records."""
    folder = tmp_path_factory.mktemp("shelf") / "results"
    folder.mkdir()
    first = rows(6)
    judged_run(folder, "first", first)
    second = [dict(row) for row in first]
    for i in (1, 2, 5):
        second[i]["response"] = second[i]["response"].replace("is a city", "is not a city")
    judged_run(folder, "second", second)
    bad = [
        {"id": t, "prompt": t, "response": f"{t} It is so.", "contexts": [t], "model": t}
        for t in HOSTILE
    ]
    make_run(folder, bad, "hostile")
    (folder / "bench.json").write_text(answered().model_dump_json())
    figures = {
        "ensemble": {},
        "calibration": {},
        "honest": {
            "metric": HOSTILE[0],
            "n": 40,
            "ensemble": {"value": 0.9, "ci_low": 0.8, "ci_high": 0.95},
            "components": [{"name": HOSTILE[2], "alone": {"value": 0.7}, "weight": None}],
        },
        "notes": list(HOSTILE),
    }
    (folder / "tuned.json").write_text(json.dumps(figures))
    script = [{"contains": "bridge", "text": "The bridge was built in 1901. It is in Porto."}]
    (folder.parent / "script.json").write_text(json.dumps(script))
    return folder


@pytest.fixture(scope="module")
def page_of(folder: Path) -> Iterator[Served]:
    options = ("--nli", "mini", "--store", "none", "--llm", "fake:script.json")
    with served("view", "results", *options, cwd=folder.parent) as page:
        yield page


def go(page: Page, where: str) -> None:
    """Follow an address inside the page."""
    page.evaluate(f"location.hash = {where!r}")
    until(page, f"!document.getElementById('{where.partition('=')[0]}').hidden")


def key_of(page: Page, name: str) -> str:
    """What the page calls an entry."""
    return str(page.get_by_label(f"Compare results/{name}").get_attribute("data-key"))


def test_the_index_names_everything_in_the_folder(browser: Browser, page_of: Served) -> None:
    with watched(browser) as pages:
        page = pages.open(page_of.link)
        assert "#" not in page.url and page.title() == "Runs · veridical"
        until(page, "document.querySelectorAll('#entries tr').length === 5")
        until(page, "document.querySelectorAll('#entries .tiles .verdict-card').length >= 4")
        kinds = [t.split(" ")[0] for t in page.locator("#entries small").all_inner_texts()]
        assert sorted(kinds) == ["bench", "run", "run", "run", "tune"]
        lines = page.locator("#entries tr:has(small)").all_inner_texts()
        assert sum(".jsonl" in line for line in lines) == 3  # each run names its input
        assert all(re.search(r"\d{4}-\d\d-\d\d \d\d:\d\d UTC", line) for line in lines)
        assert page.locator("#compare-go").is_disabled()
        with page.expect_popup() as opened:
            page.get_by_role("link", name="results", exact=True).click()
        opened.value.wait_for_selector("html[data-ready]")
        assert opened.value.title() == "veridical benchmark"
        page.get_by_role("link", name="tuned.json").click()
        until(page, "document.querySelectorAll('#figures li').length === 10")
        assert "0.900 [0.800, 0.950] on 40 answers" in page.locator("#figures").inner_text()
        assert page.locator("#figures th bdi").inner_text() == HOSTILE[2]


def test_a_run_a_verdict_of_it_and_a_record(
    browser: Browser, page_of: Served, folder: Path
) -> None:
    results = list(veridical.api.reopen(folder / "second"))
    wrong = [r for r in results if r.verdict == "contradicted"]
    assert 0 < len(wrong) < len(results)
    with watched(browser) as pages:
        page = pages.open(page_of.link)
        page.get_by_role("link", name="second", exact=True).click()
        until(page, f"{RECORDS} === {len(results)}")
        risks = [float(t) for t in page.locator("#run-records td.n").all_inner_texts()]
        assert risks == sorted(risks, reverse=True)
        page.locator("#run-order").select_option("row")
        until(page, "document.querySelector('#run-records small').textContent.startsWith('row 0')")
        held = [p for p, _ in veridical.api.reopen(folder / "second").pairs()]
        text = held[0].response[:12]
        found = sum(text in "\n".join([r.response, *(c.text for c in r.contexts)]) for r in held)
        page.locator("#run-find").fill(text.upper())
        until(page, f"{RECORDS} === {found}")
        page.locator("#run-find").fill("nobody says this")
        until(page, f"{RECORDS} === 0 && !document.getElementById('run-none').hidden")
        page.locator("#run-find").fill("")
        until(page, f"{RECORDS} === {len(results)}")
        page.locator("#run-cards").get_by_text("Contradicted").click()
        until(page, f"{RECORDS} === {len(wrong)}")
        pressed = page.locator("#run-cards [aria-pressed=true]")
        assert pressed.evaluate("(e) => e === document.activeElement")
        page.locator("#run-records a").first.click()
        until(
            page, f"document.getElementById('record-title').textContent.endsWith('{wrong[0].row}')"
        )
        units = wrong[0].scores["nli_grounding"].units
        assert page.locator("#record-answer .piece").all_inner_texts() == [u.text for u in units]
        evidence = next(u for u in units if u.label == "contradiction").evidence[0].text
        assert evidence in page.locator("#record-claims").inner_text()
        page.go_back()
        until(page, f"{RECORDS} === {len(wrong)} && !document.getElementById('run').hidden")
        with page.expect_popup() as opened:
            page.locator("#run-report").click()
        opened.value.wait_for_selector("html[data-ready]")
        assert opened.value.title() == "veridical report"


def test_a_against_b_says_what_diff_says(browser: Browser, page_of: Served, folder: Path) -> None:
    told = diff(folder / "first", folder / "second")
    assert told.n_flips["worse"] >= 1
    flips = sum(told.n_flips.values())
    with watched(browser) as pages:
        page = pages.open(page_of.link)
        for name in ("first", "second"):
            page.get_by_label(f"Compare results/{name}").check()
        page.get_by_role("button", name="Compare A with B").click()
        until(page, f"document.querySelectorAll('#compare-records .flip').length === {flips}")
        assert page.locator("#compare-a").inner_text().startswith("results/first")
        names = [re.split(": | row", t)[1] for t in page.locator(".flip h3").all_inner_texts()]
        assert names == [flip.id for flip in told.flips]
        first = told.flips[0]
        record = page.locator(".flip").first.inner_text()
        assert f"{first.a.verdict} → {first.b.verdict}" in record
        assert first.a.answer in record and first.b.answer in record
        assert "another answer" in record and (first.b.sentence or "") in record
        figures = page.locator("#compare-figures tbody tr").first.inner_text()
        assert "bad answers" in figures and "%" in figures
        page.locator("#compare-only").select_option("all")
        until(page, "document.querySelectorAll('#compare-records .flip').length === 6")
        page.get_by_role("button", name="Swap A and B").click()
        until(page, "document.getElementById('compare-a').textContent.includes('second')")
        with page.expect_popup() as opened:
            page.locator("#compare-page").click()
        opened.value.wait_for_selector(".flip")
        assert opened.value.title() == "veridical comparison"


def test_a_pasted_answer_is_checked_claim_by_claim(browser: Browser, page_of: Served) -> None:
    answer = "The bridge was built in 1901. It spans the Douro. It was painted by hand."
    with watched(browser) as pages:
        page = pages.open(page_of.link)
        go(page, "paste")
        page.evaluate(
            "window.seen = []; new MutationObserver(() => window.seen.push("
            "document.getElementById('paste-state').textContent)).observe("
            "document.getElementById('paste-state'), {childList: true})"
        )
        page.locator("#paste-response").fill(answer)
        page.locator("#paste-sources").fill(
            "The bridge over the Douro was built in 1886.\n---\nIt spans the Douro."
        )
        page.locator("#paste-go").click()
        until(page, DONE)
        seen = page.evaluate("window.seen")
        steps = [f"statement {n} of 3" for n in (1, 2, 3)]
        assert [s for s in seen if s.startswith("statement")] == steps, seen
        assert "contradicted" in page.locator("#paste-verdict").inner_text()
        claims = page.locator("#paste-claims li").all_inner_texts()
        assert len(claims) == 3 and "contradicted" in claims[0] and "1886" in claims[0]
        assert "supported" in claims[1] and "Source" in claims[1]
        assert page.locator("#paste-answer").inner_text() == answer
        page.locator("#paste-response").fill("  ")  # empty: the LLM answers the question
        page.locator("#paste-question").fill("When was the bridge built?")
        page.locator("#paste-go").click()
        until(
            page,
            f"document.getElementById('paste-answer').textContent.includes('in Porto') && {DONE}",
        )


def test_hostile_text_stays_text(browser: Browser, page_of: Served, folder: Path) -> None:
    with watched(browser) as pages:
        page = pages.open(page_of.link)
        key = key_of(page, "hostile")
        go(page, f"run={key}")
        until(page, f"{RECORDS} === {len(HOSTILE)}")
        for row, text in enumerate(HOSTILE):
            go(page, f"record={key},{row}")
            until(page, f"document.getElementById('record-title').textContent === 'Record {row}'")
            shown = page.locator("#record-answer").evaluate("(e) => e.textContent")
            assert shown == f"{text} It is so."
            assert page.locator("#record-question").evaluate("(e) => e.textContent") == text
        go(page, "paste")
        page.locator("#paste-response").fill("\n".join(HOSTILE[:6]))
        page.locator("#paste-sources").fill("\n---\n".join(HOSTILE[:6]))
        page.locator("#paste-question").fill(HOSTILE[0])
        page.locator("#paste-go").click()
        until(page, DONE)
        go(page, f"compare={key},{key}")
        page.locator("#compare-only").select_option("all")
        until(page, "document.querySelectorAll('#compare-records .flip').length === 10")
        go(page, "run=" + "0" * 16)
        until(page, "document.getElementById('alarm').textContent.includes('unknown entry')")
        assert page.title() == "Runs · veridical"
        assert page.locator("img, iframe, object").count() == 0
        pages.trouble[:] = [t for t in pages.trouble if "status of 4" not in t]  # of the last


def test_by_keyboard_alone(browser: Browser, page_of: Served) -> None:
    """Choose two runs, compare them, open a run and a record, and check an answer."""
    with watched(browser) as pages:
        page = pages.open(page_of.link)
        until(page, "document.querySelectorAll('#entries tr').length === 5")

        def to(selector: str, most: int = 40) -> None:
            for _ in range(most):
                if page.evaluate(f"document.activeElement.matches({json.dumps(selector)})"):
                    return
                page.keyboard.press("Tab")
            pytest.fail(f"never at {selector}")

        for name in ("second", "first"):  # the newer one comes first
            to(f"[aria-label='Compare results/{name}']")
            page.keyboard.press("Space")
        for _ in range(20):
            if page.evaluate("document.activeElement.id === 'compare-go'"):
                break
            page.keyboard.press("Shift+Tab")
        page.keyboard.press("Enter")
        until(page, "document.activeElement.id === 'compare-title'")
        until(page, "document.querySelectorAll('.flip').length > 0")
        for _ in range(10):
            if page.evaluate("document.activeElement.hash === '#index'"):
                break
            page.keyboard.press("Shift+Tab")
        page.keyboard.press("Enter")
        until(page, "document.activeElement.id === 'index-title'")
        to("#entries a[href^='#run']")
        page.keyboard.press("Enter")
        until(page, f"{RECORDS} > 0")
        to("#run-records a")
        page.keyboard.press("Enter")
        until(page, "document.activeElement.id === 'record-title'")
        until(page, "document.getElementById('record-answer').textContent !== ''")
        to("#record-back")
        page.keyboard.press("Enter")
        until(page, "document.activeElement.id === 'run-title'")
        go(page, "paste")
        to("#paste-response")
        page.keyboard.type("It is so.")
        to("#paste-go")
        page.keyboard.press("Enter")
        until(page, DONE)
        assert page.evaluate("document.activeElement.id === 'paste-go'")


@pytest.mark.parametrize(("size", "scheme"), SHOWN)
def test_axe_finds_nothing_and_pages_fit(
    browser: Browser, page_of: Served, size: str, scheme: str
) -> None:
    source = axe_source()
    with browser.new_context(
        viewport=SIZES[size],  # type: ignore[arg-type]
        color_scheme=scheme,  # type: ignore[arg-type]
        bypass_csp=True,
    ) as context:
        page = context.new_page()
        page.goto(page_of.link)
        page.wait_for_selector("html[data-ready]")
        until(page, "document.querySelectorAll('#entries .verdict-card').length >= 4")
        first, second = key_of(page, "first"), key_of(page, "second")
        hostile = key_of(page, "hostile")
        tuned = str(page.get_by_role("link", name="tuned.json").get_attribute("href"))
        places = {
            "index": "document.querySelectorAll('#entries tr').length === 5",
            f"run={hostile}": f"{RECORDS} === 10",
            f"record={second},1": "document.querySelectorAll('#record-claims li').length > 0",
            f"compare={first},{second}": "document.querySelectorAll('.flip').length > 0",
            tuned[1:]: "document.querySelectorAll('#figures li').length > 0",
            "paste": "true",
        }
        for place, ready in places.items():
            go(page, place)
            until(page, ready)
            assert violations(page, source) == [], place
            assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), place
        page.locator("#paste-response").fill("Rome is not a city. " + "W" * 600)
        page.locator("#paste-sources").fill("Rome is a city. " + "V" * 600)
        page.locator("#paste-go").click()
        until(page, DONE)
        assert violations(page, source) == []
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
