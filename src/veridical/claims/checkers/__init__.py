"""Claim checkers: claims and passages in, verdicts out.

There is one module per method. Modules are imported on first use, so offline checkers never load
the dependencies of the others.
"""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import AfterValidator

from veridical.claims.methods import Method, Methods
from veridical.errors import UsageError
from veridical.files.trained_files import pinned

if TYPE_CHECKING:
    from veridical.claims.claim import Checker


_CHECKERS = {
    "nli_words": Method("nli_words", "NliWordsChecker", frozenset({"nli"})),
    "nli": Method("nli", "NliChecker", frozenset({"nli"})),
    "llm": Method("llm", "LlmChecker", frozenset({"llm"})),
    "llm_joint": Method("llm_joint", "JointChecker", frozenset({"llm"})),
    "repc": Method("repc", "RepcChecker", frozenset({"probabilities"}), added=True),
}
CHECKERS = tuple(_CHECKERS)
"""Names of the checkers."""

_METHODS = Methods(__name__, "claim checker", _CHECKERS)
costs_of = _METHODS.costs_of
prompts_of = _METHODS.prompts_of


def _pin(name: str) -> str:
    return pinned(name, _METHODS.module("repc").read_repc(name).version)


#: Annotation of the parameter with the file of a trained ``repc``: it is read, and pinned to its
#: content, when the scorer is bound.
RepcFile = Annotated[str, AfterValidator(_pin)]


def find_checker(name: str, **options: Any) -> Checker:
    """Build the checker called ``name``, one of :data:`CHECKERS`.

    Options that are None are ignored.

    Raises:
        UsageError: there is no checker of that name, it lacks an option, or an option's value is
            invalid.
    """
    takes = options_of(name)
    options = {key: value for key, value in options.items() if value is not None}
    for key in options:
        if key not in takes:
            known = ", ".join(takes) or "none"
            raise UsageError(f"the claim checker {name!r} has no option {key!r}; it takes: {known}")
    checker: Checker = _METHODS.load(name)(**options)
    return checker


def options_of(name: str) -> tuple[str, ...]:
    """Return the names of the options that the checker accepts.

    Raises:
        UsageError: there is no checker of that name.
    """
    return tuple(inspect.signature(_METHODS.load(name)).parameters)
