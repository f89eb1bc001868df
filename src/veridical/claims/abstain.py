"""Extractor wrapper that skips responses that decline to answer."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import wraps
from typing import TYPE_CHECKING, Concatenate, ParamSpec

from veridical.claims.claim import Extraction
from veridical.text.refusals import abstains

if TYPE_CHECKING:
    from veridical.core.records import Record

P = ParamSpec("P")
Extract = Callable[Concatenate["Record", P], Awaitable[Extraction]]


def unless_abstained(extract: Extract[P]) -> Extract[P]:
    """Wrap the extractor to skip responses that :func:`abstains` recognises."""

    @wraps(extract)
    async def extract_claims(record: Record, /, *args: P.args, **kwargs: P.kwargs) -> Extraction:
        if abstains(record.need_answer()):
            return Extraction((), abstained=True)
        return await extract(record, *args, **kwargs)

    return extract_claims
