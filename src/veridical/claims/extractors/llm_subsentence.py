"""Sub-sentence claims by a language model, with their source sentences.

The claims are requested directly, or after the triplets they are made of.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

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
    from collections.abc import Sequence

    from veridical.core.evidence import Evidence
    from veridical.core.records import Record

#: Templates for an answer with its question, and for an answer alone.
PROMPTS = ("refchecker_subsentence_question", "refchecker_subsentence")
#: Templates that request triplets first.
CHAINED = ("refchecker_chained_question", "refchecker_chained")
_KEY = "claims"
_SCHEMA = list_schema(
    _KEY,
    {
        "type": "object",
        "properties": {
            "claim": {"type": "string"},
            "sentences": {"type": "array", "items": {"type": "integer"}},
        },
        "required": ["claim", "sentences"],
        "additionalProperties": False,
    },
)
_TRIPLETS = "triplets"
_CHAINED_SCHEMA = {
    **_SCHEMA,
    "properties": {
        _TRIPLETS: {"type": "array", "items": {"type": "array", "items": {"type": "string"}}},
        **_SCHEMA["properties"],
    },
    "required": [_TRIPLETS, _KEY],
}
_HEADING = re.compile(r"^#+[ \t]*Claims\b[^\n]*$", re.MULTILINE)
_LAST = re.compile(r"\[([0-9]{1,6})\]\Z")
_MAX_NUMBER_CHARACTERS = 8  # of a sentence number in brackets


@unless_abstained
async def extract(record: Record, evidence: Evidence, *, llm: str | None = None) -> Extraction:
    """Request claims and the numbers of their source sentences from a language model.

    The response is shown with its question, or alone if the record has no prompt. The reply is
    requested as JSON, with a schema if the server enforces one; lines ``claim [1][2]`` of the
    published form are accepted too. Sentences are numbered from 1, one per line. A claim's place is
    searched in the sentences it names. If its numbers are missing, repeated or unknown, or if its
    words occur elsewhere, the words decide. ``left_out`` lists such claims and all rejected ones. A
    response that declines to answer (``abstains``) is not sent.

    Args:
        llm: endpoint to call; the run's default if None.

    Raises:
        NotApplicable: the response is empty.
        LlmError: as in ``llm_triplets``.

    Source: Hu et al. 2024 (RefChecker), section 5.1, and its released prompt.
    """
    numbered, shown = _numbered(record)
    question = question_of(record)
    reply = await ask(record, evidence, llm, PROMPTS, _SCHEMA, numbered, question)
    return _taken(record, reply, _rows(reply), shown)


@unless_abstained
async def extract_chained(
    record: Record, evidence: Evidence, *, llm: str | None = None
) -> Extraction:
    """Request triplets first, then claims made of them, as in RefChecker 0.2.

    The triplets are the model's notes; only the claims are used. Otherwise as :func:`extract`.

    The published form, a part ``### Claims`` of lines ``claim [1][2]``, is accepted too.

    Raises:
        NotApplicable, LlmError: as in :func:`extract`, or the reply lacks the part with the claims.

    Source: Hu et al. 2024 (RefChecker), its released prompt ``LLM_Triplet_To_Claim_PROMPT_Q``.
    """
    numbered, shown = _numbered(record)
    question = question_of(record)
    reply = await ask(record, evidence, llm, CHAINED, _CHAINED_SCHEMA, numbered, question, times=2)
    return _taken(record, reply, _chained_rows(reply), shown)


def _chained_rows(reply: str) -> list[Any]:
    """Parse the claims of a chained reply.

    Raises:
        LlmError: it has no valid part with claims.
    """
    if reply.lstrip().startswith(("{", "[", "```")):
        rows: list[Any] = read_json(reply, _CHAINED_SCHEMA)[_KEY]
        return rows
    parts = _HEADING.split(reply)
    if len(parts) != 2:
        raise LlmError("malformed", "the answer must have exactly one part with claims", text=reply)
    return _rows(parts[1])


def _rows(text: str) -> list[Any]:
    """Parse the claims of a reply, or of the part with the claims."""
    rows = list_in(text, _KEY)
    return [_of_line(line) for line in lines_of(text)] if rows is None else rows


def _numbered(record: Record) -> tuple[str, list[int]]:
    """Return the response's sentences, numbered from 1, one per line, and their indices."""
    shown = [i for i, s in enumerate(record.sentences) if s.text.strip()]
    lines = (
        f"[{n}] {' '.join(record.sentences[i].text.split())}" for n, i in enumerate(shown, start=1)
    )
    return "\n".join(lines), shown


def _taken(record: Record, reply: str, rows: list[Any], shown: Sequence[int]) -> Extraction:
    """Return the accepted claims of ``reply``."""
    taken = AcceptedClaims(record)
    for row in rows:
        _take(row, shown, taken)
    return taken.extraction(reply, question_of(record))


def _of_line(line: str) -> Any:
    """Convert ``claim [1][2]`` to its JSON form; other lines are unchanged."""
    claim, numbers = line, []
    while (number := _LAST.search(claim[-_MAX_NUMBER_CHARACTERS:])) is not None:
        numbers.append(int(number[1]))
        claim = claim[: len(claim) - len(number[0])].rstrip()
    return {"claim": claim, "sentences": numbers[::-1]} if numbers else line


def _take(row: Any, shown: Sequence[int], taken: AcceptedClaims) -> None:
    """Accept ``row`` as a claim if it is valid. Sentence n is ``shown[n - 1]``."""
    if not isinstance(row, dict) or set(row) != {"claim", "sentences"}:
        taken.refuse(row, "not a claim with its sentences")
        return
    numbers = row["sentences"]
    listed = numbers if isinstance(numbers, list) else []
    named = {n for n in listed if type(n) is int and 1 <= n <= len(shown)}
    among = {shown[n - 1] for n in named} if len(named) == len(listed) else set()
    taken.sentence(row, row["claim"], among, elsewhere=True)
