"""The whole response as one claim: the coarsest granularity of RefChecker's comparison."""

from __future__ import annotations

from typing import TYPE_CHECKING

from veridical.claims.abstain import abstains
from veridical.claims.claim import Claim, Extraction

if TYPE_CHECKING:
    from veridical.evidence import Evidence
    from veridical.records import Record


async def extract(record: Record, evidence: Evidence) -> Extraction:
    """One claim: the response without the white space around it.

    None where the response abstains, or holds no letter or digit.

    Raises:
        NotApplicable: the response is empty.

    Source: Hu et al. 2024 (RefChecker), section 5.1, "response".
    """
    whole = record.need_response()
    if abstains(whole):
        return Extraction((), abstained=True)
    text = whole.strip()
    if not any(map(str.isalnum, text)):
        return Extraction(())
    start = whole.index(text)
    return Extraction((Claim(text, start, start + len(text), 0),))
