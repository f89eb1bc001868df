"""Registry of methods by name, imported on first use."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from veridical import plugins
from veridical.errors import unknown_name

if TYPE_CHECKING:
    from veridical.core.registry import Cost


class Method(NamedTuple):
    """A module, its callable, its costs, and the attribute with its templates, if any.

    An ``added`` one belongs to another distribution.
    """

    module: str
    function: str
    costs: frozenset[Cost] = frozenset()
    prompts: str = "PROMPTS"
    added: bool = False


class Methods:
    """The methods of a package.

    Args:
        kind: description of a method, for messages.

    All functions raise a UsageError if there is no method of that name.
    """

    def __init__(self, package: str, kind: str, methods: Mapping[str, Method]) -> None:
        self._package = package
        self._kind = kind
        self._methods = methods

    def costs_of(self, name: str) -> set[Cost]:
        """Return the costs of the method; empty for one that works offline."""
        return set(self._method(name).costs)

    def prompts_of(self, name: str) -> tuple[str, ...]:
        """Return the templates that the method may send to an LLM."""
        method = self._method(name)
        if "llm" not in method.costs:
            return ()
        prompts: tuple[str, ...] = getattr(self.module(name), method.prompts)
        return prompts

    def load(self, name: str) -> Any:
        """Return the method's callable."""
        return getattr(self.module(name), self._method(name).function)

    def module(self, name: str) -> Any:
        """Import the method's module.

        Raises:
            MissingDistribution: its distribution is not installed.
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
