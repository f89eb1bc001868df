"""Whom the page of a review answers: its Host, its token, its cookie, and the empty shell."""

from __future__ import annotations

import re
from collections.abc import Iterator

import httpx
import pytest
from places import ROOT
from review_pages import Served, served
from review_runs import make_run, rows

pytest.importorskip("fastapi")

DATA = ("me", "queue", "next", "answer?row=0", "agreement", "estimate")
SAID = ("label", "done", "comment", "adjudicate")


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("routes")
    run = make_run(folder, [{**row, "response": "A secret river. It is."} for row in rows(6)])
    with served("review", str(run), "--annotators", "ann,ben", cwd=folder) as page:
        yield page


def bearer(page: Served, who: str) -> dict[str, str]:
    return {"authorization": f"Bearer {page.token(who)}"}


@pytest.mark.parametrize("headers", [{}, {"authorization": "Bearer no"}, {"cookie": "veridical=x"}])
def test_no_data_without_the_token(page: Served, headers: dict[str, str]) -> None:
    for name in DATA:
        answer = httpx.get(f"{page.url}/api/{name}", headers=headers)
        assert answer.status_code == 401 and "secret" not in answer.text, name
    for name in SAID:
        body = {"row": 0, "unit": 0, "label": "supported"}
        answer = httpx.post(f"{page.url}/api/{name}", json=body, headers=headers)
        assert answer.status_code == 401, name
    assert httpx.post(f"{page.url}/api/session", json={"token": "no"}).status_code == 401


def test_a_foreign_host_is_refused_with_the_token_too(page: Served) -> None:
    for path in ("/", "/api/me", "/static/review.js"):
        headers = {"host": "evil.example", **bearer(page, "ann")}
        assert 400 <= httpx.get(f"{page.url}{path}", headers=headers).status_code < 500
    assert httpx.get(f"{page.url}/api/me", headers=bearer(page, "ann")).status_code == 200


def test_the_shell_holds_nothing_and_allows_own_files_alone(page: Served) -> None:
    shell = httpx.get(page.url)
    policy = shell.headers["content-security-policy"]
    assert shell.status_code == 200 and "secret" not in shell.text
    assert page.token("ann") not in shell.text and "river" not in shell.text
    assert "default-src 'none'" in policy and "script-src 'self'" in policy
    assert "unsafe" not in policy and "http:" not in policy and "*" not in policy
    assert (
        "http://" not in shell.text.replace("http://www.w3.org/", "") and "//cdn" not in shell.text
    )


def test_the_token_becomes_a_cookie_that_no_other_site_sends(page: Served) -> None:
    with httpx.Client(base_url=page.url) as client:
        answer = client.post("/api/session", json={"token": page.token("ben")})
        cookie = answer.headers["set-cookie"]
        assert "SameSite=Strict" in cookie and "HttpOnly" in cookie
        me = client.get("/api/me").json()
        assert me["who"] == "ben" and me["blind"] and not me["adjudicates"]


def test_each_token_is_one_persons(page: Served) -> None:
    ann, judge = bearer(page, "ann"), bearer(page, "adjudicator")
    body = {"row": 0, "unit": 0, "label": "supported"}
    assert httpx.post(f"{page.url}/api/label", json=body, headers=judge).status_code == 422
    assert httpx.get(f"{page.url}/api/agreement", headers=ann).status_code == 403
    assert httpx.get(f"{page.url}/api/agreement", headers=judge).status_code == 200


@pytest.mark.parametrize(
    "path, body, told",
    [
        ("label", {"row": 0, "unit": 0, "label": "true"}, "label"),
        ("label", {"row": 0, "unit": 0, "label": "supported", "who": "ben"}, "who"),
        ("label", {"row": -1, "unit": 0, "label": "supported"}, "row"),
        ("label", {"row": 99, "unit": 0, "label": "supported"}, "row 99"),
        ("done", {"row": "0"}, "row"),
        ("done", {"row": 5}, "statements have no label"),
        ("comment", {"row": 0, "comment": 3}, "comment"),
    ],
)
def test_what_a_page_may_not_say_is_refused_with_its_field(
    page: Served, path: str, body: dict[str, object], told: str
) -> None:
    answer = httpx.post(f"{page.url}/api/{path}", json=body, headers=bearer(page, "ann"))
    assert answer.status_code == 422 and told in answer.text, answer.text


def test_the_page_listens_at_a_loopback_address(page: Served) -> None:
    assert page.url.startswith(("http://127.0.0.1:", "http://localhost:"))
    assert page.links["ann"] == f"{page.url}/#token={page.token('ann')}"  # never sent to anyone


def test_labels_have_one_wording(page: Served) -> None:
    """That of the buttons: in the list of keys, in the agreement and in the documentation."""
    script = httpx.get(f"{page.url}/static/agreement.js").text
    buttons = re.findall(r'^  \["\w+", "(\d)", "([^"]+)"', script, re.MULTILINE)
    assert [key for key, _ in buttons] == ["1", "2", "3", "0"]
    words = [word for _, word in buttons]
    shell = httpx.get(page.url).text
    assert f"<dd>{', '.join(words)}</dd>" in shell
    guide = (ROOT / "docs" / "review.md").read_text("utf-8")
    assert f"{', '.join(words[:3])} or {words[3]}." in guide
    static = ROOT / "src" / "veridical" / "serve" / "pages" / "static"
    for path in (*static.glob("*.js"), *static.glob("*.html"), ROOT / "docs" / "review.md"):
        assert not re.search(r"says nothing|not a claim", path.read_text("utf-8"), re.IGNORECASE)
