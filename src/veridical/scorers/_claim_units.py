"""Claims of a response for scorers that judge each claim."""

from __future__ import annotations

from collections.abc import Sequence

from veridical.claims import extractors
from veridical.claims.claim import Claim
from veridical.claims.extractors import find_extractor
from veridical.core.evidence import Evidence
from veridical.core.records import Record
from veridical.core.registry import Cost
from veridical.errors import ModelError, NotApplicable, UsageError


def claim_costs(name: str, extractor: str, llm: str | None, asked: set[Cost]) -> set[Cost]:
    """Return the costs of the scorer ``name``: ``asked``, and those of its extractor.

    Raises:
        UsageError: ``llm`` is set, but neither scorer nor extractor calls one.
    """
    found = asked | extractors.costs_of(extractor)
    if llm is not None and "llm" not in found:
        raise UsageError(f"{name}(extractor={extractor}) calls no LLM; remove llm={llm}")
    return found


def claim_prompts(extractor: str, **_: object) -> tuple[str, ...]:
    """Return the prompt templates that the extractor may send to an LLM."""
    return extractors.prompts_of(extractor)


async def claims_to_judge(
    record: Record, evidence: Evidence, extractor: str, llm: str | None
) -> Sequence[Claim]:
    """Return the claims, at least one, that ``extractor`` finds in the response.

    Raises:
        NotApplicable: the response declines to answer, or makes no claim.
        ModelError: no claim that the model wrote could be used.
        LlmError: the extractor's LLM call failed.
    """
    extraction = await find_extractor(extractor, llm)(record, evidence)
    if extraction.abstained:
        raise NotApplicable("the response declines to answer")
    if not extraction.claims:
        if extraction.left_out:
            raise ModelError(f"no claim could be used: {extraction.left_out[0]}")
        raise NotApplicable("the response makes no claim")
    return extraction.claims
