"""Extractors: a response in, its claims out. One file a method.

Each module has ``async def extract(record, evidence) -> Extraction``. Modules are imported when
their extractor is first asked for, so that the offline ones never load what the others need.
"""

from __future__ import annotations

import importlib
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from veridical.errors import unknown_name

if TYPE_CHECKING:
    from veridical.claims.claim import Extractor
    from veridical.registry import Cost


class _Known(NamedTuple):
    module: str
    costs: frozenset[Cost] = frozenset()
    function: str = "extract"


_LLM: frozenset[Cost] = frozenset({"llm"})
_EXTRACTORS = {
    "response": _Known("response"),
    "sentences": _Known("sentences"),
    "clauses": _Known("clauses"),
    "triplets": _Known("triplets"),
    "spacy": _Known("spacy"),
    "llm_triplets": _Known("llm_triplets", _LLM),
    "llm_triplets_plain": _Known("llm_triplets", _LLM, "extract_plain"),
    "llm_subsentence": _Known("llm_subsentence", _LLM),
    "llm_atomic": _Known("llm_atomic", _LLM),
    "given": _Known("given"),
}
EXTRACTORS = tuple(_EXTRACTORS)
"""Names of the extractors, the coarsest first; ``given`` takes the record's own claims."""


def find_extractor(name: str, llm: str | None = None) -> Extractor:
    """The extractor called ``name``, one of :data:`EXTRACTORS`.

    Args:
        llm: the endpoint that an extractor by an LLM asks (as its keyword ``llm``); the run's own
            if None.

    Raises:
        UsageError: there is none of that name (the message lists those there are).
    """
    known = _known(name)
    module = importlib.import_module(f"{__name__}.{known.module}")
    function = getattr(module, known.function)
    found: Extractor = partial(function, llm=llm) if "llm" in known.costs else function
    return found


def costs_of(name: str) -> set[Cost]:
    """What the extractor asks of the evidence layer; empty for one that works offline.

    Raises:
        UsageError: there is none of that name.
    """
    return set(_known(name).costs)


def prompts_of(name: str) -> tuple[str, ...]:
    """Templates by which the extractor may ask an LLM."""
    if "llm" not in _known(name).costs:
        return ()
    found: tuple[str, ...] = importlib.import_module(f"{__name__}.{_known(name).module}").PROMPTS
    return found


def _known(name: str) -> _Known:
    if name not in _EXTRACTORS:
        raise unknown_name("claim extractor", name, _EXTRACTORS)
    return _EXTRACTORS[name]
