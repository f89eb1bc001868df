"""What is to be done, written once: the shards of an input, and how they are scored.

``DEST/shards.json`` says which rows each shard has; ``DEST/options.json``, written by the first
``shard run``, how they are scored. Neither is ever changed.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from veridical.errors import UsageError
from veridical.io import open_source
from veridical.io.source import InputSource
from veridical.scale.place import ShardStore

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

    def open(self) -> InputSource:
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
    place: ShardStore,
    *,
    rows: int = ROWS,
    mapping: Mapping[str, str] | None = None,
    reader: str | None = None,
) -> Manifest:
    """Write the shards of ``inputs`` to a place. Doing so again is harmless.

    Raises:
        UsageError: an input cannot be read or has no rows, or the place holds other shards.
    """
    if "-" in inputs:
        raise UsageError("standard input has no shards: name a file")
    source = open_source(list(inputs), mapping=mapping, reader=reader)
    source.check_mapping()
    total = source.count_all()
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
    place.prepare(SHARDS)
    there = place.fixed(SHARDS, manifest.model_dump_json(indent=1) + "\n")
    if _parsed(place, there.encode()) != manifest:
        raise UsageError(f"{place.name} holds other shards: name a new one")
    return manifest


def read(place: ShardStore) -> Manifest:
    """The shards of a place.

    Raises:
        UsageError: it holds none.
    """
    try:
        return _parsed(place, place.read(SHARDS))
    except FileNotFoundError:
        raise UsageError(
            f"{place.name} holds no shards: veridical shard plan INPUT --out {place.name}"
        ) from None


def _parsed(place: ShardStore, content: bytes) -> Manifest:
    try:
        return Manifest.model_validate_json(content)
    except ValidationError as e:
        where = ".".join(map(str, e.errors()[0]["loc"]))
        raise UsageError(f"{place.name}/{SHARDS} cannot be read ({where})") from None


def settled(place: ShardStore, given: Mapping[str, Any]) -> dict[str, Any]:
    """How the shards are scored: as ``given``, unless a run has settled it before.

    Args:
        given: options by name; those that are not given are not in it.

    Raises:
        UsageError: a run has settled it otherwise.
    """
    text = json.dumps(dict(given), sort_keys=True, indent=1) + "\n"
    stored = place.fixed(OPTIONS, text)
    try:
        known = json.loads(stored)
    except ValueError:
        known = None
    if not isinstance(known, dict):
        raise UsageError(f"{place.name}/{OPTIONS} cannot be read")
    for name, value in given.items():
        if known.get(name) != value:
            had = f"by {name} {known[name]!r}" if name in known else f"without {name}"
            raise UsageError(
                f"{name} {value!r}: {place.name} is scored {had} since its first run; "
                "give no options to go on, or plan another place"
            )
    return known
