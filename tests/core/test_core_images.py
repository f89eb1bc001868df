"""Images in records are data: URLs of known types and bounded size."""

from __future__ import annotations

import pytest
from image_files import POINT as PNG

from veridical.core import images
from veridical.core.images import Picture, check_content, content_of, url_of


def test_a_file_and_its_url() -> None:
    url = url_of(PNG)
    assert url.startswith("data:image/png;base64,iVBOR")
    assert content_of(url) == Picture(url).content() == PNG
    assert content_of(url.replace("data:image/png", "DATA:image/x-odd;name=a")) == PNG


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        (b"\xff\xd8\xff\xe0", "jpeg"),
        (b"GIF89a..", "gif"),
        (b"RIFF....WEBPVP8 ", "webp"),
        (b"BM....", "bmp"),
    ],
)
def test_types_are_told_by_the_first_bytes(content: bytes, kind: str) -> None:
    assert check_content(content) == kind


@pytest.mark.parametrize(
    ("url", "why"),
    [
        ("", "no data:image"),
        ("picture.png", "no data:image"),
        ("https://host/a.png", "no data:image"),
        ("data:text/html;base64,AAAA", "no data:image"),
        ("data:image/png,AAAA", "no data:image"),
        ("data:image/png;base64,", "is empty"),
        ("data:image/png;base64,AA*A", "no base64"),
        ("data:image/png;base64,AAA", "no base64"),
        ("data:image/png;base64,é", "no base64"),
        ("data:image/svg+xml;base64,PHN2Zy8+", "no PNG, JPEG"),
    ],
)
def test_what_is_no_image_is_refused(url: str, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        content_of(url)


def test_what_is_too_large_is_refused_before_it_is_decoded(monkeypatch: pytest.MonkeyPatch) -> None:
    url = url_of(PNG)
    monkeypatch.setattr(images, "MOST_BYTES", 30)
    with pytest.raises(ValueError, match="more than 0 MB"):
        content_of(url + "A" * 100)
    with pytest.raises(ValueError, match="more than"):
        url_of(PNG)


def test_a_picture_prints_as_a_hash_that_tells_it_from_others() -> None:
    one, other = Picture(url_of(PNG)), Picture(url_of(PNG + b"."))
    assert repr(one) == f"Picture({one.digest})" != repr(other)
    assert one == Picture(url_of(PNG)) and len(repr(one)) < 60
