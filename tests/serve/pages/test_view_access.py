"""Whom the page of runs answers, and what it refuses: no browser, a real server."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from review_pages import Served, served
from review_runs import make_run, rows

pytest.importorskip("fastapi")
pytest.importorskip("uvicorn")
ROUTES = ("/api/index", "/api/run", "/api/records", "/api/record", "/api/compare")
WHOLE = ("/api/figures", "/report", "/comparison")


@pytest.fixture(scope="module")
def page_of(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("access")
    make_run(folder, rows(4), "one")
    make_run(folder, rows(3), "two")
    (folder / "secret.json").write_text('{"secret": "told to nobody"}')
    with served("view", "one", "two", "--store", "none", cwd=folder) as page:
        yield page


@pytest.fixture
def ask(page_of: Served) -> Iterator[httpx.Client]:
    """Somebody who has the token."""
    headers = {"authorization": f"Bearer {page_of.token()}"}
    with httpx.Client(base_url=page_of.url, headers=headers, timeout=60) as client:
        yield client


def entries(ask: httpx.Client) -> dict[str, str]:
    """Name -> key."""
    return {e["path"]: e["key"] for e in ask.get("/api/index").json()["entries"]}


@pytest.mark.parametrize("path", [*ROUTES, *WHOLE])
def test_data_need_the_token(page_of: Served, path: str) -> None:
    assert httpx.get(page_of.url + path).status_code == 401
    wrong = {"authorization": "Bearer " + "x" * 43}
    assert httpx.get(page_of.url + path, headers=wrong).status_code == 401
    cookie = {"cookie": "veridical_00000000=" + page_of.token()}  # that of another server
    assert httpx.get(page_of.url + path, headers=cookie).status_code == 401


def test_a_check_needs_the_token(page_of: Served) -> None:
    body = {"response": "It is so."}
    assert httpx.post(page_of.url + "/api/check", json=body).status_code == 401


def test_the_shell_is_empty_and_its_policy_strict(page_of: Served) -> None:
    answer = httpx.get(page_of.url + "/")
    assert answer.status_code == 200 and "Paris" not in answer.text
    policy = answer.headers["content-security-policy"]
    assert policy.startswith("default-src 'none'; script-src 'self'")
    assert "unsafe" not in policy and "require-trusted-types-for 'script'" in policy
    for name in ("view.js", "runs.js", "compare.js", "paste.js", "answers.js", "view.css"):
        assert httpx.get(f"{page_of.url}/static/{name}").status_code == 200
    assert httpx.get(page_of.url + "/static/..%2Fview.html").status_code == 404


def test_a_foreign_host_is_refused(ask: httpx.Client) -> None:
    for path in ("/", "/api/index", "/static/view.js"):
        assert ask.get(path, headers={"host": "evil.example"}).status_code == 421


def test_the_token_is_handed_in_once_and_a_cookie_keeps_it(page_of: Served) -> None:
    with httpx.Client(base_url=page_of.url) as client:
        answer = client.post("/api/session", json={"token": page_of.token()})
        assert answer.status_code == 204
        assert "HttpOnly; SameSite=Strict" in answer.headers["set-cookie"]
        assert client.get("/api/index").status_code == 200
        elsewhere = {"origin": "https://evil.example"}
        body = {"response": "It is so."}
        assert client.post("/api/check", json=body, headers=elsewhere).status_code == 403


def test_only_what_was_named_is_there_and_by_keys_alone(ask: httpx.Client) -> None:
    found = entries(ask)
    assert sorted(found) == ["one", "two"]
    named = ask.get("/api/index").json()["named"]
    assert named == [found["one"], found["two"]]
    for key in ("../secret.json", "one", "/etc/passwd", "", "0" * 15, "g" * 16):
        for path in ("/api/run", "/report", "/api/figures"):
            answer = ask.get(path, params={"key": key})
            assert answer.status_code == 422 and "key of an entry" in answer.json()["detail"]
    for path in ("/api/run", "/report", "/api/figures", "/api/records", "/api/record"):
        answer = ask.get(path, params={"key": "0" * 16})
        assert 400 <= answer.status_code < 500 and "unknown entry" in answer.json()["detail"]


def test_a_run_has_its_name_its_input_and_its_date(ask: httpx.Client) -> None:
    found = {e["name"]: e for e in ask.get("/api/index").json()["entries"]}
    assert sorted(found) == ["one", "two"]
    for name, entry in found.items():
        assert entry["inputs"] == [f"{name}.jsonl"] and entry["kind"] == "run"
        assert 0 <= time.time() - entry["changed"] < 3600


@pytest.mark.parametrize(
    ("path", "query", "says"),
    [
        ("/api/records", {"page": "-1"}, "page must be a whole number"),
        ("/api/records", {"page": "x"}, "page must be a whole number"),
        ("/api/records", {"order": "id"}, "order must be one of: risk, row"),
        ("/api/records", {"verdict": "good"}, "verdict must be one of"),
        ("/api/records", {"find": "x" * 201}, "find must be of at most 200 characters"),
        ("/api/record", {"row": "99"}, "unknown record"),
        ("/api/figures", {}, "not figures of tune"),
    ],
)
def test_what_makes_no_sense_is_refused(
    ask: httpx.Client, path: str, query: dict[str, str], says: str
) -> None:
    key = entries(ask)["one"]
    answer = ask.get(path, params={"key": key, **query})
    assert 400 <= answer.status_code < 500 and says in answer.json()["detail"]


def test_pages_of_records_and_a_comparison(ask: httpx.Client) -> None:
    keys = entries(ask)
    told = ask.get("/api/run", params={"key": keys["one"]}).json()
    assert (told["records"], told["total"], told["live"]) == (4, 4, False)
    by_row = {"key": keys["one"], "order": "row", "page": "7"}
    page = ask.get("/api/records", params=by_row).json()
    assert [r["row"] for r in page["records"]] == [0, 1, 2, 3] and page["page"] == 0
    sides = {"a": keys["one"], "b": keys["two"]}
    end = time.monotonic() + 60
    while "preparing" in (both := ask.get("/api/compare", params={**sides, "only": "all"}).json()):
        assert 0 <= both["preparing"] <= 1 and time.monotonic() < end
    assert both["count"] == both["pairs"] == 3
    assert any("only in one" in note for note in both["notes"])
    assert ask.get("/api/compare", params={**sides, "only": "some"}).status_code == 422
    for path, params in (("/report", {"key": keys["one"]}), ("/comparison", sides)):
        whole = ask.get(path, params=params)
        assert whole.headers["content-type"].startswith("text/html")
        policy = whole.headers["content-security-policy"]
        assert "script-src 'sha256-" in policy and "frame-ancestors 'none'" in policy


@pytest.mark.parametrize(
    ("body", "says"),
    [
        ({"response": " "}, "the answer is empty"),
        ({"question": "Who?"}, "view --llm NAME"),
        ({"response": "It is so.", "llm": "http://evil.example/v1#m"}, "llm"),
        ({"response": "It is so.", "scorers": "factscore(corpus='/etc')"}, "scorers"),
        ({"response": "It is so.", "contexts": "one"}, "contexts"),
        ({"response": 7}, "response"),
    ],
)
def test_a_check_takes_texts_and_nothing_else(
    ask: httpx.Client, body: dict[str, Any], says: str
) -> None:
    answer = ask.post("/api/check", json=body)
    if answer.status_code == 200:  # found out once it was under way
        (step,) = map(json.loads, answer.text.splitlines())
        assert step["event"] == "error" and says in step["error"]
    else:
        assert answer.status_code in (400, 422) and says in answer.text


def test_half_a_character_is_refused(ask: httpx.Client) -> None:
    answer = ask.post(
        "/api/check",
        content=b'{"response": "\\ud800"}',
        headers={"content-type": "application/json"},
    )
    assert answer.status_code == 422


def test_an_answer_without_sources_is_unchecked_with_its_reason(ask: httpx.Client) -> None:
    answer = ask.post("/api/check", json={"response": "It is so. It was so."})
    first, last = map(json.loads, answer.text.splitlines())
    assert first == {"event": "statements", "statements": [[0, 9], [10, 20]]}
    assert (last["event"], last["verdict"], last["risk"]) == ("result", "unchecked", None)
    assert "nothing" in last["why"] or "no contexts" in last["why"]


def test_a_run_whose_input_is_gone_says_so(page_of: Served, tmp_path: Path) -> None:
    run = make_run(tmp_path, rows(3), "gone")
    (tmp_path / "gone.jsonl").unlink()
    with served("view", str(run), "--store", "none", cwd=tmp_path) as other:
        headers = {"authorization": f"Bearer {other.token()}"}
        with httpx.Client(base_url=other.url, headers=headers) as ask:
            (key,) = ask.get("/api/index").json()["named"]
            answer = ask.get("/api/run", params={"key": key})
            assert 400 <= answer.status_code < 500 and "gone.jsonl" in answer.json()["detail"]
