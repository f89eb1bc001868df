"""Idempotent export of scores to tracing services."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from veridical.api import fingerprint
from veridical.errors import UsageError
from veridical.integrations.judgement import Judgement, judgement

if TYPE_CHECKING:
    from veridical.core.records import Record
    from veridical.report.results import Results

_NAMESPACE = uuid.uuid5(uuid.NAMESPACE_URL, "urn:veridical:score")


class Push(NamedTuple):
    """Scores of one answer with their destination.

    Attributes:
        places: destination ids by the name of their ``meta`` field.
        identity: the same for the same answer of the same run in every push.
    """

    places: dict[str, str]
    judgement: Judgement
    identity: str

    def id(self, name: str) -> str:
        """Return a UUID for the score of this name."""
        return str(uuid.uuid5(_NAMESPACE, f"{self.identity}|{name}"))


def pushes(results: Results, needed: str, *optional: str) -> Iterator[Push]:
    """Yield the answers of a run that name their destination.

    Args:
        needed: field of ``meta``, or dotted path in it, that an answer must have.
        optional: further fields.

    Raises:
        UsageError: no answer has ``needed``.
    """
    run = fingerprint(results.identity)
    found = 0
    for record, result in results.pairs():
        places = {name: _place(record, name) for name in (needed, *optional)}
        if places[needed] is None:
            continue
        found += 1
        given = {name: place for name, place in places.items() if place is not None}
        yield Push(given, judgement(result), f"{run}|{result.row}|{given[needed]}")
    if not found:
        raise UsageError(
            f"no record has a column {needed!r}, which names the destination of its scores"
        )


def _place(record: Record, name: str) -> str | None:
    value: Any = record.meta.get(name)
    if value is None:
        value = record.meta
        for part in name.split("."):
            value = value.get(part) if isinstance(value, dict) else None
    return value if isinstance(value, str) and value else None
