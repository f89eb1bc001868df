"""Cache of results computed from texts, bounded by characters.

Many records may share a text. Each process has one :data:`TEXTS`. Its size is limited by
characters, not by entries, as a text may be a word or a book.
"""

from __future__ import annotations

import os
import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from functools import wraps
from typing import Any, Generic, ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")
K = TypeVar("K", bound=Hashable)

#: Maximum characters of texts with cached results, counted for each result. A result takes 2 to 16
#: bytes per character; larger ones count more.
CHARACTERS = 4_000_000
_CHARACTERS_PER_ENTRY = 64  # overhead of an entry, in addition to its text
_CHARACTERS_PER_ITEM = 8  # of tuples and dictionaries, as for a table of small numbers
_MIN_UNIFORM_ITEMS = 32  # a longer tuple that begins with a plain value has only such
_PLAIN = (str, int, float, bool, type(None))

# Shared by all memos, as a fork must find it free. Reentrant, as objects may be destroyed in it.
_lock = threading.RLock()


class Memo(Generic[K, T]):
    """A thread-safe cache of the most recently used values.

    Values must not be modified.

    Args:
        most: maximum characters.
    """

    def __init__(self, most: int = CHARACTERS) -> None:
        self.most = most
        self.held = 0
        self._entries: OrderedDict[K, tuple[T, int]] = OrderedDict()

    def find(self, key: K) -> tuple[T] | None:
        """Return the value of ``key``, and mark it as most recently used."""
        with _lock:
            entry = self._entries.get(key)
            if entry is None:
                return None
            self._entries.move_to_end(key)
        return (entry[0],)

    def keep(self, key: K, value: T, characters: int) -> None:
        """Store ``value``, computed from this many characters, unless it exceeds the limit."""
        size = characters + _CHARACTERS_PER_ENTRY
        if size > self.most:
            return
        with _lock:
            _, before = self._entries.pop(key, (None, 0))
            self._entries[key] = value, size
            self.held += size - before
            while self.held > self.most:
                _, (_, gone) = self._entries.popitem(last=False)
                self.held -= gone

    def clear(self) -> None:
        """Remove all values."""
        with _lock:
            self._entries.clear()
            self.held = 0


#: Results of the functions decorated with :func:`kept`.
TEXTS: Memo[Hashable, Any] = Memo()


def kept(make: Callable[P, T]) -> Callable[P, T]:
    """Cache a function of texts, or tuples of texts, in :data:`TEXTS`.

    It must depend on nothing else, and its result must not be modified. Two concurrent calls with
    equal arguments may both run it.
    """

    @wraps(make)
    def found_or_made(*args: P.args, **named: P.kwargs) -> T:
        key = (make, args, *named.items())
        found = TEXTS.find(key)
        if found is not None:
            value: T = found[0]
            return value
        value = make(*args, **named)
        characters = sum(map(_characters, (*args, *named.values())))
        TEXTS.keep(key, value, max(characters, _CHARACTERS_PER_ITEM * _items(value)))
        return value

    return found_or_made


def _characters(argument: object) -> int:
    if isinstance(argument, str):
        return len(argument)
    return sum(map(_characters, argument)) if isinstance(argument, tuple) else 0


def _items(value: object) -> int:
    """Count the items of nested tuples, lists, sets and dictionaries."""
    count = 0
    waiting = [value]
    while waiting:
        found = waiting.pop()
        if isinstance(found, dict):
            waiting.append(list(found.values()))
        elif isinstance(found, (tuple, list, frozenset)):
            count += len(found)
            if len(found) < _MIN_UNIFORM_ITEMS or not isinstance(next(iter(found)), _PLAIN):
                waiting.extend(found)
    return count


def _free_lock() -> None:
    global _lock
    _lock = threading.RLock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_free_lock)
