"""A server that misbehaves in one of many ways, by the path it is called under, and keeps its own
count of what it would charge: for every request that it worked on, whether or not the answer
arrived, the tokens of the prompt and those that it has written."""

from __future__ import annotations

import gzip
import json
import random
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "llm"))

from faults import FAULTS, FaultServer, reply
from test_llm_kill import serving

PRICE_IN, PRICE_OUT = 1000.0, 2000.0  # a million tokens
#: Refused before any work: nothing is charged.
UNWORKED = frozenset(
    {"429", "429 seconds", "429 date", "503", "529", "400", "401", "403", "404", "413", "422"}
    | {"quota", "echoed key", "redirect", "filtered"}
)
#: Ways to count that are none.
COUNTS: dict[str, Any] = {
    "no usage": None,
    "usage zero": {"prompt_tokens": 0, "completion_tokens": 0},
    "usage text": {"prompt_tokens": "7", "completion_tokens": "7"},
    "usage negative": {"prompt_tokens": -7, "completion_tokens": -7},
    "usage fraction": {"prompt_tokens": 0.5, "completion_tokens": 0.5},
    "usage half": {"prompt_tokens": 7},
    "usage list": [7, 7],
    "usage huge": {"prompt_tokens": 2**60, "completion_tokens": 2**60},
}
_TIMES: dict[str, Callable[[int], str | None]] = {
    "three malformed, one good": lambda i: "not json" if i % 4 < 3 else None,
    "three cut, one good": lambda i: "cut" if i % 4 < 3 else None,
    "two lost, one uncounted": lambda i: "disconnect" if i % 3 < 2 else "no usage",
    "first good, then hangs": lambda i: None if i < 2 else "hang",
    "busy, then cut": lambda i: "429" if i % 2 else "cut",
    "errors by turns": lambda i: ("500", "502", "408", "error under 200")[i % 4],
    "anything": lambda i: random.Random(i).choice([*FAULTS, *COUNTS, None, None]),
}
MODES = (
    "healthy",
    *FAULTS,
    *COUNTS,
    *_TIMES,
    *("408", "504", "520", "400", "401", "quota", "echoed key", "redirect", "filtered"),
    *("bomb", "huge", "packed", "half packed", "not utf-8", "two objects", "thinks", "slow"),
    *("ignores n", "refuses n", "refuses schema", "another max_tokens", "nobody"),
)
_BODIES = {
    "quota": (429, {"error": {"code": "insufficient_quota", "message": "pay"}}),
    "filtered": (400, {"error": {"code": "content_filter", "message": "no"}}),
    "echoed key": (401, {"error": {"message": "bad key sk-a1b2c3d4 e5f6g7h8"}}),
    "another max_tokens": (400, {"error": {"message": "use 'max_completion_tokens' instead"}}),
}
_CAN = {
    "ignores n": {"n": "ignored"},
    "refuses n": {"n": "'n' must be 1"},
    "refuses schema": {"schema": "response_format is not supported"},
}


class PaidServer(FaultServer):
    """One mode of it.

    Attributes:
        paid: money, by the server's own count.
    """

    def __init__(self, mode: str) -> None:
        super().__init__(self._next, latency=0.2 if mode == "slow" else 0.01, retry_after=0.2)
        self.can |= _CAN.get(mode, {})
        self.mode = mode
        self.paid = 0.0
        self._counts: Any = "truly"
        self._fault: str | None = None

    def _next(self, number: int) -> str | None:
        """The fault of this call, which is charged for here."""
        payload = self.seen[-1]
        fault = _TIMES[self.mode](number) if self.mode in _TIMES else self.mode
        if fault in ("healthy", "slow", *_CAN) or (
            fault == "another max_tokens" and "max_completion_tokens" in payload
        ):
            fault = None
        self._fault = fault
        self._counts = COUNTS.get(fault or "", "thinks" if fault == "thinks" else "truly")
        refused = payload.get("n", 1) > 1 and self.mode == "refuses n"
        refused |= "response_format" in payload and self.mode == "refuses schema"
        if fault not in UNWORKED and fault != "another max_tokens" and not refused:
            self.paid += self.price(payload, fault)
        return "counted" if fault in COUNTS or fault == "thinks" else fault

    def price(self, payload: dict[str, Any], fault: str | None) -> float:
        """Of answers as long as they may be."""
        choices = payload.get("n", 1) if self.can["n"] == "yes" else 1
        choices += 2 if fault == "more" else 0
        written = choices * self.written(payload, fault) * payload.get("best_of", 1)
        return (self.prompt(payload) * PRICE_IN + written * PRICE_OUT) / 1e6

    @staticmethod
    def written(payload: dict[str, Any], fault: str | None) -> int:
        """Tokens of one answer: as many as it may have. What was not asked for cannot be reserved
        for, so where there are more answers than that, each is short."""
        longest: int = payload.get("max_completion_tokens", payload.get("max_tokens"))
        return longest // 4 if fault == "more" else longest

    @staticmethod
    def prompt(payload: dict[str, Any]) -> int:
        texts = [m["content"] for m in payload["messages"]]
        return 20 + sum(len(t.encode()) for t in texts)

    def completion(self, payload: dict[str, Any], choices: int | None = None) -> dict[str, Any]:
        found = super().completion(payload, choices)
        count = len(found["choices"])
        written = count * self.written(payload, self._fault)
        told: Any = {"prompt_tokens": self.prompt(payload), "completion_tokens": written}
        if self._counts == "thinks":
            told["total_tokens"] = sum(told.values())
            told["completion_tokens"] = 1
        elif self._counts != "truly":
            told = self._counts
        return {**found, "usage": told}

    async def _misbehave(self, fault: str, payload: dict[str, Any], send: Any) -> None:
        if fault == "counted":
            return await reply(send, 200, self.completion(payload))
        if fault in _BODIES:
            return await reply(send, *_BODIES[fault])
        if fault == "half packed":
            packed = gzip.compress(json.dumps(self.completion(payload)).encode())
            return await reply(send, 200, packed[: len(packed) // 2], {"content-encoding": "gzip"})
        if fault == "not utf-8":
            return await reply(send, 200, json.dumps(self.completion(payload)).encode("utf-16"))
        if fault == "two objects":
            return await reply(send, 200, 2 * json.dumps(self.completion(payload)).encode())
        if fault.isdecimal() and fault not in ("429", "500", "502", "529", "503"):
            return await reply(send, int(fault), {"error": {"message": "no"}})
        if fault == "refused connection":  # as far as a socket that is open can
            return None
        await super()._misbehave(fault, payload, send)


class PaidServers:
    """All of them, as one application: ``/MODE/v1/...``."""

    def __init__(self) -> None:
        self.by_mode = {mode: PaidServer(mode) for mode in MODES}

    @property
    def calls(self) -> int:
        return sum(server.calls for server in self.by_mode.values())

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        number = int(scope["path"].split("/")[1])
        await self.by_mode[MODES[number]](scope, receive, send)


@contextmanager
def paid_servers() -> Iterator[tuple[PaidServers, int]]:
    """The servers and their port."""
    app = PaidServers()
    with serving(app) as served:  # type: ignore[arg-type]
        yield app, served.port
