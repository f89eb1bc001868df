"""The whole response as one claim, RefChecker's coarsest granularity."""

from __future__ import annotations

from typing import TYPE_CHECKING

from veridical.claims.abstain import unless_abstained
from veridical.claims.claim import Claim, Extraction
from veridical.core.stated import stated_answer

if TYPE_CHECKING:
    from veridical.core.evidence import Evidence
    from veridical.core.records import Record


@unless_abstained
async def extract(record: Record, evidence: Evidence) -> Extraction:
    """Return one claim: the stripped response.

    A response that abstains, or has no letter or digit, has no claim.

    Raises:
        NotApplicable: the response is empty.

    Source: Hu et al. 2024 (RefChecker), section 5.1, "response".
    """
    text = record.response.strip()
    if not any(map(str.isalnum, text)):
        return Extraction(())
    start = record.response.index(text)
    return Extraction((Claim(stated_answer(record, text), start, start + len(text), 0),))
