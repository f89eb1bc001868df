"""Checkers: claims and passages in, verdicts out. One file a method.

Each module has ``make(**options) -> Checker``. Modules are imported when their checker is first
asked for, so that the offline ones never load what the others need.
"""

from __future__ import annotations

import importlib
import inspect
from typing import TYPE_CHECKING, Any, NamedTuple

from veridical.errors import UsageError, unknown_name

if TYPE_CHECKING:
    from veridical.claims.claim import Checker
    from veridical.registry import Cost


class _Known(NamedTuple):
    module: str
    costs: frozenset[Cost]


_CHECKERS = {
    "nli_words": _Known("nli_words", frozenset({"nli"})),
    "nli": _Known("nli", frozenset({"nli"})),
    "llm": _Known("llm", frozenset({"llm"})),
    "llm_joint": _Known("llm_joint", frozenset({"llm"})),
    "repc": _Known("repc", frozenset({"probabilities"})),
}
CHECKERS = tuple(_CHECKERS)
"""Names of the checkers."""


def find_checker(name: str, **options: Any) -> Checker:
    """The checker called ``name``, one of :data:`CHECKERS`. An option that is None is not given.

    Raises:
        UsageError: there is none of that name, it does not take an option, or the option's value
            does not fit.
    """
    make = importlib.import_module(f"{__name__}.{_known(name).module}").make
    given = {key: value for key, value in options.items() if value is not None}
    takes = list(inspect.signature(make).parameters)
    for key in given:
        if key not in takes:
            known = ", ".join(takes) or "none"
            raise UsageError(f"the claim checker {name!r} has no option {key!r}; it takes: {known}")
    found: Checker = make(**given)
    return found


def options_of(name: str) -> tuple[str, ...]:
    """Names of the options that the checker takes.

    Raises:
        UsageError: there is none of that name.
    """
    make = importlib.import_module(f"{__name__}.{_known(name).module}").make
    return tuple(inspect.signature(make).parameters)


def costs_of(name: str) -> set[Cost]:
    """What the checker asks of the evidence layer.

    Raises:
        UsageError: there is none of that name.
    """
    return set(_known(name).costs)


def prompts_of(name: str) -> tuple[str, ...]:
    """Templates by which the checker may ask an LLM."""
    if "llm" not in _known(name).costs:
        return ()
    found: tuple[str, ...] = importlib.import_module(f"{__name__}.{_known(name).module}").PROMPTS
    return found


def _known(name: str) -> _Known:
    if name not in _CHECKERS:
        raise unknown_name("claim checker", name, _CHECKERS)
    return _CHECKERS[name]
