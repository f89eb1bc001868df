"""Checkers: claims and passages in, verdicts out. One file a method.

Modules are imported when their checker is first asked for, so that the offline ones never load what
the others need.
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


#: Annotation of the parameter that names the file ``repc`` was trained into: it is read, and pinned
#: to its content, when the scorer is bound.
RepcFile = Annotated[str, AfterValidator(_pin)]


def find_checker(name: str, **options: Any) -> Checker:
    """The checker called ``name``, one of :data:`CHECKERS`. An option that is None is not given.

    Raises:
        UsageError: there is none of that name, it does not take an option, or the option's value
            does not fit.
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
    """Names of the options that the checker takes.

    Raises:
        UsageError: there is none of that name.
    """
    return tuple(inspect.signature(_METHODS.load(name)).parameters)
