"""Manifest of a sharded run: shards of the input, and scoring options.

``DEST/shards.json`` lists the rows of each shard. ``DEST/options.json``, written by the first
``shard run``, holds the scoring options. Neither is ever changed.
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
#: Default number of records per shard.
ROWS = 50_000


class Shard(BaseModel):
    """Rows ``start`` to ``stop`` (exclusive) of the whole input."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    index: int = Field(ge=0)
    start: int = Field(ge=0)
    stop: int = Field(ge=0)

    @property
    def name(self) -> str:
        """Return the base name of its files."""
        return f"{self.index:06d}"


class Manifest(BaseModel):
    """Shards of an input.

    Attributes:
        inputs: the files, as named by the user.
        fingerprint: of their content; a run on other content is refused.
        mapping: record field -> column, for unusual columns.
        reader: name of a published format, or None.
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
        """Return all shards, in input order."""
        starts = range(0, self.total, self.rows)
        return [
            Shard(index=i, start=start, stop=min(start + self.rows, self.total))
            for i, start in enumerate(starts)
        ]

    def shard(self, index: int) -> Shard:
        """Return one shard.

        Raises:
            UsageError: it does not exist.
        """
        shards = self.shards
        if not 0 <= index < len(shards):
            raise UsageError(f"--index must be from 0 to {len(shards) - 1}, not {index}")
        return shards[index]

    def open(self) -> InputSource:
        """Open the whole input, as it was when the shards were planned.

        Raises:
            UsageError: a file is missing or has changed.
        """
        source = open_source(self.inputs, mapping=self.mapping or None, reader=self.reader)
        if source.fingerprint() != self.fingerprint:
            raise UsageError(
                f"{', '.join(self.inputs)}: the input has changed since its shards were "
                "planned; plan again"
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
    """Write the shards of ``inputs`` to a place. Repeated calls are harmless.

    Raises:
        UsageError: an input is unreadable or empty, or the place contains other shards.
    """
    if "-" in inputs:
        raise UsageError("standard input cannot be split into shards; name a file")
    source = open_source(list(inputs), mapping=mapping, reader=reader)
    source.check_mapping()
    total = source.count_all()
    if not total:
        raise UsageError(f"{', '.join(inputs)}: no rows")
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
        raise UsageError(f"{place.name} contains other shards; choose a new --out")
    return manifest


def read(place: ShardStore) -> Manifest:
    """Read the shards of a place.

    Raises:
        UsageError: it contains no shards.
    """
    try:
        return _parsed(place, place.read(SHARDS))
    except FileNotFoundError:
        raise UsageError(
            f"{place.name} contains no shards; run veridical shard plan INPUT --out {place.name}"
        ) from None


def _parsed(place: ShardStore, content: bytes) -> Manifest:
    try:
        return Manifest.model_validate_json(content)
    except ValidationError as e:
        where = ".".join(map(str, e.errors()[0]["loc"]))
        raise UsageError(f"{place.name}/{SHARDS} cannot be read ({where})") from None


def settled(place: ShardStore, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the scoring options: those of the first run, else ``given``.

    Args:
        given: options by name, only those set by the user.

    Raises:
        UsageError: the first run had other options.
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
            had = (
                f"scored with {name} {known[name]!r}"
                if name in known
                else (f"scored without {name}")
            )
            raise UsageError(
                f"{name} {value!r}: the first run of {place.name} was {had}; "
                "omit the option, or plan another --out"
            )
    return known
