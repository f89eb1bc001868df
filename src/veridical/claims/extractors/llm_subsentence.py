"""Sub-sentence claims by a language model, each with the sentences that it comes from."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

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

if TYPE_CHECKING:
    from collections.abc import Sequence

    from veridical.core.evidence import Evidence
    from veridical.core.records import Record

#: Templates: of an answer with its question, and of an answer alone.
PROMPTS = ("refchecker_subsentence_question", "refchecker_subsentence")
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
_LAST = re.compile(r"\[([0-9]{1,6})\]\Z")
_WIDEST = 8  # characters of a sentence's number in brackets


@unless_abstained
async def extract(record: Record, evidence: Evidence, *, llm: str | None = None) -> Extraction:
    """The claims that a language model finds in the response, with the numbers of the sentences
    each comes from; read together with the question, alone where the record has no prompt.

    Asked for as JSON, by a schema where the server can be held to one; lines ``claim [1][2]`` of
    the published form are read too. Sentences are numbered from 1, each on a line of its own. A
    claim's place is found among the sentences it names. Where it names none, one twice, or one that
    does not exist, or its words stand elsewhere, they decide, and ``left_out`` says so; it also
    tells of what is no claim. A response that declines to answer (``abstains``) is not sent.

    Args:
        llm: the endpoint asked; the run's own if None.

    Raises:
        NotApplicable: the response is empty.
        LlmError: as of ``llm_triplets``.

    Source: Hu et al. 2024 (RefChecker), section 5.1, and its released prompt.
    """
    shown = [i for i, s in enumerate(record.sentences) if s.text.strip()]
    numbered = "\n".join(
        f"[{n}] {' '.join(record.sentences[i].text.split())}" for n, i in enumerate(shown, start=1)
    )
    question = question_of(record)
    reply = await ask(record, evidence, llm, PROMPTS, _SCHEMA, numbered, question)
    taken = Taken(record)
    rows = list_in(reply, _KEY)
    if rows is None:
        rows = [_of_line(line) for line in lines_of(reply)]
    for row in rows:
        _take(row, shown, taken)
    return taken.extraction(reply, question)


def _of_line(line: str) -> Any:
    """``claim [1][2]`` as the JSON says it; the line itself where it is none."""
    claim, numbers = line, []
    while (number := _LAST.search(claim[-_WIDEST:])) is not None:
        numbers.append(int(number[1]))
        claim = claim[: len(claim) - len(number[0])].rstrip()
    return {"claim": claim, "sentences": numbers[::-1]} if numbers else line


def _take(row: Any, shown: Sequence[int], taken: Taken) -> None:
    """Take ``row`` for a claim if it is one. Sentence n is ``shown[n - 1]``."""
    if not isinstance(row, dict) or set(row) != {"claim", "sentences"}:
        taken.refuse(row, "not a claim with its sentences")
        return
    numbers = row["sentences"]
    listed = numbers if isinstance(numbers, list) else []
    named = {n for n in listed if type(n) is int and 1 <= n <= len(shown)}
    among = {shown[n - 1] for n in named} if len(named) == len(listed) else set()
    taken.sentence(row, row["claim"], among, elsewhere=True)
