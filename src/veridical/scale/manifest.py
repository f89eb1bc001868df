"""What is to be done, written once: the shards of an input, and how they are scored.

``DEST/shards.json`` says which rows each shard has; ``DEST/options.json``, written by the first
``shard run``, how they are scored. Neither is ever changed.
"""

from __future__ import annotations

import json
import os
import secrets
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from veridical.core.records import Record
from veridical.errors import RowError, UsageError
from veridical.files.atomic import write_atomic
from veridical.io import open_source
from veridical.io.source import Source

SHARDS, OPTIONS = "shards.json", "options.json"
#: Records of a shard unless said otherwise.
ROWS = 50_000


class Shard(BaseModel):
    """Rows ``start`` to ``stop`` (exclusive) of the whole input."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    index: int = Field(ge=0)
    start: int = Field(ge=0)
    stop: int = Field(ge=0)

    @property
    def name(self) -> str:
        """What its files are called by."""
        return f"{self.index:06d}"


class Manifest(BaseModel):
    """The shards of an input.

    Attributes:
        inputs: the files, as they were named.
        fingerprint: of their content; a run on another one is refused.
        mapping: record field -> column, where it is not the usual one.
        reader: name of a published shape, or None.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    version: int = 1
    inputs: list[str] = Field(min_length=1)
    fingerprint: str
    mapping: dict[str, str] = {}
    reader: str | None = None
    rows: int = Field(ge=1)
    total: int = Field(ge=1)

    @property
    def shards(self) -> list[Shard]:
        """All of them, in the order of the input."""
        starts = range(0, self.total, self.rows)
        return [
            Shard(index=i, start=start, stop=min(start + self.rows, self.total))
            for i, start in enumerate(starts)
        ]

    def shard(self, index: int) -> Shard:
        """
        Raises:
            UsageError: there is no such shard.
        """
        shards = self.shards
        if not 0 <= index < len(shards):
            raise UsageError(f"--index {index}: there are {len(shards)} shards, from 0")
        return shards[index]

    def open(self) -> Source:
        """The whole input, as it was when the shards were planned.

        Raises:
            UsageError: a file is not there or has changed.
        """
        source = open_source(self.inputs, mapping=self.mapping or None, reader=self.reader)
        if source.fingerprint() != self.fingerprint:
            raise UsageError(
                f"{', '.join(self.inputs)}: the input has changed since its shards were planned"
            )
        return source


def plan(
    inputs: Sequence[str],
    dest: Path,
    *,
    rows: int = ROWS,
    mapping: Mapping[str, str] | None = None,
    reader: str | None = None,
) -> Manifest:
    """Write the shards of ``inputs`` to the folder ``dest``. Doing so again is harmless.

    Raises:
        UsageError: an input cannot be read or has no rows, or ``dest`` holds other shards.
    """
    if "-" in inputs:
        raise UsageError("standard input has no shards: name a file")
    source = open_source(list(inputs), mapping=mapping, reader=reader)
    source.check_mapping()
    total = source.count()
    if total is None or reader is not None:
        total = sum(isinstance(item, (Record, RowError)) for item in source.rows())
    if not total:
        raise UsageError(f"{', '.join(inputs)}: there are no rows")
    manifest = Manifest(
        inputs=list(inputs),
        fingerprint=source.fingerprint(),
        mapping=dict(mapping or {}),
        reader=reader,
        rows=rows,
        total=total,
    )
    try:
        dest.mkdir(parents=True, exist_ok=True)
        strange = next((p.name for p in dest.iterdir() if p.name != SHARDS), None)
    except OSError as e:
        raise UsageError(f"{dest}: {e.strerror}") from None
    if not (dest / SHARDS).exists() and strange is not None:
        raise UsageError(f"{dest} is not empty (it holds {strange!r}): name a new folder")
    there = fixed(dest / SHARDS, manifest.model_dump_json(indent=1) + "\n")
    if Manifest.model_validate_json(there) != manifest:
        raise UsageError(f"{dest} holds other shards: name a new folder")
    return manifest


def read(dest: Path) -> Manifest:
    """The shards of a folder.

    Raises:
        UsageError: it holds none.
    """
    try:
        return Manifest.model_validate_json((dest / SHARDS).read_bytes())
    except FileNotFoundError:
        raise UsageError(
            f"{dest} holds no shards: veridical shard plan INPUT --out {dest}"
        ) from None
    except OSError as e:
        raise UsageError(f"{dest}: {e.strerror}") from None
    except ValidationError as e:
        where = ".".join(map(str, e.errors()[0]["loc"]))
        raise UsageError(f"{dest / SHARDS} cannot be read ({where})") from None


def fixed(path: Path, text: str) -> str:
    """Give the new file ``path`` the content ``text``, whole, unless it is there: its content.

    Of several processes that do so at once one wins.

    Raises:
        UsageError: it can be neither written nor read.
    """
    draft = path.with_name(f".{path.name}.{secrets.token_hex(8)}.tmp")
    try:
        if not path.exists():
            write_atomic(draft, text, private=True)
            try:
                os.link(draft, path)  # fails where another was quicker
            except FileExistsError:
                pass
            finally:
                draft.unlink(missing_ok=True)
        return path.read_text("utf-8")
    except OSError as e:
        raise UsageError(f"cannot write {path}: {e.strerror}") from None


def settled(dest: Path, given: Mapping[str, Any]) -> dict[str, Any]:
    """How the shards of ``dest`` are scored: as ``given``, unless a run has settled it before.

    Args:
        given: options by name; those that are not given are not in it.

    Raises:
        UsageError: a run has settled it otherwise.
    """
    text = json.dumps(dict(given), sort_keys=True, indent=1) + "\n"
    stored = fixed(dest / OPTIONS, text)
    try:
        known = json.loads(stored)
    except ValueError:
        known = None
    if not isinstance(known, dict):
        raise UsageError(f"{dest / OPTIONS} cannot be read")
    for name, value in given.items():
        if known.get(name) != value:
            had = f"by {name} {known[name]!r}" if name in known else f"without {name}"
            raise UsageError(
                f"{name} {value!r}: {dest} is scored {had} since its first run; "
                "give no options to go on, or plan another folder"
            )
    return known
