"""The claims of a response, for scorers that judge them one by one."""

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
    """What the scorer ``name`` asks for: ``asked``, and what its extractor does.

    Raises:
        UsageError: an llm is named and none is asked.
    """
    found = asked | extractors.costs_of(extractor)
    if llm is not None and "llm" not in found:
        raise UsageError(f"{name}(extractor={extractor}) asks no llm: leave llm={llm} out")
    return found


def claim_prompts(extractor: str, **_: object) -> tuple[str, ...]:
    """Templates by which the extractor may ask an LLM."""
    return extractors.prompts_of(extractor)


async def claims_to_judge(
    record: Record, evidence: Evidence, extractor: str, llm: str | None
) -> Sequence[Claim]:
    """The response's claims, at least one, as ``extractor`` finds them.

    Raises:
        NotApplicable: the response declines to answer, or makes no claim.
        ModelError: nothing of what a model wrote could be used.
        LlmError: it failed.
    """
    extraction = await find_extractor(extractor, llm)(record, evidence)
    if extraction.abstained:
        raise NotApplicable("the response declines to answer")
    if not extraction.claims:
        if extraction.left_out:
            raise ModelError(f"no claim could be used: {extraction.left_out[0]}")
        raise NotApplicable("the response makes no claim")
    return extraction.claims
