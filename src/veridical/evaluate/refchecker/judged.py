"""Claims with a label and the texts that they were judged by: people's, or a checker's."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from veridical.api import Job
from veridical.core.protocols import LABELS
from veridical.core.records import Record
from veridical.core.registry import REGISTRY
from veridical.core.scores import Result, Score
from veridical.engine.engine import Engine
from veridical.errors import RowError, UsageError, option_named
from veridical.evaluate.datasets import refchecker
from veridical.evaluate.datasets.suite import BadItem
from veridical.io import open_source
from veridical.text.display import display

#: (head, relation, tail).
Triplet: TypeAlias = tuple[str, str, str]
#: What labels claims that people have not: by meaning alone, as shared words would favour claims
#: that copy.
CHECKER = "claims(against=contexts,extractor=triplets,checker=nli)"
#: Resamples behind each interval.
REPLICATES = 1000
_UNREAD = "rows that cannot be read"
#: Waits for a job, showing how far it is.
Watch: TypeAlias = Callable[[str, Job], Iterator[Result]]


@dataclass(frozen=True)
class JudgedClaim:
    """A triplet of a response.

    Attributes:
        response: which response it is from; claims of one depend on each other.
        part: the setting, or ``all``.
        label: one of :data:`~veridical.core.protocols.LABELS`.
        contexts: what it was judged by.
    """

    response: str
    part: str
    triplet: Triplet
    label: str
    contexts: tuple[str, ...]


@dataclass(frozen=True)
class Judged:
    """Claims and ``by`` whom they are labelled; ``left_out`` tells why some are missing."""

    claims: list[JudgedClaim]
    by: str
    left_out: dict[str, int]


def judged_claims(
    path: Path,
    engine: Engine,
    watch: Watch,
    *,
    limit: int | None = None,
    mapping: Mapping[str, str] | None = None,
    reader: str | None = None,
) -> Judged:
    """The claims of RefChecker's annotations, as people labelled them; of other records, the
    triplets of their responses as :data:`CHECKER` labels them by their contexts.

    Args:
        path: annotations with their ``references.jsonl``, or records with contexts.
        limit: take the first so many rows.
        mapping, reader: of records, as of :func:`veridical.check`.

    Raises:
        UsageError: an option of records is set beside annotations, or nothing can be judged there:
            no contexts, no triplets.
    """
    if refchecker.is_there(path) and reader in (None, "refchecker"):
        if mapping:
            raise UsageError(f"{display(path)} are annotations: they take no {option_named('map')}")
        judged = _by_people(path, limit)
        lacking = "references: `veridical study refchecker references` makes references.jsonl"
    else:
        rows = open_source(path, mapping=mapping, reader=reader).rows()
        judged = _by_checker(islice(rows, limit), engine, watch)
        lacking = "contexts, or no triplet was found in them"
    if not judged.claims:
        why = "; ".join(f"{n} {what}" for what, n in judged.left_out.items())
        raise UsageError(f"{display(path)}: no claim has {lacking} ({why or 'no rows'})")
    return judged


def _by_people(path: Path, limit: int | None) -> Judged:
    claims: list[JudgedClaim] = []
    left_out: Counter[str] = Counter()
    for item in islice(refchecker.items(path), limit):
        if isinstance(item, BadItem):
            left_out[_UNREAD] += 1
        elif item.record.label is None:
            left_out["bad triplets"] += 1
        elif not any(c.text for c in item.record.contexts):
            left_out["claims without a reference"] += 1
        else:
            head, relation, tail = item.record.meta["claims"][0]
            claims.append(
                JudgedClaim(
                    f"{item.part}/{item.group}/{item.facets['model']}",
                    item.part,
                    (head, relation, tail),
                    LABELS[round(2 * item.record.label)],
                    tuple(c.text for c in item.record.contexts),
                )
            )
    return Judged(claims, "people", dict(left_out))


def _by_checker(rows: Iterable[Record | RowError], engine: Engine, watch: Watch) -> Judged:
    records: list[Record] = []
    left_out: Counter[str] = Counter()
    for row in rows:
        if isinstance(row, RowError):
            left_out[_UNREAD] += 1
        elif not row.contexts:
            left_out["records without contexts"] += 1
        else:
            records.append(row)
    if not records:
        return Judged([], CHECKER, dict(left_out))
    (bound,) = REGISTRY.parse(CHECKER)
    claims = []
    results = watch("claims", Job(records, [bound], engine=engine))
    for record, result in zip(records, results, strict=True):
        score = result.scores.get(bound.key)
        contexts = tuple(c.text for c in record.contexts)
        for triplet, label in labelled(score):
            claims.append(JudgedClaim(str(result.row), "all", triplet, label, contexts))
        if score is None or score.status == "failed":
            left_out["records that failed"] += 1
    return Judged(claims, bound.key, dict(left_out))


def labelled(score: Score | None) -> list[tuple[Triplet, str]]:
    """The triplets of a score of ``claims``, each with its label."""
    if score is None or score.status != "scored" or not isinstance(score.raw, dict):
        return []
    found = []
    for claim, unit in zip(score.raw.get("claims", ()), score.units, strict=True):
        if claim.get("triplet") and unit.label in LABELS:
            head, relation, tail = claim["triplet"]
            found.append(((head, relation, tail), unit.label))
    return found


def by_part(claims: Sequence[JudgedClaim]) -> dict[str, list[JudgedClaim]]:
    """The claims of each part, in the order of the settings."""
    parts = [*refchecker.SETTINGS.values(), "all"]
    found: dict[str, list[JudgedClaim]] = {part: [] for part in parts}
    for claim in claims:
        found[claim.part].append(claim)
    return {part: of for part, of in found.items() if of}


def responses_of(claims: Sequence[JudgedClaim]) -> NDArray[np.int64]:
    """(n,) the number of each claim's response, for resampling."""
    numbers = {response: i for i, response in enumerate(dict.fromkeys(c.response for c in claims))}
    return np.array([numbers[claim.response] for claim in claims], np.int64)
