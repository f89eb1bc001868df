"""Scorer identities and signatures as values; keys are printed from them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

_NEXT = re.compile(r",(?=[^\W\d]\w*=)")


@dataclass(frozen=True)
class Identity:
    """A scorer's name and the parameters that differ from their defaults, by name.

    Its text is the scorer's *key*: ``ngram``, ``ngram(n=2,stat=max)``.
    """

    name: str
    parameters: tuple[tuple[str, str], ...] = ()

    @staticmethod
    @lru_cache(maxsize=4096)
    def read(key: str) -> Identity:
        """Return the identity whose text is ``key``, from a stored result or a table.

        Values are not quoted in a key: one that contains ``,name=`` is read as two.
        """
        name, bracket, listed = key.partition("(")
        if not bracket:
            return Identity(key)
        pairs = (pair.partition("=") for pair in _NEXT.split(listed.removesuffix(")")))
        return Identity(name, tuple((parameter, value) for parameter, _, value in pairs))

    def __hash__(self) -> int:
        """Hash the name alone, which is fast: few scorers of a run share one."""
        return hash(self.name)

    def names(self, parameter: str) -> bool:
        """Return True if ``parameter`` differs from its default."""
        return any(parameter == name for name, _ in self.parameters)

    def __str__(self) -> str:
        if not self.parameters:
            return self.name
        return f"{self.name}({','.join(f'{n}={v}' for n, v in self.parameters)})"


@dataclass(frozen=True)
class Signature:
    """Everything on which a score depends, except the record.

    Its text is ``name|vN|models|prompts|parameters``. Model names may contain any character, so the
    text cannot be parsed: it is compared as a whole.
    """

    name: str
    version: int
    prompts: tuple[str, ...]
    parameters: tuple[tuple[str, str], ...]

    def text(self, models: str = "") -> str:
        """Return the signature of a score made with ``models``."""
        return "|".join(filter(None, [self._head, models, self._tail]))

    def may_be(self, text: str) -> bool:
        """Return True if ``text`` is this signature with any models."""
        tail = self._tail
        return f"{text}|".startswith(f"{self._head}|") and text.endswith(tail and f"|{tail}")

    @property
    def _head(self) -> str:
        return f"{self.name}|v{self.version}"

    @property
    def _tail(self) -> str:
        prompts = (f"prompt:{prompt}" for prompt in self.prompts)
        return "|".join([*prompts, *(f"{name}:{value}" for name, value in self.parameters)])


def shown(value: Any) -> str:
    """Format a parameter's value for keys and signatures."""
    if isinstance(value, bool):
        return str(value).lower()
    return "none" if value is None else str(value)
