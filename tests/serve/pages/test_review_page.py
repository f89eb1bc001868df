"""The page of a review in a real browser: keys, two people, a killed server, hostile text, size."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from axe import SHOWN, axe_source, violations
from browsing import SIZES, until
from builders import HOSTILE
from review_pages import served, watched
from review_runs import make_run, rows

from veridical.review.events import read_events

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytest.importorskip("fastapi")
pytestmark = pytest.mark.browser

IDLE = "document.querySelectorAll('#units .unit-box').length > 0"


def events(run: Path) -> list[Any]:
    return list(read_events(run / "labels.jsonl"))


def row_of(page: Page) -> int:
    return int(page.locator("#item-title").inner_text().rsplit(" ", 1)[1])


def key(page: Page, *names: str) -> None:
    for name in names:
        page.keyboard.press(name)


def finish(page: Page, *labels: str) -> int:
    """Label the answer that is shown by keys and be done with it; its row."""
    row = row_of(page)
    key(page, *labels, "Enter")
    until(page, "document.getElementById('progress').textContent.startsWith('done')")
    return row


def go_on(page: Page, row: int) -> None:
    key(page, "Enter")
    until(page, f"document.getElementById('item-title').textContent !== 'Answer of row {row}'")


def test_twenty_claims_by_keyboard_alone(browser: Browser, tmp_path: Path) -> None:
    run = make_run(tmp_path, rows(14))
    with served("review", str(run), cwd=tmp_path) as page_of, watched(browser) as pages:
        page = pages.open(page_of.link)
        until(page, IDLE)
        assert "#" not in page.url and "token" not in page.url
        labels = {}
        for turn in range(10):
            chosen = ("1", "3") if turn % 2 else ("2", "0")
            row = finish(page, *chosen)
            labels[row] = chosen
            if turn < 9:
                go_on(page, row)
        assert page.locator("#reveal").is_visible()
    names = {"1": "supported", "2": "says_nothing", "3": "contradicted", "0": "not_a_claim"}
    given = [e for e in events(run) if e.event == "label"]
    assert len(given) == 20 and len(labels) == 10
    for row, chosen in labels.items():
        assert [e.label for e in given if e.row == row] == [names[c] for c in chosen]
    assert all(e.blind and e.seconds is not None and e.draw is not None for e in given)
    assert {e.draw.order for e in given} == {"random", "uncertain"}


@pytest.mark.alone
def test_every_key_has_a_button_and_does_the_same(browser: Browser, tmp_path: Path) -> None:
    """Evidence, missed statements, comments, undo and finding, by keys and by buttons."""
    run = make_run(tmp_path, rows(8))
    with served("review", str(run), cwd=tmp_path) as page_of, watched(browser) as pages:
        page = pages.open(page_of.link)
        until(page, IDLE)
        row = row_of(page)
        key(page, "]", "e", "1")  # a sentence of the sources as evidence of the first statement
        page.locator("#units .unit-box").nth(1).get_by_role("button", name="Contradicted").click()
        until(page, "document.querySelectorAll('[aria-pressed=true]').length === 2")
        key(page, "u")  # takes the second label back
        until(page, "document.querySelectorAll('[aria-pressed=true]').length === 1")
        page.get_by_role("button", name="Undo").click()
        until(page, "document.querySelectorAll('[aria-pressed=true]').length === 0")
        key(page, "ArrowUp", "1", "2")
        key(page, "m")  # without a selection: in a text area, by the keyboard
        until(page, "document.getElementById('missed').open")
        for _ in range(5):
            key(page, "Shift+ArrowRight")
        key(page, "Tab", "Enter")
        until(page, "document.querySelectorAll('#units .unit-box').length === 3")
        key(page, "3")
        key(page, "c")
        until(page, "document.getElementById('comment').open")
        page.keyboard.type("A comment: 1 2 3.")
        key(page, "Tab", "Enter")
        until(page, "document.getElementById('comment-shown').textContent.includes('1 2 3')")
        key(page, "/")
        page.keyboard.type("old")
        assert page.locator("#found").inner_text() == "1 sentences"
        key(page, "Escape")
        key(page, "?")
        until(page, "document.getElementById('keys').open")
        key(page, "Escape")
        until(page, "!document.getElementById('keys').open")
        key(page, "Enter")
        until(page, "document.getElementById('progress').textContent.startsWith('done')")
    given = events(run)
    newest = {e.unit.key: e for e in given if e.event == "label"}
    texts = {k[3]: (e.label, e.missed) for k, e in newest.items()}
    response = rows(8)[row]["response"]
    assert texts[response[:5]] == ("contradicted", True)
    assert sorted(label for label, missed in texts.values() if not missed) == [
        "says_nothing",
        "supported",
    ]
    assert any(e.evidence for e in given) and any(e.label is None for e in given if e.unit)
    assert [e.comment for e in given if e.event == "comment"] == ["A comment: 1 2 3."]


def test_a_key_right_after_a_dialog_is_the_pages(browser: Browser, tmp_path: Path) -> None:
    """What a dialog held keeps the focus until the next frame after it was closed by Escape."""
    run = make_run(tmp_path, rows(2))
    press = """([held, key]) => document.querySelector(held).dispatchEvent(
      new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true }))"""
    with served("review", str(run), cwd=tmp_path) as page_of, watched(browser) as pages:
        page = pages.open(page_of.link)
        until(page, IDLE)
        page.evaluate(press, ["#comment textarea", "1"])
        key(page, "2")
        page.evaluate(press, ["#keys button", "Enter"])
        until(page, "document.getElementById('progress').textContent.startsWith('done')")
    assert [e.label for e in events(run) if e.event == "label"] == ["supported", "says_nothing"]


def test_an_answer_of_the_server_takes_no_click(browser: Browser, tmp_path: Path) -> None:
    """A button that is held down while a label is kept stays what it was."""
    run = make_run(tmp_path, rows(2))
    with served("review", str(run), cwd=tmp_path) as page_of, watched(browser) as pages:
        page = pages.open(page_of.link)
        until(page, IDLE)
        held: list[Any] = []
        page.route("**/api/label", lambda route: held.append(route), times=1)
        with page.expect_request("**/api/label"):
            key(page, "1")
        until(page, "document.querySelectorAll('[aria-pressed=true]').length === 1")
        page.locator("#units .unit-box").nth(1).get_by_role("button", name="Contradicted").hover()
        page.mouse.down()
        with page.expect_response("**/api/label"):
            held.pop().continue_()
        page.wait_for_timeout(200)  # the page has read it
        page.mouse.up()
        until(page, "document.querySelectorAll('[aria-pressed=true]').length === 2")
        key(page, "Enter")
        until(page, "document.getElementById('progress').textContent.startsWith('done')")
    assert [e.label for e in events(run) if e.event == "label"] == ["supported", "contradicted"]


def test_two_people_disagree_and_a_third_decides_and_tune_reads_it(
    browser: Browser, tmp_path: Path
) -> None:
    count = 40
    run = make_run(tmp_path, rows(count))
    command = ("review", str(run), "--annotators", "ann,ben", "--double", "1", "--order", "random")
    truth = {i for i, row in enumerate(rows(count)) if row["wrong"]}
    with served(*command, cwd=tmp_path) as page_of, watched(browser) as pages:
        assert set(page_of.links) == {"ann", "ben", "adjudicator"}
        people = {who: pages.open(page_of.links[who]) for who in ("ann", "ben")}
        until(people["ann"], IDLE)
        told = people["ann"].locator("#progress").inner_text()
        assert told.endswith("0 of 40 answers done by ann · everybody labels this answer")
        disputed = None
        for turn in range(count):
            for who, page in people.items():
                until(page, IDLE)
                row = row_of(page)
                second = "3" if row in truth else "1"
                if turn == 0 and who == "ben":
                    second = "1" if second == "3" else "3"
                    disputed = row
                finish(page, "1", second)
                if turn < count - 1:
                    go_on(page, row)
        judge = pages.open(page_of.links["adjudicator"])
        until(judge, "document.querySelectorAll('.case').length === 1")
        assert f"Row {disputed}" in judge.locator(".case").inner_text()
        text = judge.locator("#agreement").inner_text()
        assert "ann" not in text.split() and "Krippendorff's alpha 0.9" in text
        right = "contradicted" if disputed in truth else "supported"
        judge.locator(f'.case [data-label="{right}"]').click()
        until(judge, "document.querySelectorAll('.case').length === 0")
    labels = tmp_path / "labels.jsonl"
    veridical("review", str(run), "--export", str(labels), "--redact")
    exported = [json.loads(line) for line in labels.read_text().splitlines()]
    assert [row["label"] for row in exported] == [float(i in truth) for i in range(count)]
    assert {row["draw"] for row in exported} == {"random"}
    assert '"ann"' not in labels.read_text()
    ensemble = tmp_path / "ensemble.json"
    veridical(
        *("tune", str(tmp_path / "run.jsonl"), "--labels", str(labels), "--cv", "2"),
        *("--scorers", "support, knowledge_f1", "--bootstrap", "0", "--out", str(ensemble)),
        *("--run", str(tmp_path / "tuning"), "--store", "none"),
    )
    assert json.loads(ensemble.read_text())["fitted_on"]["n"] == count


def veridical(*arguments: str, code: int = 0) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "veridical", *arguments],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == code, done.stderr
    return done.stderr


def test_a_killed_server_loses_no_label(browser: Browser, tmp_path: Path) -> None:
    run = make_run(tmp_path, rows(6))
    seen = 0
    for life in range(3):
        with served("review", str(run), cwd=tmp_path) as page_of, watched(browser) as pages:
            page = pages.open(page_of.link)
            until(page, IDLE)
            key(page, "3" if life else "1")
            until(page, "document.querySelectorAll('[aria-pressed=true]').length > 0")
            end = time.monotonic() + 10
            while len(events(run)) == seen and time.monotonic() < end:
                time.sleep(0.01)
            page_of.server.process.send_signal(signal.SIGKILL)
            page_of.server.process.wait()
            page.close()  # what it still asked for has failed, as it must
            pages.trouble[:] = [t for t in pages.trouble if "net::ERR_" not in t]
        assert len(events(run)) > seen
        seen = len(events(run))
    with served("review", str(run), cwd=tmp_path) as page_of, watched(browser) as pages:
        page = pages.open(page_of.link)
        until(page, IDLE)
        assert page.locator("[aria-pressed=true]").count() == len({e.unit.key for e in events(run)})


def test_hostile_text_in_every_field_stays_text(browser: Browser, tmp_path: Path) -> None:
    given = [
        {
            "id": text,
            "prompt": text,
            "response": f"{text} It is so.",
            "contexts": [{"id": text, "text": f"{text} It is not so."}],
            "reference": [text],
            "samples": [text],
            "model": text,
        }
        for text in HOSTILE
    ]
    run = make_run(tmp_path, given)
    with served("review", str(run), cwd=tmp_path) as page_of, watched(browser) as pages:
        page = pages.open(page_of.link)
        for turn in range(len(given)):
            until(page, IDLE)
            row = row_of(page)
            assert (
                page.locator("#answer").evaluate("(e) => e.textContent") == given[row]["response"]
            )
            key(page, "c")
            until(page, "document.getElementById('comment').open")
            page.locator("#comment-text").fill(HOSTILE[row])
            page.locator("#comment-save").click()
            for _ in range(page.locator("#units .unit-box").count()):
                key(page, "3")
            key(page, "Enter")
            until(page, "document.getElementById('progress').textContent.startsWith('done')")
            assert page.title() == "Review · veridical"
            if turn < len(given) - 1:
                go_on(page, row)
        page.locator('[data-view="queue"]').click()
        until(page, "document.querySelectorAll('#rows tr').length === 10")
        page.locator('[data-view="agreement"]').click()
        until(page, "!document.getElementById('agreement').hidden")
        assert page.title() == "Review · veridical"


def test_many_answers_page_without_freezing(browser: Browser, tmp_path: Path) -> None:
    row = {"response": "It is so.", "contexts": ["It is so."]}
    run = make_run(tmp_path, [{**row, "id": i} for i in range(20_000)], scorers="knowledge_f1")
    with served("review", str(run), cwd=tmp_path) as page_of, watched(browser) as pages:
        page = pages.open(page_of.link)
        until(page, IDLE)
        page.locator('[data-view="queue"]').click()
        until(page, "document.querySelectorAll('#rows tr').length === 50")
        assert "of 400 (20,000 answers)" in page.locator("#page-count").inner_text()
        for number in ("400", "200", "1"):
            page.locator("#page-number").fill(number)
            key(page, "Tab")
            first = 50 * (int(number) - 1)
            until(page, f"document.querySelector('#rows button')?.textContent === 'row {first}'")


@pytest.mark.parametrize(("size", "scheme"), SHOWN)
def test_axe_finds_nothing(browser: Browser, tmp_path: Path, size: str, scheme: str) -> None:
    source = axe_source()
    run = make_run(tmp_path, rows(6))
    command = ("review", str(run), "--annotators", "ann,ben", "--double", "1")
    with (
        served(*command, cwd=tmp_path) as page_of,
        browser.new_context(
            viewport=SIZES[size],  # type: ignore[arg-type]
            color_scheme=scheme,  # type: ignore[arg-type]
            bypass_csp=True,
        ) as context,
    ):
        page = context.new_page()
        for who in ("ann", "ben"):
            page.goto("about:blank")
            page.goto(page_of.links[who])
            until(page, IDLE)
            assert violations(page, source) == []
            finish(page, "1", "3" if who == "ann" else "1")
            assert violations(page, source) == []
            key(page, "?")
            assert violations(page, source) == []
            key(page, "Escape")
            page.locator('[data-view="queue"]').click()
            until(page, "document.querySelectorAll('#rows tr').length === 6")
            assert violations(page, source) == []
        page.goto("about:blank")
        page.goto(page_of.links["adjudicator"])
        until(page, "!document.getElementById('agreement').hidden")
        assert violations(page, source) == []


def test_pages_fit_their_width(browser: Browser, tmp_path: Path, size: str) -> None:
    long = {"response": "W" * 3000 + " is so.", "contexts": ["V" * 3000], "id": "i" * 500}
    run = make_run(tmp_path, [long, *rows(3)])
    with served("review", str(run), cwd=tmp_path) as page_of, watched(browser) as pages:
        page = pages.open(page_of.link, size=size)
        until(page, IDLE)
        for view in ("item", "queue", "agreement"):
            page.locator(f'[data-view="{view}"]').click()
            page.wait_for_timeout(200)
            assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), view


def test_a_rate_ends_by_itself_with_an_interval(browser: Browser, tmp_path: Path) -> None:
    run = make_run(tmp_path, rows(24))
    out = tmp_path / "rate.json"
    command = ("rate", str(run), "--budget", "4", "--json", str(out))
    with served(*command, cwd=tmp_path) as page_of, watched(browser) as pages:
        page = pages.open(page_of.link)
        until(page, IDLE)
        for turn in range(4):
            row = finish(page, "1", "3" if turn == 0 else "1")
            if turn < 3:
                go_on(page, row)
        assert page_of.server.process.wait(60) == 0
    told = json.loads(out.read_text())
    assert told["n"] == 4 and told["n_hallucinated"] == 1 and told["n_total"] == 24
    assert 0 <= told["ci_low"] <= told["rate"] <= told["ci_high"] <= 1
    assert {e.draw.order for e in events(run) if e.event == "label"} == {"neyman"}
