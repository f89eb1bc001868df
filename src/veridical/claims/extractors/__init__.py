"""Extractors: a response in, its claims out. One file a method.

Each module has ``async def extract(record, evidence) -> Extraction``. Modules are imported when
their extractor is first asked for, so that the offline ones never load what the others need.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from veridical.claims.methods import Method, Methods

if TYPE_CHECKING:
    from veridical.claims.claim import Extractor
    from veridical.core.registry import Cost

_LLM: frozenset[Cost] = frozenset({"llm"})
_EXTRACTORS = {
    "response": Method("response", "extract"),
    "sentences": Method("sentences", "extract"),
    "clauses": Method("clauses", "extract"),
    "triplets": Method("triplets", "extract"),
    "spacy": Method("spacy", "extract"),
    "llm_triplets": Method("llm_triplets", "extract", _LLM),
    "llm_triplets_plain": Method("llm_triplets", "extract_plain", _LLM),
    "llm_subsentence": Method("llm_subsentence", "extract", _LLM),
    "llm_chained": Method("llm_subsentence", "extract_chained", _LLM, "CHAINED"),
    "llm_atomic": Method("llm_atomic", "extract", _LLM),
    "llm_zhang": Method("llm_claims", "zhang", _LLM, "ZHANG"),
    "llm_farquhar": Method("llm_claims", "farquhar", _LLM, "FARQUHAR"),
    "llm_mohri": Method("llm_claims", "mohri", _LLM, "MOHRI"),
    "llm_jiang": Method("llm_claims", "jiang", _LLM, "JIANG"),
    "given": Method("given", "extract"),
}
EXTRACTORS = tuple(_EXTRACTORS)
"""Names of the extractors, the coarsest first; ``given`` takes the record's own claims."""

_METHODS = Methods(__name__, "claim extractor", _EXTRACTORS)
costs_of = _METHODS.costs_of
prompts_of = _METHODS.prompts_of


def find_extractor(name: str, llm: str | None = None) -> Extractor:
    """The extractor called ``name``, one of :data:`EXTRACTORS`.

    Args:
        llm: the endpoint that an extractor by an LLM asks (as its keyword ``llm``); the run's own
            if None.

    Raises:
        UsageError: there is none of that name (the message lists those there are).
    """
    extract = _METHODS.load(name)
    extractor: Extractor = partial(extract, llm=llm) if "llm" in costs_of(name) else extract
    return extractor
