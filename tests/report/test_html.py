"""The report file, without a browser."""

from __future__ import annotations

import base64
import hashlib
import html.parser
import json
import re
import tracemalloc
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from builders import HOSTILE, assorted, hostile, many, summary

from veridical.core.records import Record
from veridical.core.scores import Result
from veridical.report import html as report
from veridical.report.html import inert_json, write_report


class Page(html.parser.HTMLParser):
    """Elements with their attributes, and the text of scripts and styles."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.raw: list[tuple[str, dict[str, str | None], str]] = []
        self.words: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        tag, attrs = self.elements[-1] if self.elements else ("", {})
        if tag in ("script", "style"):
            self.raw.append((tag, attrs, data))
        self.words.append(data)

    def blocks(self, kind: str) -> list[tuple[int, Any]]:
        return [
            (int(attrs["data-first"] or 0), json.loads(zlib.decompress(base64.b64decode(data))))
            for tag, attrs, data in self.raw
            if attrs.get("data-kind") == kind and data.strip()
        ]


def write(path: Path, pairs: Any = None, head: Any = None, **more: Any) -> Page:
    pairs = assorted() if pairs is None else pairs
    head = summary(list(pairs)) if head is None else head
    write_report(path, iter(pairs), head, **{"title": "A run", "shown": None, **more})
    return Page(path.read_text("utf-8"))


def test_policy_allows_exactly_this_style_and_this_script(tmp_path: Path) -> None:
    page = write(tmp_path / "r.html")
    policy = next(a["content"] for t, a in page.elements if a.get("http-equiv")) or ""
    parts = dict(p.split(" ", 1) for p in policy.split("; "))
    assert parts["default-src"] == "'none'"
    for tag, directive in (("style", "style-src"), ("script", "script-src")):
        running = [data for t, a, data in page.raw if t == tag and "type" not in a and data.strip()]
        assert len(running) == 1
        digest = base64.b64encode(hashlib.sha256(running[0].encode()).digest()).decode()
        assert parts[directive] == f"'sha256-{digest}'"
    assert "unsafe" not in policy and "http" not in policy and "*" not in policy
    names = [t for t, a in page.elements]
    assert names.index("meta") < names.index("style")


def test_one_file_without_links_handlers_or_inline_styles(tmp_path: Path) -> None:
    page = write(tmp_path / "r.html", *hostile(), title=HOSTILE[0], shown=HOSTILE[1])
    for tag, attrs in page.elements:
        assert tag not in {"img", "iframe", "object", "embed", "base", "form[action]"}
        assert not [a for a in attrs if a.startswith("on") or a in ("style", "srcset", "action")]
        for name in ("src", "href"):
            assert (attrs.get(name) or "#").startswith(("#", "data:image/svg+xml,"))
    assert sum(tag == "link" for tag, _ in page.elements) == 1
    assert [p.name for p in tmp_path.iterdir()] == ["r.html"]


def test_the_script_never_makes_markup_from_text() -> None:
    script = "".join(map(report.asset, report.SCRIPTS))
    style = "".join(map(report.asset, report.STYLES))
    assert not re.search(r"innerHTML\s*=|outerHTML|insertAdjacent|document\.write|eval\(", script)
    assert not re.search(r"fetch\(|XMLHttp|WebSocket|import\(|new Function", script)
    assert "</script" not in script.lower() and "<!--" not in script
    assert "</style" not in style.lower()
    assert "url(" not in style


def test_hostile_text_adds_no_element(tmp_path: Path) -> None:
    def tags(page: Page) -> list[str]:
        return [t for t, _ in page.elements]

    pairs, head = hostile()
    evil = write(tmp_path / "evil.html", pairs, head, title=HOSTILE[0], shown=HOSTILE[1])
    plain_text = json.dumps(head)
    for bad in sorted(HOSTILE, key=len, reverse=True):
        plain_text = plain_text.replace(json.dumps(bad)[1:-1], f"calm{HOSTILE.index(bad)}")
    calm = write(tmp_path / "calm.html", pairs, json.loads(plain_text), title="calm", shown="calm")
    assert tags(evil) == tags(calm)
    assert HOSTILE[0] in "".join(evil.words)


def test_record_data_comes_back_whole(tmp_path: Path) -> None:
    pairs = list(many(1100))
    page = write(tmp_path / "r.html", pairs)
    details, index, search = (page.blocks(k) for k in ("detail", "index", "search"))
    assert [first for first, _ in details] == list(range(0, 1100, 32))
    assert [first for first, _ in index] == [first for first, _ in search] == [0, 512, 1024]
    flat = [d for _, items in details for d in items]
    assert [d["response"] for d in flat] == [r.response for r, _ in pairs]
    assert [row[0] for _, items in index for row in items] == list(range(1100))


def test_empty_report(tmp_path: Path) -> None:
    page = write(tmp_path / "r.html", [])
    assert page.blocks("index") == []
    assert "There is no valid record" in "".join(page.words)


def test_summary_is_complete_without_javascript(tmp_path: Path) -> None:
    pairs = list(many(200))
    errors = [{"row": 3, "file": "a.jsonl", "line": 4, "field": None, "error": "not JSON"}]
    head = summary(pairs, row_errors=70, errors=errors)
    page = write(tmp_path / "r.html", pairs, head, shown="the 9 riskiest of 200 records")
    text = re.sub(r"\s+", " ", "".join(page.words))
    for piece in (
        "70 of 270 input rows were rejected",
        "ngram failed on 2 of 200.",
        "no words",
        "first 1 of 70",
        "not JSON",
        "Shown here: the 9 riskiest of 200 records.",
        "all-MiniLM-L6-v2@3f1c",
        "The records need JavaScript",
    ):
        assert piece in text
    assert any(t == "html" and a.get("lang") == "en" for t, a in page.elements)


def test_inputs_tell_what_is_known_of_them(tmp_path: Path) -> None:
    inputs = [{"path": "a.jsonl", "bytes": 1234, "hash": "f00d"}, {"path": "<list>", "bytes": None}]
    page = write(tmp_path / "r.html", [], summary([], inputs=inputs))
    text = re.sub(r"\s+", " ", "".join(page.words))
    assert "a.jsonl · 1,234 bytes · f00d" in text
    assert "<list>" in text


def test_inert_json_has_no_character_a_parser_acts_on() -> None:
    for bad in HOSTILE:
        text = inert_json({bad: bad})
        assert json.loads(text) == {bad: bad}
        assert not set("<>&\u2028\u2029") & set(text)


def test_memory_does_not_grow_with_the_number_of_records(tmp_path: Path) -> None:
    def peak(count: int) -> int:
        tracemalloc.start()
        write_report(tmp_path / "r.html", many(count, 5000), summary([]), title="t", shown=None)
        found = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return found

    peak(10)  # warm caches
    small, large = peak(600), peak(2400)
    assert large < small * 1.1
    assert large < 30_000_000


def test_a_broken_run_leaves_the_old_report(tmp_path: Path) -> None:
    path = tmp_path / "new" / "r.html"
    write(path)
    before = path.read_bytes()

    def broken() -> Iterator[tuple[Record, Result]]:
        yield from many(100)
        raise RuntimeError("the run died")

    with pytest.raises(RuntimeError, match="the run died"):
        write_report(path, broken(), summary([]), title="t", shown=None)
    assert path.read_bytes() == before
    assert list(path.parent.iterdir()) == [path]


def test_a_lone_surrogate_in_a_file_name_is_survived(tmp_path: Path) -> None:
    head = summary([], inputs=[{"path": "bad\udcff.jsonl", "bytes": 1, "rows": 1}])
    assert "bad?.jsonl" in "".join(write(tmp_path / "r.html", [], head).words)
