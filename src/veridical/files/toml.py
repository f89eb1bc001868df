"""TOML files from any source, with bounded size and depth."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

MOST_BYTES = 1 << 20
_DEEPEST = 256  # parts of a dotted key: the parser's time grows with their square


def read_toml(path: str | Path) -> dict[str, Any]:
    """Return the table in a TOML file.

    Raises:
        OSError: it cannot be read.
        ValueError: it is not TOML, is too large, or its keys are too deep.
    """
    with Path(path).open("rb") as file:
        content = file.read(MOST_BYTES + 1)
    if len(content) > MOST_BYTES:
        raise ValueError(f"it is larger than {MOST_BYTES} bytes")
    return parse_toml(content.decode("utf-8"))


def parse_toml(text: str) -> dict[str, Any]:
    """Return the table in ``text``.

    Raises:
        ValueError: it is not TOML, or its keys are too deep.
    """
    run = 0
    for part in text.split("."):
        run = run + 1 if part and "\n" not in part and "=" not in part else 0
        if run > _DEEPEST:
            raise ValueError(f"a key of more than {_DEEPEST} parts")
    try:
        table: dict[str, Any] = tomllib.loads(text)
    except RecursionError:
        raise ValueError("nested too deep") from None
    return table
