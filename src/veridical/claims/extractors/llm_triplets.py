"""Triplet extractor by a language model (RefChecker)."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from veridical.claims.abstain import unless_abstained
from veridical.claims.asking import question_of
from veridical.claims.claim import Extraction
from veridical.claims.extractors.llm_output import (
    AcceptedClaims,
    ask,
    lines_of,
    list_in,
    list_schema,
)
from veridical.core.messages import LlmError
from veridical.llm.structured import read_json

if TYPE_CHECKING:
    from veridical.core.evidence import Evidence
    from veridical.core.records import Record

#: Templates for an answer with its question, and for an answer alone.
PROMPTS = ("refchecker_triplets_question", "refchecker_triplets")
_KEY = "triplets"
_SCHEMA = list_schema(
    _KEY, {"type": "array", "items": {"type": "string"}, "minItems": 3, "maxItems": 3}
)
_LINE = re.compile(r"\((.*)\)[,.;]?")


@unless_abstained
async def extract(record: Record, evidence: Evidence, *, llm: str | None = None) -> Extraction:
    """Request (head, relation, tail) triplets of the response from a language model.

    The response is shown with its question, or alone if the record has no prompt. The reply is
    requested as JSON, with a schema if the server enforces one; lines ``("head", "relation",
    "tail")`` of the published form are accepted too. A triplet needs three non-empty texts whose
    words occur in the response (see :class:`~veridical.claims.triplets.Places`); headers and
    duplicates are skipped. ``left_out`` lists all others. A response that declines to answer
    (``abstains``) is not sent.

    Args:
        llm: endpoint to call; the run's default if None.

    Raises:
        NotApplicable: the response is empty.
        LlmError: the reply is missing, cut or malformed, or most of its triplets are invalid. The
            same holds if it lacks triplets for a response with its own numbers, dates or names.

    Source: Hu et al. 2024 (RefChecker), sections 3.2 and 4.1, appendix B.1.
    """
    return await _extract(record, evidence, llm, question_of(record))


@unless_abstained
async def extract_plain(
    record: Record, evidence: Evidence, *, llm: str | None = None
) -> Extraction:
    """Run :func:`extract` on the response without its question."""
    return await _extract(record, evidence, llm, None)


async def _extract(
    record: Record, evidence: Evidence, llm: str | None, question: str | None
) -> Extraction:
    reply = await ask(record, evidence, llm, PROMPTS, _SCHEMA, record.response, question)
    taken = AcceptedClaims(record)
    rows = list_in(reply, _KEY)
    if rows is None:
        _read_lines(reply, taken)
    else:
        for row in rows:
            taken.triplet(row)
    return taken.extraction(reply, question)


def _read_lines(reply: str, taken: AcceptedClaims) -> None:
    """Parse one triplet per line, its texts in double quotes."""
    for line in lines_of(reply):
        triplet = _LINE.fullmatch(line)
        try:
            row = None if triplet is None else read_json(f"[{triplet[1]}]", {"type": "array"})
        except LlmError:
            row = None
        if row is None:
            taken.refuse(line, "not a triplet")
        else:
            taken.triplet(row)
