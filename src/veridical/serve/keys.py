"""Server keys: permissions, request limits and money limits.

The file holds no key, only hashes::

    {"keys": [{"name": "web", "sha256": "...", "scorers": ["nli_grounding", "ensemble"],
               "llms": [], "requests_per_minute": 120, "usd_per_day": 5.0}]}

A missing or null field sets no limit.
"""

from __future__ import annotations

import json
import logging
import math
import secrets
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from veridical.errors import UsageError
from veridical.files.atomic import write_atomic
from veridical.llm.budget import Budget
from veridical.serve.problems import Problem, Scope, place
from veridical.serve.security import bearer_key, hash_of, same
from veridical.text.display import display, shown, visible

if TYPE_CHECKING:
    from veridical.core.registry import BoundScorer

#: Prefix of keys, so that a search for leaked secrets finds them.
PREFIX = "vk-"
#: Key in a request's scope under which its API key is stored.
KEY = "veridical.key"
_DAY = 86_400
_OPEN = ("/healthz", "/readyz")

_log = logging.getLogger("veridical.serve")


class Key(BaseModel):
    """Permissions and limits of a key.

    Attributes:
        name: of the owner, for logs and the ownership of jobs.
        sha256: of the key.
        scorers: names of permitted scorers; None: all.
        llms: names of permitted LLMs; None: all that the server offers.
        requests_per_minute, usd_per_day: None: no limit.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: Annotated[str, Field(min_length=1, max_length=200)]
    sha256: Annotated[str, Field(pattern="^[0-9a-f]{64}$")]
    scorers: list[str] | None = None
    llms: list[str] | None = None
    requests_per_minute: Annotated[int, Field(ge=1)] | None = None
    usd_per_day: Annotated[float, Field(ge=0, allow_inf_nan=False)] | None = None

    def check_scorers(self, scorers: Sequence[BoundScorer], llms: Sequence[str]) -> None:
        """Check the permissions of the key.

        Raises:
            Problem: 403.
        """
        if self.scorers is not None:
            for bound in scorers:
                if bound.scorer.name not in self.scorers:
                    raise Problem(403, f"this key does not permit the scorer {bound.scorer.name}")
        if self.llms is not None:
            for name in llms:
                if name not in self.llms:
                    raise Problem(403, f"this key does not permit the LLM {visible(name)}")


class _File(BaseModel):
    model_config = ConfigDict(extra="forbid")
    keys: list[Key]

    @field_validator("keys")
    @classmethod
    def _distinct(cls, keys: list[Key]) -> list[Key]:
        names = [key.name for key in keys]
        if len(set(names)) < len(names):
            raise ValueError("two keys have the same name")
        return keys


class DayBudget(Budget):
    """Money budget that is renewed each day.

    Args:
        spent: amount spent today.
        changed: called when the amount spent or reserved has changed.
    """

    def __init__(
        self, limit: float, spent: float, changed: Callable[[], None], within: Budget | None
    ) -> None:
        super().__init__(limit, within)
        self.spent = spent
        self._changed = changed
        self._day = _today()

    async def reserve(self, each: float, count: int) -> int:
        """See :meth:`Budget.reserve`."""
        self._turn_day()
        fitting = await super().reserve(each, count)
        self._changed()
        return fitting

    def settle(self, reserved: float, spent: float) -> None:
        """See :meth:`Budget.settle`."""
        self._turn_day()
        super().settle(reserved, spent)
        self._changed()

    def left(self) -> float:
        """Return the money left today, ignoring calls in flight."""
        self._turn_day()
        return self.limit - self.spent

    def owed(self) -> float:
        """Return the money spent today, with calls in flight at their worst case."""
        self._turn_day()
        return self.spent + self._reserved

    def _turn_day(self) -> None:
        if (today := _today()) != self._day:
            self._day, self.spent = today, 0.0


class Keys:
    """Keys of a file, with the used part of their limits.

    Args:
        keys: see :func:`read_keys`.
        spent: file that keeps the money spent today across restarts; None: not kept.
        within: budget of the whole server.
    """

    def __init__(
        self, keys: Sequence[Key], spent: Path | None = None, within: Budget | None = None
    ) -> None:
        self.keys = list(keys)
        self._file = spent
        self._allowed = {key.name: float(key.requests_per_minute or 0) for key in keys}
        self._seen = dict.fromkeys(self._allowed, time.monotonic())
        self._saving = threading.Lock()
        self._unsaved = False
        before = self._read_spent()
        self._budgets = {
            key.name: DayBudget(key.usd_per_day, before.get(key.name, 0.0), self._note, within)
            for key in keys
            if key.usd_per_day is not None
        }

    def admit(self, scope: Scope) -> None:
        """Admit a request with a known key that has requests left; store the key in its scope.

        Raises:
            Problem: 401 without a known key, 429 if it has no request left.
        """
        if scope["path"] in _OPEN:
            return
        given = hash_of(bearer_key(scope) or "")
        found = None
        for key in self.keys:  # compare all, so that the time reveals nothing
            if same(given, key.sha256):
                found = key
        if found is None:
            raise Problem(
                401,
                "a key is required; send Authorization: Bearer KEY",
                headers={"www-authenticate": "Bearer"},
            )
        self._take_request(found)
        scope[KEY] = found

    def _take_request(self, key: Key) -> None:
        if key.requests_per_minute is None:
            return
        now, rate = time.monotonic(), key.requests_per_minute / 60
        left = self._allowed[key.name] + (now - self._seen[key.name]) * rate
        self._allowed[key.name] = left = min(left, float(key.requests_per_minute))
        self._seen[key.name] = now
        if left < 1:
            wait = max(1, math.ceil((1 - left) / rate))
            raise Problem(
                429,
                f"this key may send {key.requests_per_minute} requests per minute; try again later",
                headers={"retry-after": str(wait)},
            )
        self._allowed[key.name] = left - 1

    @property
    def pay(self) -> bool:
        """Return True if a key has a money limit."""
        return bool(self._budgets)

    def named(self, name: str) -> Key | None:
        """Return the key of an owner."""
        return next((key for key in self.keys if key.name == name), None)

    def budget(self, key: Key | None) -> DayBudget | None:
        """Return the budget for the LLM calls of the key; None: no limit.

        Raises:
            Problem: 429, nothing is left of today's money.
        """
        budget = None if key is None else self._budgets.get(key.name)
        if budget is not None and budget.left() <= 0:
            raise Problem(
                429,
                "this key has reached its money limit for today",
                headers={"retry-after": str(seconds_left_today())},
            )
        return budget

    def _note(self) -> None:
        self._unsaved = True

    def save(self) -> None:
        """Store the money spent today, if it has changed.

        Includes the worst case of calls in flight, as they may be charged without this server.
        """
        with self._saving:
            if not self._unsaved or self._file is None:
                return
            self._unsaved = False
            usd = {name: budget.owed() for name, budget in self._budgets.items()}
            text = json.dumps({"day": _today(), "usd": usd})
            try:
                write_atomic(self._file, text + "\n", private=True)
            except OSError:
                self._unsaved = True
                _log.exception("the spending of keys could not be stored")

    def _read_spent(self) -> dict[str, float]:
        if self._file is None or not self._file.exists():
            return {}
        try:
            kept = json.loads(self._file.read_text("utf-8"))
            usd = {str(name): float(value) for name, value in kept["usd"].items()}
        except (OSError, ValueError, TypeError, KeyError, AttributeError):
            raise UsageError(
                f"{display(self._file)} is not a record of the keys' spending today; remove it"
            ) from None
        return usd if kept["day"] == _today() else {}


def _today() -> int:
    return int(time.time()) // _DAY


def seconds_left_today() -> int:
    """Return the seconds until the daily limits are renewed, at midnight UTC."""
    return _DAY - int(time.time()) % _DAY


def read_keys(path: Path) -> list[Key]:
    """Read a file of keys.

    Raises:
        UsageError: the file is unreadable, is not a file of keys, or has no key.
    """
    try:
        keys = _File.model_validate(json.loads(path.read_text("utf-8"))).keys
    except OSError as e:
        raise UsageError(f"--keys {display(path)}: {e.strerror}") from None
    except ValidationError as e:
        first = e.errors(include_url=False)[0]
        where = place(first["loc"])
        raise UsageError(f"--keys {display(path)}: {where}: {first['msg']}") from None
    except ValueError:
        raise UsageError(f"--keys {display(path)}: not JSON") from None
    if not keys:
        raise UsageError(f"--keys {display(path)} has no key; create one with --new-key NAME")
    return keys


def new_key(path: Path, name: str) -> str:
    """Create a key, add its hash to the file, and return it; the key itself is not stored.

    Raises:
        UsageError: the file has a key of that name, or cannot be written.
    """
    entries: list[Key] = []
    if path.exists() and path.read_text("utf-8").strip():
        try:
            entries = _File.model_validate_json(path.read_text("utf-8")).keys
        except ValidationError:
            raise UsageError(f"--keys {display(path)}: not a file of keys") from None
    if any(key.name == name for key in entries):
        raise UsageError(
            f"--new-key: {display(path)} already has a key {shown(name)}; choose another name"
        )
    key = PREFIX + secrets.token_urlsafe(32)
    try:
        entry = Key(name=name, sha256=hash_of(key))
    except ValidationError:
        raise UsageError("--new-key: the name must have 1 to 200 characters") from None
    rows = [k.model_dump(exclude_none=True) for k in (*entries, entry)]
    try:
        write_atomic(path, json.dumps({"keys": rows}, indent=1) + "\n", private=True)
    except OSError as e:
        raise UsageError(f"--keys {display(path)}: {e.strerror}") from None
    return key
