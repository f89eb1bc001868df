"""Claims of a whole answer by a language model.

Each answer takes one call. The four templates follow papers on the uncertainty of long answers,
in our own words.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from veridical.claims.abstain import unless_abstained
from veridical.claims.asking import question_of
from veridical.claims.extractors.llm_output import (
    AcceptedClaims,
    answer_tokens,
    lines_of,
    list_in,
    list_schema,
    output_of,
)
from veridical.core.messages import ChatRequest
from veridical.prompts import load_prompt

if TYPE_CHECKING:
    from veridical.claims.claim import Extraction
    from veridical.core.evidence import Evidence
    from veridical.core.records import Record

#: The template of each extractor.
ZHANG = ("claims_zhang",)
FARQUHAR = ("claims_farquhar",)
MOHRI = ("claims_mohri",)
JIANG = ("claims_jiang",)
_KEY = "claims"
_SCHEMA = list_schema(_KEY, {"type": "string"})
_MARKS = ("- ", "* ", "### ")


@unless_abstained
async def extract(
    record: Record, evidence: Evidence, *, template: str, llm: str | None = None
) -> Extraction:
    """Request the claims of the whole response from a language model, using ``template``.

    The reply is requested as JSON, with a schema if the server enforces one. Lines that begin with
    ``-``, ``*`` or ``###`` are accepted too. Claims that the response does not make are dropped, as
    in the other LLM extractors. A response that declines to answer (``abstains``) is not sent.

    Args:
        template: name of the prompt, which has a placeholder ``answer``.
        llm: endpoint to call; the run's default if None.

    Raises:
        NotApplicable: the response is empty.
        LlmError: as in ``llm_triplets``.

    Source: see the templates.
    """
    text = record.response.strip()
    messages = load_prompt(template).messages(answer=text)
    request = ChatRequest(messages, max_tokens=answer_tokens(text), schema=_SCHEMA)
    reply = output_of((await evidence.chat([request], llm))[0].whole(), text)
    taken = AcceptedClaims(record)
    claims = list_in(reply, _KEY)
    for claim in _listed(reply, taken) if claims is None else claims:
        taken.sentence(claim, claim)
    return taken.extraction(reply, question_of(record))


zhang = partial(extract, template=ZHANG[0])
farquhar = partial(extract, template=FARQUHAR[0])
mohri = partial(extract, template=MOHRI[0])
jiang = partial(extract, template=JIANG[0])


def _listed(reply: str, taken: AcceptedClaims) -> list[str]:
    """Parse the claims of a list, one per line."""
    claims = []
    for line in lines_of(reply):
        mark = next((m for m in _MARKS if line.startswith(m)), None)
        if mark is None:
            taken.refuse(line, "not a claim")
        else:
            claims.append(line[len(mark) :])
    return claims
