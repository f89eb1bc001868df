"""What is read of a file, and why of others nothing is."""

from __future__ import annotations

import codecs
import os
import re
import signal
import time
import zlib
from pathlib import Path
from typing import Any

import pytest
from corpus_files import assembled, pdf, stream

from veridical.errors import UsageError
from veridical.retrieval.corpus.documents import Document, decoded, read
from veridical.retrieval.corpus.files import Entry, Skipped, Unreadable, content_hash, listing
from veridical.retrieval.corpus.html import read_html
from veridical.retrieval.corpus.pieces import pieces
from veridical.retrieval.corpus.reader import CutDocument, FileReader


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"plain", "plain"),
        ("naïve \u2019".encode(), "naïve \u2019"),
        (codecs.BOM_UTF8 + "é\r\n".encode(), "é\r\n"),
        (codecs.BOM_UTF16_LE + "é".encode("utf-16-le"), "é"),
        (codecs.BOM_UTF16_BE + "é".encode("utf-16-be"), "é"),
        (codecs.BOM_UTF32_LE + "é".encode("utf-32-le"), "é"),
    ],
)
def test_text_is_decoded_and_otherwise_unaltered(data: bytes, text: str) -> None:
    assert decoded(data) == text


@pytest.mark.parametrize(
    ("data", "declared", "why"),
    [
        ("né".encode("latin-1"), None, "not UTF-8 at byte 1"),
        (b"MZ\x00\x01", None, "binary"),
        (codecs.BOM_UTF16_LE + b"\x00\xd8", None, "UTF-16"),
        (b"x", "no-such", "unknown encoding: no-such"),
        (b"\xff", "utf-8", "not UTF-8"),
        (b"x", "base64", "not readable as base64"),
    ],
)
def test_no_encoding_is_guessed(data: bytes, declared: str | None, why: str) -> None:
    with pytest.raises(Unreadable, match=why):
        decoded(data, declared)


def test_a_page_is_read_as_a_browser_shows_it() -> None:
    markup = """<!doctype html><html><head><title>Ada &amp;
      Co</title><style>p { color: red }</style></head><body><nav>Home</nav>
      <h1>Life</h1><p>She was <b>born</b> in   London.<br>In 1815.
      <ul><li>one<li>two</ul><script>if (1 < 2) alert("<p>no</p>")</script>
      <table><tr><td>a</td><td>b</td></tr><tr><td>c</table>
      <svg><text>no</text></svg><template><p>no</p></template>&#0;&#xD800; end"""
    title, text = read_html(markup)
    assert title == "Ada & Co"
    assert text.split("\n\n") == [
        "Home",
        "Life",
        "She was born in London.\nIn 1815.",
        "one",
        "two",
        "a b",
        "c",
        "\ufffd\ufffd end",
    ]


@pytest.mark.parametrize("markup", ["", "<", "<p", "</p></p>", "<!--", "<svg>x", "&#xFFFFFFFF;"])
def test_broken_markup_is_no_error(markup: str) -> None:
    read_html(markup)


def test_pages_say_their_encoding(tmp_path: Path) -> None:
    path = tmp_path / "a.html"
    path.write_bytes('<meta charset="iso-8859-1"><p>caf\xe9 \x93x\x94'.encode("latin-1"))
    (document,) = read(Entry("a.html", path, "html"))
    assert isinstance(document, Document)
    assert document.text == "café “x”"  # windows-1252, which the web means by that name


@pytest.mark.parametrize("packed", [False, True])
def test_pdf(tmp_path: Path, packed: bool) -> None:
    pytest.importorskip("pypdf")
    path = tmp_path / "a.pdf"
    path.write_bytes(
        pdf("Ada was born\nin London.", "She died (in 1852).", title="Lives", packed=packed)
    )
    (document,) = read(Entry("a.pdf", path, "pdf"))
    assert isinstance(document, Document)
    assert document.title == "Lives"
    assert " ".join(document.text.split()) == "Ada was born in London. She died (in 1852)."
    assert document.text[document.pages[1] :].startswith("She died")


def bomb() -> bytes:
    """A page whose content is 1 GB of blanks, packed twice."""
    packer = zlib.compressobj(9)
    once = b"".join(packer.compress(b" " * 2**20) for _ in range(1024)) + packer.flush()
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [4 0 R] /Count 1 >>",
        stream(zlib.compress(once, 9), b" /Filter [/FlateDecode /FlateDecode]"),
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 9 9] /Contents 3 0 R /Resources << >> >>",
        b"<< >>",
    ]
    return assembled(objects, 5)


@pytest.mark.parametrize(
    ("name", "data", "why"),
    [
        ("a.pdf", b"no pdf", "the signature is missing"),
        ("a.pdf", b"%PDF-1.4\ngarbage", "broken PDF|no text"),
        ("a.pdf", pdf("Ada was born.")[:300], "broken PDF|no text"),
        ("a.pdf", pdf(""), "OCR"),
        ("a.pdf", bomb, "broken PDF|no text|memory"),  # made when it is asked for
        ("a.txt", b"\x00\x01\x02", "binary"),
        ("a.txt", b" \n", "it has no text"),
        ("a.html", b"<script>x</script>", "it has no text"),
        ("a.html", b'<meta charset="klingon">x', "unknown encoding"),
    ],
)
def test_what_cannot_be_read_is_skipped(tmp_path: Path, name: str, data: Any, why: str) -> None:
    pytest.importorskip("pypdf")
    path = tmp_path / name
    path.write_bytes(data if isinstance(data, bytes) else data())
    (entry,) = listing(tmp_path)
    assert isinstance(entry, Entry)
    reader = FileReader()
    try:
        (found,) = reader.read(entry)
        assert isinstance(found, Skipped)
        assert found.name == name
        assert re.search(why, found.reason), found.reason
    finally:
        reader.close()


def test_rows(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(
        b'{"id": "x", "title": "T", "text": "Ada was born."}\n'
        b'{"_id": 7, "contents": "Bob was born."}\n'
        b"\n"
        b'{"text": "Cleo was born."}\n'
        b"{broken\n"
        b'{"id": 1}\n'
        b'{"id": 1, "text": 5}\n'
        b'{"id": true, "text": "x"}\n'
        b'{"text": "\\u0000"}\n'
        b'{"text": "\\ud800"}\n'
        b'["text"]\n'
        b'{"text": " "}\n'
        b'{"text": "\xff"}\n'
    )
    found = list(read(Entry("a.jsonl", path, "rows")))
    assert found[:3] == [
        Document("a.jsonl:x", "T", "Ada was born."),
        Document("a.jsonl:7", "", "Bob was born."),
        Document("a.jsonl:4", "", "Cleo was born."),
    ]
    problems = found[3:]
    assert [p.name for p in problems] == [f"a.jsonl, line {n}" for n in range(5, 14)]
    assert all(isinstance(p, Skipped) and p.reason for p in problems)


def test_listing_stays_inside_and_ends(tmp_path: Path) -> None:
    outside = tmp_path / "secret.txt"
    outside.write_text("secret")
    root = tmp_path / "root"
    (root / "deep").mkdir(parents=True)
    (root / "deep" / "b.md").write_text("b")
    (root / "a.txt").write_text("a")
    (root / ".git").mkdir()
    (root / ".git" / "c.txt").write_text("c")
    (root / "picture.png").write_bytes(b"\x89PNG")
    (root / "loop").symlink_to(root, target_is_directory=True)
    (root / "link.txt").symlink_to(outside)
    (root / "dangling.txt").symlink_to(tmp_path / "nothing")
    (root / "odd\nname.txt").write_text("odd")
    found = {f.name: f for f in listing(root)}
    assert [n for n, f in found.items() if isinstance(f, Entry)] == [
        "a.txt",
        "deep/b.md",
        "odd\\x0aname.txt",
    ]
    reasons = {n: f.reason for n, f in found.items() if isinstance(f, Skipped)}
    assert set(reasons) == {"picture.png", "loop", "link.txt", "dangling.txt"}
    assert reasons["loop"] == reasons["link.txt"] == "it is a link; links are not followed"


def test_what_is_no_plain_file_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.txt")
    (entry,) = listing(tmp_path)
    assert isinstance(entry, Entry)
    with pytest.raises(Unreadable, match="not a regular file"):
        content_hash(entry)
    large = tmp_path / "large.txt"
    with large.open("wb") as file:
        file.truncate(65 << 20)
    with pytest.raises(Unreadable, match="bytes, over the limit"):
        content_hash(Entry("large.txt", large, "text"))
    (tmp_path / "later.txt").symlink_to(large)
    with pytest.raises(Unreadable, match="cannot be opened"):
        content_hash(Entry("later.txt", tmp_path / "later.txt", "text"))
    with pytest.raises(UsageError, match="no such corpus"):
        list(listing(tmp_path / "absent"))
    with pytest.raises(UsageError, match="not supported"):
        (tmp_path / "a.docx").write_bytes(b"PK")
        list(listing(tmp_path / "a.docx"))


def test_a_reader_that_hangs_or_dies_loses_one_file(tmp_path: Path) -> None:
    good = tmp_path / "good.txt"
    good.write_text("Ada was born in London.")
    reader = FileReader(longest=4.0)
    try:
        (cut,) = reader.read(Entry("good.txt", good, "text"))
        assert isinstance(cut, CutDocument) and cut.pieces == [(0, 23)]
        child = reader._child
        assert child is not None
        os.kill(child.pid, signal.SIGSTOP)  # hangs for ever
        started = time.monotonic()
        (found,) = reader.read(Entry("good.txt", good, "text"))
        assert time.monotonic() - started < 20
        assert found == Skipped("good.txt", "reading took longer than 4 s", again=True)
        (cut,) = reader.read(Entry("good.txt", good, "text"))
        assert isinstance(cut, CutDocument)
        child = reader._child
        assert child is not None
        os.kill(child.pid, signal.SIGKILL)
        child.wait()
        (cut,) = reader.read(Entry("good.txt", good, "text"))
        assert isinstance(cut, CutDocument)
    finally:
        reader.close()


@pytest.mark.parametrize(
    "text",
    [
        "",
        " \n ",
        "Ada was born. She died.",
        "x" * 12345,
        ("word " * 3000).strip(),
        "One sentence here. " * 2000,
        "A line of a table | 3 | 4\n" * 9000,
        "para one.\n\n" * 30000,
        "é\u2028" * 5000,
        "\u0600" * 99999 + " a",
    ],
)
def test_pieces_hold_all_of_a_text_but_white_space(text: str) -> None:
    found = list(pieces(text, 500))
    held = bytearray(len(text))
    assert found == sorted(found)
    for start, end in found:
        assert 0 <= start < end <= len(text)
        assert end - start <= 1000
        held[start:end] = b"\x01" * (end - start)
    assert all(h or text[i].isspace() for i, h in enumerate(held))
