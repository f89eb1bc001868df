"""Claims of a whole answer by a language model, one call an answer: the four ways of asking for
them that papers on the uncertainty of long answers have, in our own words."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from veridical.claims.abstain import unless_abstained
from veridical.claims.asking import question_of
from veridical.claims.extractors.llm_output import (
    Taken,
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

#: The template of each way.
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
    """The claims that a language model lists, asked by ``template`` with the whole response.

    Asked for as JSON, by a schema where the server can be held to one; a list of lines that begin
    with ``-``, ``*`` or ``###`` is read too. What the response does not say is left out, as of the
    other extractors by an LLM. A response that declines to answer (``abstains``) is not sent.

    Args:
        template: name of the prompt; it has a place for the ``answer``.
        llm: the endpoint asked; the run's own if None.

    Raises:
        NotApplicable: the response is empty.
        LlmError: as of ``llm_triplets``.

    Source: the templates name theirs.
    """
    text = record.response.strip()
    messages = load_prompt(template).messages(answer=text)
    request = ChatRequest(messages, max_tokens=answer_tokens(text), schema=_SCHEMA)
    reply = output_of((await evidence.chat([request], llm))[0].whole(), text)
    taken = Taken(record)
    claims = list_in(reply, _KEY)
    for claim in _listed(reply, taken) if claims is None else claims:
        taken.sentence(claim, claim)
    return taken.extraction(reply, question_of(record))


zhang = partial(extract, template=ZHANG[0])
farquhar = partial(extract, template=FARQUHAR[0])
mohri = partial(extract, template=MOHRI[0])
jiang = partial(extract, template=JIANG[0])


def _listed(reply: str, taken: Taken) -> list[str]:
    """The claims of a list, one a line."""
    claims = []
    for line in lines_of(reply):
        mark = next((m for m in _MARKS if line.startswith(m)), None)
        if mark is None:
            taken.refuse(line, "not a claim")
        else:
            claims.append(line[len(mark) :])
    return claims
