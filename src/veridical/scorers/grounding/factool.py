"""FacTool: share of factual claims, by evidence (Chern et al. 2023)."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import partial
from typing import Annotated, Any

from pydantic import Field

from veridical.claims import extractors
from veridical.claims.asking import question_of
from veridical.claims.claim import Claim, Extraction, Extractor
from veridical.claims.extractors import ExtractorName
from veridical.claims.extractors.llm_output import (
    AcceptedClaims,
    answer_tokens,
    list_in,
    list_schema,
    output_of,
)
from veridical.core.evidence import Evidence
from veridical.core.messages import ChatRequest
from veridical.core.records import Record
from veridical.core.registry import Cost, scorer
from veridical.core.scores import Score
from veridical.prompts import load_prompt
from veridical.scorers.grounding._precision import (
    AUTO,
    Judge,
    Sources,
    by_llm,
    by_nli,
    claims_of,
    costs,
    details,
)
from veridical.text.refusals import abstains

#: Templates to extract claims and to check one.
PROMPTS = ("factool_claims", "factool_check")
_KEY = "claims"


def _costs(extractor: str | None, checker: Judge, nli: str | None, **_: object) -> set[Cost]:
    costs_of_llm: set[Cost] = {"llm"}
    extracting = costs_of_llm if extractor is None else extractors.costs_of(extractor)
    return costs("factool", extracting, checker, nli)


def _prompts(extractor: str | None, checker: Judge, **_: object) -> tuple[str, ...]:
    finding, checking = PROMPTS
    finding_prompts = (finding,) if extractor is None else extractors.prompts_of(extractor)
    return finding_prompts + ((checking,) if checker == "llm" else ())


@scorer(
    "factool",
    level="claim",
    judges=True,
    needs={"against"},
    source="Chern 2023, section 4 (knowledge-based QA)",
    cost="llm",
    version=3,
    uses={"nli", "tokens"},
    raw_is="confidence",
    raw_key="precision",
    costs_by=_costs,
    prompts=_prompts,
)
async def factool(
    record: Record,
    evidence: Evidence,
    *,
    against: Sources = "auto",
    extractor: ExtractorName | None = None,
    checker: Judge = "llm",
    top: Annotated[int, Field(ge=1, le=1000)] = 5,
    llm: str | None = None,
    nli: str | None = None,
) -> Score:
    """Compute the share of the response's claims that are factual according to the sources.

    A language model lists the claims of the whole response, with pronouns resolved. For each claim
    it gives reasons, then judges from the evidence whether the claim is factual. In the paper a
    search engine finds the evidence; here it is the record's own texts.

    Args:
        against: ``auto`` takes contexts if the record has them, else reference.
        extractor: a claim extractor instead of the published prompt; with ``clauses`` and
            ``checker=nli`` no LLM is called.
        checker: ``llm`` asks True or False; ``nli`` counts entailed claims as factual.
        top: number of passages per claim.
        llm: endpoint to call; the run's default if None.
        nli: NLI model of ``checker=nli``; the run's default if None.

    ``raw`` has the ``precision``, and ``factual``, true if all claims are. It has each verdict with
    its reasons under ``claims``, and model output rejected as a claim under ``left_out``. Units are
    as in ``factscore``. ``risk`` is 1 - precision. A response that declines to answer or claims
    nothing is not applicable.
    """
    sources = record.against(against, auto=AUTO)
    published: Extractor = partial(_extract, llm=llm)
    extract = published if extractor is None else extractors.find_extractor(extractor, llm)
    extraction = await claims_of(record, evidence, extract)
    if checker == "nli":
        judged = await by_nli(extraction.claims, sources, evidence, nli, top)
    else:
        prompt = load_prompt(PROMPTS[1])
        judged = await by_llm(extraction.claims, sources, evidence, llm, top, prompt, _parts)
    supported = sum(s.supported for s in judged)
    precision = supported / len(judged)
    raw = {
        "precision": precision,
        "factual": supported == len(judged),
        **details(judged, extraction),
    }
    units = [s.unit(record.response) for s in judged]
    return Score.of(1 - precision, raw=raw, units=units)


def _parts(claim: Claim, passages: Sequence[str]) -> dict[str, Any]:
    return {"claim": claim.text, "evidence": json.dumps(list(passages), ensure_ascii=False)}


async def _extract(record: Record, evidence: Evidence, *, llm: str | None) -> Extraction:
    """Request the list of claims from a language model, in the published form."""
    response = record.need_answer()
    if abstains(response):
        return Extraction((), abstained=True)
    item = {
        "type": "object",
        "properties": {"claim": {"type": "string"}},
        "required": ["claim"],
        "additionalProperties": False,
    }
    request = ChatRequest(
        load_prompt(PROMPTS[0]).messages(answer=response),
        max_tokens=answer_tokens(response),
        schema=list_schema(_KEY, item),
    )
    output = output_of((await evidence.chat([request], llm))[0].whole(), response)
    rows = list_in(output, _KEY)
    listed = AcceptedClaims(record)
    for row in [output] if rows is None else rows:
        if isinstance(row, dict) and set(row) == {"claim"}:
            listed.sentence(row, row["claim"])
        else:
            listed.refuse(row, "not a claim")
    return listed.extraction(output, question_of(record))
