"""Claims with a label and the texts that they were judged by.

Labels are human, or a checker's.
"""

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
from veridical.core.registry import REGISTRY, BoundScorer
from veridical.core.scores import Result, Score
from veridical.engine.engine import Engine
from veridical.errors import RowError, UsageError, option_named
from veridical.io import open_source
from veridical.review.triplets import SETTINGS
from veridical.text.display import display
from veridical_lab.bench.datasets import refchecker
from veridical_lab.bench.datasets.suite import BadItem

#: (head, relation, tail).
Triplet: TypeAlias = tuple[str, str, str]
#: Checker of claims without human labels: by meaning only, because shared words would favour claims
#: that copy.
CHECKER = "claims(against=contexts,extractor=triplets,checker=nli)"
#: Origin of human labels.
PEOPLE = "people"
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
class JudgedClaims:
    """Claims and the origin ``by`` of their labels; ``left_out`` has the reasons of omissions."""

    claims: list[JudgedClaim]
    by: str
    left_out: dict[str, int]


@dataclass(frozen=True)
class Unjudged:
    """Records whose claims are to be labelled by :data:`CHECKER`; ``left_out`` has omissions."""

    records: list[Record]
    left_out: dict[str, int]


def judged_claims(
    path: Path,
    engine: Engine,
    watch: Watch,
    *,
    limit: int | None = None,
    mapping: Mapping[str, str] | None = None,
    reader: str | None = None,
) -> JudgedClaims:
    """Return the claims of RefChecker's annotations with human labels.

    For other records: the triplets of their responses, labelled by :data:`CHECKER` with their
    contexts.

    Args:
        path: annotations with their ``references.jsonl``, or records with contexts.
        limit: maximum number of rows.
        mapping, reader: of records, as of :func:`veridical.check`.

    Raises:
        UsageError: an option of records is set for annotations, or nothing can be judged: no
            contexts, no triplets.
    """
    found = claims_in(path, limit=limit, mapping=mapping, reader=reader)
    if isinstance(found, Unjudged):
        found = _by_checker(found, engine, watch)
    refuse_none(found, path)
    return found


def claims_in(
    path: Path,
    *,
    limit: int | None = None,
    mapping: Mapping[str, str] | None = None,
    reader: str | None = None,
) -> JudgedClaims | Unjudged:
    """Return the input of :func:`judged_claims`: claims with human labels, or records.

    Raises:
        UsageError: an option of records is set for annotations.
    """
    if refchecker.is_there(path) and reader in (None, "refchecker"):
        if mapping:
            raise UsageError(f"{display(path)} are annotations: they take no {option_named('map')}")
        return _by_people(path, limit)
    rows = open_source(path, mapping=mapping, reader=reader).rows()
    return _with_contexts(islice(rows, limit))


def refuse_none(judged: JudgedClaims, path: Path) -> None:
    """Check that there are claims.

    Raises:
        UsageError: there is no claim.
    """
    if judged.claims:
        return
    lacking = "contexts, or no triplet was found in them"
    if judged.by == PEOPLE:
        lacking = "references: `veridical study refchecker references` makes references.jsonl"
    why = "; ".join(f"{n} {what}" for what, n in judged.left_out.items())
    raise UsageError(f"{display(path)}: no claim has {lacking} ({why or 'no rows'})")


def _by_people(path: Path, limit: int | None) -> JudgedClaims:
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
    return JudgedClaims(claims, PEOPLE, dict(left_out))


def _with_contexts(rows: Iterable[Record | RowError]) -> Unjudged:
    records: list[Record] = []
    left_out: Counter[str] = Counter()
    for row in rows:
        if isinstance(row, RowError):
            left_out[_UNREAD] += 1
        elif not row.contexts:
            left_out["records without contexts"] += 1
        else:
            records.append(row)
    return Unjudged(records, dict(left_out))


def checker() -> BoundScorer:
    """Return the scorer that finds and labels the claims of records."""
    (bound,) = REGISTRY.parse(CHECKER)
    return bound


def _by_checker(unjudged: Unjudged, engine: Engine, watch: Watch) -> JudgedClaims:
    records, left_out = unjudged.records, Counter(unjudged.left_out)
    bound = checker()
    if not records:
        return JudgedClaims([], bound.key, dict(left_out))
    claims = []
    results = watch("claims", Job(records, [bound], engine=engine))
    for record, result in zip(records, results, strict=True):
        score = result.scores.get(bound.key)
        claims += [claim_of(record, result.row, *one) for one in labelled(score)]
        if score is None or score.status == "failed":
            left_out["records that failed"] += 1
    return JudgedClaims(claims, bound.key, dict(left_out))


def claim_of(record: Record, row: int, triplet: Triplet, label: str) -> JudgedClaim:
    """Return a claim of the record number ``row``."""
    return JudgedClaim(str(row), "all", triplet, label, tuple(c.text for c in record.contexts))


def labelled(score: Score | None) -> list[tuple[Triplet, str]]:
    """Return the triplets of a score of ``claims``, each with its label."""
    if score is None or score.status != "scored" or not isinstance(score.raw, dict):
        return []
    found = []
    for claim, unit in zip(score.raw.get("claims", ()), score.units, strict=True):
        if claim.get("triplet") and unit.label in LABELS:
            head, relation, tail = claim["triplet"]
            found.append(((head, relation, tail), unit.label))
    return found


def by_part(claims: Sequence[JudgedClaim]) -> dict[str, list[JudgedClaim]]:
    """Group the claims by part, in the order of the settings."""
    parts = [*SETTINGS.values(), "all"]
    found: dict[str, list[JudgedClaim]] = {part: [] for part in parts}
    for claim in claims:
        found[claim.part].append(claim)
    return {part: of for part, of in found.items() if of}


def responses_of(claims: Sequence[JudgedClaim]) -> NDArray[np.int64]:
    """Return the number (n,) of each claim's response, for resampling."""
    numbers = {response: i for i, response in enumerate(dict.fromkeys(c.response for c in claims))}
    return np.array([numbers[claim.response] for claim in claims], np.int64)
