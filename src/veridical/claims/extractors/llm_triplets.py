"""Triplets by a language model: RefChecker's claims."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from veridical.claims.abstain import unless_abstained
from veridical.claims.asking import question_of
from veridical.claims.claim import Extraction
from veridical.claims.extractors.llm_output import (
    Taken,
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

#: Templates: of an answer with its question, and of an answer alone.
PROMPTS = ("refchecker_triplets_question", "refchecker_triplets")
_KEY = "triplets"
_SCHEMA = list_schema(
    _KEY, {"type": "array", "items": {"type": "string"}, "minItems": 3, "maxItems": 3}
)
_LINE = re.compile(r"\((.*)\)[,.;]?")


@unless_abstained
async def extract(record: Record, evidence: Evidence, *, llm: str | None = None) -> Extraction:
    """The (head, relation, tail) triplets that a language model finds in the response, read
    together with its question; alone where the record has no prompt.

    Asked for as JSON, by a schema where the server can be held to one; the lines
    ``("head", "relation", "tail")`` of the published form are read too. A triplet has three texts
    with something in them, and its words stand in the response (see
    :class:`~veridical.claims.triplets.Places`); a header, or what was said before, is no claim.
    ``left_out`` tells of all others. A response that declines to answer (``abstains``) is not sent.

    Args:
        llm: the endpoint asked; the run's own if None.

    Raises:
        NotApplicable: the response is empty.
        LlmError: no reply, a cut one, one that is not in the form asked for, one most of whose
            triplets are of no use, or none in a response that has numbers, dates or names of its
            own.

    Source: Hu et al. 2024 (RefChecker), sections 3.2 and 4.1, appendix B.1.
    """
    return await _extract(record, evidence, llm, question_of(record))


@unless_abstained
async def extract_plain(
    record: Record, evidence: Evidence, *, llm: str | None = None
) -> Extraction:
    """:func:`extract` by the response alone."""
    return await _extract(record, evidence, llm, None)


async def _extract(
    record: Record, evidence: Evidence, llm: str | None, question: str | None
) -> Extraction:
    reply = await ask(record, evidence, llm, PROMPTS, _SCHEMA, record.response, question)
    taken = Taken(record)
    rows = list_in(reply, _KEY)
    if rows is None:
        _read_lines(reply, taken)
    else:
        for row in rows:
            taken.triplet(row)
    return taken.extraction(reply, question)


def _read_lines(reply: str, taken: Taken) -> None:
    """A triplet a line, its texts in double quotes."""
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
