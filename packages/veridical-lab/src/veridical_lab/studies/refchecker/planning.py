"""Plan of RefChecker's filter and studies, before any run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from veridical.claims.api import extract
from veridical.core.protocols import LABELS
from veridical.core.registry import BoundScorer
from veridical.engine.engine import Engine
from veridical.engine.run import Task
from veridical.errors import NotApplicable
from veridical.run.options import SpeedOptions
from veridical.run.writing import of_scoring, of_seconds, summed, total_of
from veridical_lab.studies.refchecker import filtering
from veridical_lab.studies.refchecker.judged import (
    JudgedClaim,
    JudgedClaims,
    Unjudged,
    checker,
    claim_of,
    claims_in,
    refuse_none,
)
from veridical_lab.studies.refchecker.masking import masked_claims, masked_records

_AGAIN = ("calls", "tokens_in", "tokens_out", "cost")


def plan_filter(
    rows: Iterable[dict[str, Any]], engine: Engine, speeds: SpeedOptions
) -> dict[str, Any]:
    """Return the plan of :func:`~veridical_lab.studies.refchecker.filtering.filter_questions`.

    In the form of :func:`plan_masked`; ``size`` has the questions.
    """
    judges = filtering.scorers()
    _, records = filtering.questions(rows)
    parts = [of_scoring(records, judges, engine)]
    return _plan({"questions": len(records)}, len(records), parts, judges, engine, speeds)


def plan_copying(path: Path, engine: Engine, speeds: SpeedOptions, **how: Any) -> dict[str, Any]:
    """Return the plan of :func:`veridical_lab.studies.refchecker.copying.copying` for ``path``.

    In the form of :func:`plan_masked`.
    """
    judged, records, parts = _judged(path, engine, **how)
    scorers = [checker()] if records else []
    size = {"claims": len(judged.claims)}
    return _plan(size, records, parts, scorers, engine, speeds)


def plan_masked(
    path: Path,
    checkers: Sequence[BoundScorer],
    engine: Engine,
    speeds: SpeedOptions,
    **how: Any,
) -> dict[str, Any]:
    """Return the plan of :func:`~veridical_lab.studies.refchecker.masking.bias` for ``path``.

    No request is sent; local models run a few times to be timed.

    Args:
        how: ``limit``, ``mapping`` and ``reader``, as of
            :func:`~veridical_lab.studies.refchecker.judged.judged_claims`.

    Returns:
        ``{"size": {"claims", "masked"}, "records", "calls", "journaled", "tokens_in", "tokens_out",
            "cost", "complete", "hours", "again": {"calls", "tokens_in", "tokens_out", "cost"},
            "tokens_per_second", "llm"}``. Output tokens, cost and hours are upper bounds; hours are
            None if a speed is unknown. ``again``: possible further calls, for replies without a
            verdict.

    Raises:
        UsageError: there is no claim, or a model is missing.
    """
    judged, records, parts = _judged(path, engine, **how)
    pairs, _ = masked_claims(judged)
    asked = masked_records(pairs)
    parts.append(of_scoring(asked, checkers, engine))
    scorers = [*([checker()] if records else []), *checkers]
    size = {"claims": len(judged.claims), "masked": len(pairs)}
    return _plan(size, records + len(asked), parts, scorers, engine, speeds)


def _judged(
    path: Path, engine: Engine, **how: Any
) -> tuple[JudgedClaims, int, list[dict[str, Any]]]:
    """Return the claims, the records that a checker reads, and its costs.

    Claims that a checker has yet to label have a placeholder label.
    """
    found = claims_in(path, **how)
    if isinstance(found, JudgedClaims):
        refuse_none(found, path)
        return found, 0, [of_seconds(0.0)]
    bound = checker()
    judged = JudgedClaims(_triplets(found, engine), bound.key, found.left_out)
    refuse_none(judged, path)
    return judged, len(found.records), [of_scoring(found.records, [bound], engine)]


def _triplets(found: Unjudged, engine: Engine) -> list[JudgedClaim]:
    claims = []
    for row, record in enumerate(found.records):
        with suppress(NotApplicable):
            for claim in extract(record, extractor="triplets", engine=engine).claims:
                if claim.triplet is not None:
                    claims.append(claim_of(record, row, claim.triplet, LABELS[0]))
    return claims


def _plan(
    size: Mapping[str, int],
    records: int,
    parts: Sequence[Mapping[str, Any]],
    scorers: Sequence[BoundScorer],
    engine: Engine,
    speeds: SpeedOptions,
) -> dict[str, Any]:
    names = [engine.llms.endpoint(name).name for name in engine.llms_of(Task(scorers))]
    speed = speeds.speed_of(names)
    return {
        "size": dict(size),
        "records": records,
        **total_of(parts, speed),
        "again": summed([part["again"] for part in parts if "again" in part], _AGAIN),
        "tokens_per_second": speed,
        "llm": ", ".join(names) or None,
    }
