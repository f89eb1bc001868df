"""Images that rows name: data: URLs, or files in or below the folder of the input file."""

from __future__ import annotations

import io
import json
import os
from pathlib import Path
from typing import Any

import pytest
from image_files import encoded, noise

from veridical.core.images import url_of
from veridical.core.records import Record
from veridical.errors import RowError
from veridical.io import images, open_source
from veridical.io.columns import Columns

pytest.importorskip("PIL")


@pytest.fixture(scope="module")
def png() -> bytes:
    return encoded(noise(8, 8))


@pytest.fixture
def folder(tmp_path: Path, png: bytes) -> Path:
    (tmp_path / "in" / "shots").mkdir(parents=True)
    (tmp_path / "in" / "shots" / "a.png").write_bytes(png)
    (tmp_path / "outside.png").write_bytes(png)
    return tmp_path / "in"


def read(folder: Path, *rows: dict[str, Any], name: str = "rows.jsonl") -> list[Any]:
    path = folder / name
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    return list(open_source(path).rows())


def test_files_beside_the_input_become_data_urls(folder: Path, png: bytes) -> None:
    row = {
        "prompt": [{"role": "user", "content": [{"type": "text", "text": "an apple"}]}],
        "answer": {"image": "shots/a.png"},
        "sampled_responses": [{"image": "./shots/a.png"}, {"image": url_of(png)}, "text"],
    }
    (record,) = read(folder, row)
    assert isinstance(record, Record)
    assert (record.response, record.response_image) == ("", url_of(png))
    assert [s.image for s in record.samples] == [url_of(png), url_of(png), None]
    assert list(record.need_images(response=True)) == [
        *("response.image", "samples[0].image", "samples[1].image")
    ]


@pytest.mark.parametrize(
    ("image", "why"),
    [
        ("shots/b.png", "no such file next to the input"),
        ("shots", "no such file next to the input"),
        ("", "no such file next to the input"),
        ("../outside.png", "outside the folder of the input"),
        ("shots/../../outside.png", "outside the folder of the input"),
        ("/etc/passwd", "outside the folder of the input"),
        ("linked.png", "outside the folder of the input"),
        ("rows.jsonl", "is no PNG, JPEG"),
        ("pipe.png", "no such file next to the input"),
        ("a\x00b.png", "."),
        ("https://host/a.png", "is an address, and addresses are not fetched"),
        ("file:///etc/passwd", "is an address, and addresses are not fetched"),
        ("data:image/png;base64,AAAA", "is no PNG, JPEG"),
        ("data:text/plain,hello", "no data:image/"),
        ("x" * 5000, "cannot be read"),
        (3, "must be text, got 3"),
    ],
)
def test_what_may_not_be_named_is_a_row_error_with_its_place(
    folder: Path, image: Any, why: str
) -> None:
    (folder / "linked.png").symlink_to(folder.parent / "outside.png")
    os.mkfifo(folder / "pipe.png")
    good = {"response": "a", "samples": ["b"]}
    in_samples, in_response, last = read(
        folder,
        {"response": "a", "sampled_responses": ["b", {"image": image}]},
        {"output": {"image": image}},
        good,
    )
    assert isinstance(in_samples, RowError) and isinstance(in_response, RowError)
    assert in_samples.field == "sampled_responses[1].image" and in_samples.line == 1
    assert in_response.field == "output.image"
    for error in (in_samples, in_response):
        assert error.error and (why == "." or why in error.error)
    assert isinstance(last, Record)


def test_no_file_of_rows_that_come_from_no_file(
    folder: Path, monkeypatch: pytest.MonkeyPatch, png: bytes
) -> None:
    """So a server's client, and whoever pipes rows in, can have no file opened."""
    monkeypatch.chdir(folder)
    row = {"response": "a", "samples": [{"image": "shots/a.png"}]}
    (error,) = open_source([row]).rows()
    assert isinstance(error, RowError) and error.field == "samples[0].image"
    assert "do not come from a file next to it" in error.error
    line = json.dumps(row).encode() + b"\n"
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(2 * line)))
    spooled = open_source("-").spool(folder / "kept.jsonl")
    error, _ = spooled.rows()
    assert isinstance(error, RowError) and "do not come from a file next to it" in error.error
    (record,) = open_source([{**row, "samples": [{"image": url_of(png)}]}]).rows()
    assert isinstance(record, Record) and record.samples[0].image == url_of(png)


def test_a_large_file_is_not_read_whole(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("veridical.core.images.MOST_BYTES", 50)
    monkeypatch.setattr(images, "MOST_BYTES", 50)
    (error,) = read(folder, {"response": {"image": "shots/a.png"}})
    assert isinstance(error, RowError) and "is an image of more than" in error.error


@pytest.mark.parametrize(
    ("response", "said"),
    [
        ({}, "must be text, got an empty object"),
        ({"text": None, "image": None}, "needs 'text' or 'image'"),
        ({"text": 3, "image": None}, "must be text, got 3"),
        ({"text": "a"}, "must be text, got an object with 'text'"),
        ({"image": "a.png", "id": 1}, "has more than 'text' and 'image'"),
    ],
)
def test_a_response_is_text_or_an_image(response: Any, said: str) -> None:
    (error,) = open_source([{"response": response}]).rows()
    assert isinstance(error, RowError) and error.field == "response" and said in error.error


def test_a_response_as_an_object(png: bytes) -> None:
    read = Columns().record
    assert read({"response": {"text": "a", "image": None}}, 0).response == "a"
    both = read({"response": {"text": "a", "image": url_of(png)}}, 0)
    assert (both.response, both.response_image) == ("a", url_of(png))


def test_records_without_images_are_what_they_were() -> None:
    """Digests of records, and so runs that were made earlier, stay good."""
    record = Record(response="a", samples=["b"])
    assert "response_image" not in record.model_dump()
    assert record.digest() == "f0b093f71e634066012b06906d95894a"


def test_digests_tell_images_apart_and_texts_may_be_read_without_them(png: bytes) -> None:
    record = Record(response="", response_image=url_of(png), samples=["a", {"image": url_of(png)}])
    other = record.model_copy(update={"response_image": url_of(png + b".")})
    assert record.digest() == record.model_copy().digest() != other.digest()
    bare = record.without_images()
    assert (bare.response_image, bare.samples[1].image) == ("data:", "data:")
    assert bare.sample_texts == ["a"] and bare.digest() != record.digest()
    plain = Record(response="a", samples=["b"])
    assert plain.without_images() is plain


def test_rows_with_large_images_are_read_few_at_once(png: bytes) -> None:
    from veridical.engine import run

    large = Record(response="", response_image=url_of(png) + "A" * run._TAKEN_IMAGES)
    rows = iter([large, large, Record(response="a"), Record(response="b")])
    assert [len(run._take(rows, 64)) for _ in range(3)] == [1, 1, 2]
