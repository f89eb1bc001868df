"""Images in records as ``data:`` URLs: readers open no file or address."""

from __future__ import annotations

import base64
import binascii
import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

#: Maximum size of an image file.
MOST_BYTES = 20 << 20
#: Supported image types by the first bytes of the file.
_MAGIC = (
    (b"\x89PNG\r\n\x1a\n", "png"),
    (b"\xff\xd8\xff", "jpeg"),
    (b"GIF87a", "gif"),
    (b"GIF89a", "gif"),
    (b"BM", "bmp"),
)
TYPES = ("png", "jpeg", "webp", "gif", "bmp")
_NAMED = "PNG, JPEG, WebP, GIF or BMP"
_DATA = re.compile(r"data:image/[\w.+-]{1,40}(?:;[\w=.+-]{1,80}){0,4};base64,", re.IGNORECASE)


@dataclass(frozen=True, eq=True)
class Picture:
    """An image in a model request.

    It prints as a hash of the URL, which is its key in a store.

    Attributes:
        url: ``data:image/TYPE;base64,...``.
    """

    url: str

    @cached_property
    def digest(self) -> str:
        """Hash of the URL, 32 hex digits."""
        return hashlib.blake2b(self.url.encode("utf-8", "replace"), digest_size=16).hexdigest()

    def __repr__(self) -> str:
        return f"Picture({self.digest})"

    def __iter__(self) -> Iterator[str]:
        """Yield no text, so that its bytes do not count as waiting tokens."""
        yield from ()

    def content(self) -> bytes:
        """Return the bytes of the image file.

        Raises:
            ValueError: the URL is not a ``data:`` URL of an image of a supported type.
        """
        return content_of(self.url)


def content_of(url: str) -> bytes:
    """Return the bytes in a ``data:`` URL of an image.

    Raises:
        ValueError: it is not such a URL, is too large, or is not an image of a supported type.
    """
    head = _DATA.match(url)
    if head is None:
        raise ValueError("is no data:image/...;base64, URL")
    if len(url) - head.end() > MOST_BYTES // 3 * 4 + 4:
        raise ValueError(_too_large())
    try:
        content = base64.b64decode(url[head.end() :], validate=True)
    except (binascii.Error, ValueError):
        raise ValueError("is no base64") from None
    check_content(content)
    return content


def url_of(content: bytes) -> str:
    """Return the ``data:`` URL of an image file.

    Raises:
        ValueError: the file is too large, or not an image of a supported type.
    """
    return f"data:image/{check_content(content)};base64,{base64.b64encode(content).decode()}"


def check_content(content: bytes) -> str:
    """Return the type of an image file, detected from its first bytes.

    Raises:
        ValueError: the file is too large, or not an image of a supported type.
    """
    if len(content) > MOST_BYTES:
        raise ValueError(_too_large())
    if not content:
        raise ValueError("is empty")
    if content[:4] == b"RIFF" and content[8:12] == b"WEBP":
        return "webp"
    for magic, kind in _MAGIC:
        if content.startswith(magic):
            return kind
    raise ValueError(f"is no {_NAMED} image")


def _too_large() -> str:
    return f"is an image of more than {MOST_BYTES >> 20} MB"
