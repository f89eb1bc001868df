"""Foreign text in messages: short, on one line, and printable."""

from __future__ import annotations

import os
from typing import Any

#: Maximum characters of a foreign text, and of an error, in a message.
SHOWN, LONGEST_ERROR = 80, 400


def cut(text: str, longest: int = SHOWN) -> str:
    """Truncate ``text`` with an ellipsis beyond ``longest`` characters."""
    return text if len(text) <= longest else text[: longest - 1] + "…"


def visible(text: str) -> str:
    """Truncate ``text`` to about 80 characters and escape unprintable ones."""
    short = cut(text)
    return short if short.isprintable() else cut(repr(short)[1:-1])


def printable(text: str) -> str:
    """Put ``text`` on one line, with ``?`` for unprintable characters."""
    return "".join(c if c.isprintable() else "?" for c in " ".join(text.split()))


def shown(value: Any) -> str:
    """Format a value for an error message: short and on one line."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return cut(repr(cut(value)), SHOWN + 20)
    if isinstance(value, int):
        return str(value) if value.bit_length() <= 128 else "a very large number"
    if isinstance(value, float):
        return str(value)
    if isinstance(value, (list, tuple)):
        return f"a list of {len(value)}" if value else "an empty list"
    if isinstance(value, dict):
        return f"an object with {named(value)}" if value else "an empty object"
    return f"a value of type {visible(type(value).__name__)}"


def named(keys: Any, most: int = 8) -> str:
    """Quote up to ``most`` names for a message."""
    listed = [cut(shown(k), 40) for k, _ in zip(keys, range(most), strict=False)]
    more = len(keys) - len(listed)
    return ", ".join(listed) + (f" and {more} more" if more > 0 else "")


def display(path: str | os.PathLike[str]) -> str:
    """Format a file name for printing and storing; bytes that are not UTF-8 are escaped."""
    try:
        name = os.fsencode(path).decode("utf-8", "backslashreplace")
    except UnicodeEncodeError:  # such a name cannot be a file
        name = str(path).encode("utf-8", "backslashreplace").decode()
    return name if name.isprintable() else repr(name)[1:-1]


def reason(error: Exception) -> str:
    """Format a library's exception on one line, truncated."""
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return visible(" ".join(str(error).split()) or type(error).__name__)
