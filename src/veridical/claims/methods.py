"""Methods by name, each in a module that is imported when it is first asked for."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from veridical import plugins
from veridical.errors import unknown_name

if TYPE_CHECKING:
    from veridical.core.registry import Cost


class Method(NamedTuple):
    """A module, what is called in it, what that asks of the evidence layer, and where in the module
    its templates are named, if it asks an LLM. An ``added`` one is part of another distribution."""

    module: str
    function: str
    costs: frozenset[Cost] = frozenset()
    prompts: str = "PROMPTS"
    added: bool = False


class Methods:
    """The methods of a package.

    Args:
        kind: what each is, for messages.

    Its functions raise a UsageError where there is no method of that name.
    """

    def __init__(self, package: str, kind: str, methods: Mapping[str, Method]) -> None:
        self._package = package
        self._kind = kind
        self._methods = methods

    def costs_of(self, name: str) -> set[Cost]:
        """What the method asks of the evidence layer; empty for one that works offline."""
        return set(self._method(name).costs)

    def prompts_of(self, name: str) -> tuple[str, ...]:
        """Templates by which the method may ask an LLM."""
        method = self._method(name)
        if "llm" not in method.costs:
            return ()
        prompts: tuple[str, ...] = getattr(self.module(name), method.prompts)
        return prompts

    def load(self, name: str) -> Any:
        """What is called."""
        return getattr(self.module(name), self._method(name).function)

    def module(self, name: str) -> Any:
        """The module of the method.

        Raises:
            MissingDistribution: it is in one that is not installed.
        """
        method = self._method(name)
        place = f"{self._package}.{method.module}"
        if method.added:
            return plugins.load(
                plugins.NAMES, place.removeprefix("veridical."), f"{self._kind} {name!r}"
            )
        return importlib.import_module(place)

    def _method(self, name: str) -> Method:
        if name not in self._methods:
            raise unknown_name(self._kind, name, self._methods)
        return self._methods[name]
