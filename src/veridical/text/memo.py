"""What is made of texts, kept while it is in use: many records may share a text.

A process keeps one :data:`TEXTS`. How much is kept is bounded by characters, not by entries: texts
may be a word or a book.
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

#: Characters of the texts of which something is kept, each time anew for each thing that is made
#: of a text. What is kept takes 2 to 16 bytes a character; what takes more counts for more.
CHARACTERS = 4_000_000
_ENTRY = 64  # characters that an entry counts besides its text's: it is never free
_CHARACTERS_PER_ITEM = 8  # of tuples and dictionaries, as a table of small numbers has many
_LONG = 32  # items: a longer tuple that begins with a plain value has none but these
_PLAIN = (str, int, float, bool, type(None))

# Of all memos, as a fork must find it free. Reentrant: within it, objects may be destroyed.
_lock = threading.RLock()


class Memo(Generic[K, T]):
    """Values by key, the latest used ones. Thread-safe; whoever finds a value must not alter it.

    Args:
        most: characters of what is kept.
    """

    def __init__(self, most: int = CHARACTERS) -> None:
        self.most = most
        self.held = 0
        self._entries: OrderedDict[K, tuple[T, int]] = OrderedDict()

    def find(self, key: K) -> tuple[T] | None:
        """The value of ``key``, which is now the latest used one."""
        with _lock:
            entry = self._entries.get(key)
            if entry is None:
                return None
            self._entries.move_to_end(key)
        return (entry[0],)

    def keep(self, key: K, value: T, characters: int) -> None:
        """Keep ``value``, made of so many characters. What is more than all may hold is not."""
        size = characters + _ENTRY
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
        """Forget everything."""
        with _lock:
            self._entries.clear()
            self.held = 0


#: What the functions that are :func:`kept` gave.
TEXTS: Memo[Hashable, Any] = Memo()


def kept(make: Callable[P, T]) -> Callable[P, T]:
    """Let a function of texts, or tuples of texts, be called once for each while it is in use.

    It must depend on nothing else, and what it returns can be altered by nobody, or is not. Two
    threads that ask for the same at once may both call it.
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
    """Return the number of items of nested tuples, lists, sets and dictionaries."""
    count = 0
    waiting = [value]
    while waiting:
        found = waiting.pop()
        if isinstance(found, dict):
            waiting.append(list(found.values()))
        elif isinstance(found, (tuple, list, frozenset)):
            count += len(found)
            if len(found) < _LONG or not isinstance(next(iter(found)), _PLAIN):
                waiting.extend(found)
    return count


def _free_lock() -> None:
    global _lock
    _lock = threading.RLock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_free_lock)
