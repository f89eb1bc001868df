"""Filter of questions for a benchmark without contexts.

Hu et al. 2024, appendix A.1. A language model decides for each question whether the answer changes
with time, may be declined, or is ambiguous. It decides for its reference whether it is a table,
taken out of context, or lacks the answer. The paper's prompts are printed only as a figure. These
are worded independently, one per question, where the paper uses one conversation.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

from pydantic import BaseModel

from veridical.api import Job
from veridical.core.records import Record
from veridical.core.registry import REGISTRY, BoundScorer
from veridical.engine.engine import Engine
from veridical.review.triplets import SETTINGS
from veridical.stats.tables import STORED_MODEL
from veridical_lab.bench.datasets.files import text_list
from veridical_lab.studies.refchecker.judged import Watch

#: Prompt template -> why a question to which it says yes is dropped.
CHECKS = {
    "refchecker_drop_dated": "its answer changes with time",
    "refchecker_drop_harmful": "it may be declined",
    "refchecker_drop_vague": "it is vague",
    "refchecker_drop_table": "its reference is a table",
    "refchecker_drop_torn": "its reference needs what stood before it",
    "refchecker_drop_lacking": "its reference lacks the answer",
}
UNDECIDED = "a reply could not be read"


class Dropped(BaseModel):
    """A question that is left out, and why."""

    model_config = STORED_MODEL
    id: str
    reasons: list[str]


class Filtered(BaseModel):
    """Result of the filter: ``kept`` of ``asked`` questions.

    ``reasons``: counts of dropped questions by reason; unreadable replies drop a question too.
    ``passed_by``: questions of other settings, to which the filter does not apply.
    """

    model_config = STORED_MODEL
    asked: int
    kept: int
    passed_by: int
    reasons: dict[str, int]
    dropped: list[Dropped]


def scorers() -> list[BoundScorer]:
    """Return the judges, in the order of :data:`CHECKS`."""
    return [REGISTRY.parse(f"judge(template={name})")[0] for name in CHECKS]


def questions(
    rows: Iterable[dict[str, Any]],
) -> tuple[list[dict[str, Any]], list[Record]]:
    """Return the rows to be filtered, and their records for the judges."""
    asked = [row for row in rows if row.get("setting") in (None, SETTINGS["nq"])]
    return asked, [
        Record(
            id=str(i),
            prompt=row["question"],
            response="\n\n".join(text_list(row["references"], "references")),
        )
        for i, row in enumerate(asked)
    ]


def filter_questions(
    rows: Iterable[dict[str, Any]], engine: Engine, watch: Watch
) -> tuple[list[dict[str, Any]], Filtered]:
    """Return the kept rows, and the outcomes of the others.

    Args:
        rows: of :func:`~veridical_lab.studies.refchecker.building.questions_of`.
    """
    rows = list(rows)
    asked, records = questions(rows)
    judges = scorers()
    dropped: dict[int, Dropped] = {}
    if records:
        for row, result in zip(
            asked, watch("questions", Job(records, judges, engine=engine)), strict=True
        ):
            risks = {
                why: result.scores[bound.key].risk
                for bound, why in zip(judges, CHECKS.values(), strict=True)
            }
            reasons = [why for why, risk in risks.items() if risk is not None and risk > 0.5]
            if not reasons and None in risks.values():
                reasons = [UNDECIDED]
            if reasons:
                dropped[id(row)] = Dropped(id=str(row["id"]), reasons=reasons)
    kept = [row for row in rows if id(row) not in dropped]
    counts = Counter(reason for one in dropped.values() for reason in one.reasons)
    return kept, Filtered(
        asked=len(asked),
        kept=len(asked) - len(dropped),
        passed_by=len(rows) - len(asked),
        reasons=dict(counts),
        dropped=list(dropped.values()),
    )
