"""Claim extractors: a response in, its claims out.

There is one module per method, with ``async def extract(record, evidence) -> Extraction``. Modules
are imported on first use, so offline extractors never load the dependencies of the others.

``trained`` is given with its model file: ``trained|extractor.json``.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Annotated

from pydantic import AfterValidator

from veridical.claims.methods import Method, Methods
from veridical.errors import UsageError
from veridical.files.trained_files import pinned

if TYPE_CHECKING:
    from veridical.claims.claim import Extractor
    from veridical.core.registry import Cost

_LLM: frozenset[Cost] = frozenset({"llm"})
_TRAINED = "trained"
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
    _TRAINED: Method("trained", "extract", frozenset({"tokens"}), added=True),
    "given": Method("given", "extract"),
}
EXTRACTORS = tuple(name for name in _EXTRACTORS if name != _TRAINED)
"""Names of the extractors, the coarsest first; ``given`` takes the record's own claims.
``trained|FILE`` is one more."""

_METHODS = Methods(__name__, "claim extractor", _EXTRACTORS)


def costs_of(name: str) -> set[Cost]:
    """Return the costs of the extractor called ``name``; empty for an offline one.

    Raises:
        UsageError: there is no extractor of that name, or ``trained`` has no file.
    """
    return _METHODS.costs_of(_parted(name)[0])


def prompts_of(name: str) -> tuple[str, ...]:
    """Return the templates that the extractor may send to an LLM; raise as :func:`costs_of`."""
    return _METHODS.prompts_of(_parted(name)[0])


def _parted(name: str) -> tuple[str, str]:
    """Split a name into the method and the file of a trained one."""
    method, bar, model = (part.strip() for part in name.partition("|"))
    if method == _TRAINED and not model:
        raise UsageError(f"extractor={_TRAINED} requires its file: extractor='{_TRAINED}|FILE'")
    if bar and method != _TRAINED:
        _METHODS.costs_of(method)  # there is such an extractor
        raise UsageError(f"extractor {method} takes no file; remove |{model}")
    return method, model


def pin(name: str) -> str:
    """Return ``name`` with the version of its file, if it names one.

    Raises as :func:`costs_of`, and if the file cannot be read.
    """
    if "|" not in name:
        return name
    method, model = _parted(name)
    return f"{method}|{pinned(model, _METHODS.module(method).read_tagger(model).version)}"


#: Annotation of a scorer's parameter that names an extractor. The file of a trained one is
#: validated, and pinned to its content, when the scorer is bound.
ExtractorName = Annotated[str, AfterValidator(pin)]


def find_extractor(name: str, llm: str | None = None) -> Extractor:
    """Return the extractor called ``name``, one of :data:`EXTRACTORS`, or ``trained|FILE``.

    Args:
        llm: endpoint of an extractor that calls an LLM (its keyword ``llm``); the run's default if
            None.

    Raises:
        UsageError: there is no extractor of that name (the message lists the names), or ``trained``
            has no file.
    """
    method, model = _parted(name)
    extract = _METHODS.load(method)
    extractor: Extractor = extract
    if model:
        extractor = partial(extract, model=model)
    elif "llm" in costs_of(name):
        extractor = partial(extract, llm=llm)
    return extractor
