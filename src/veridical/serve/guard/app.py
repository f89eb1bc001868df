"""The guard as an ASGI app: four routes of model APIs, and ``/healthz``."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Coroutine
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from veridical.serve.guard.chat import ChatApi
from veridical.serve.guard.messages import MessagesApi
from veridical.serve.guard.requests import GuardRequest, send_whole
from veridical.serve.guard.responses import ResponsesApi
from veridical.serve.keys import KEY
from veridical.serve.problems import Problem, Receive, Scope, Send

if TYPE_CHECKING:
    from veridical.decide.policy_file import GuardRules
    from veridical.serve.guard.answers import Mode
    from veridical.serve.guard.checking import SentenceChecker
    from veridical.serve.guard.kept import Kept
    from veridical.serve.guard.pieces import Api
    from veridical.serve.guard.upstream import Upstream
    from veridical.serve.keys import Key

APIS: dict[str, Api] = {
    f"/v1/{api.path}": api
    for api in (ChatApi(chat=True), ChatApi(chat=False), ResponsesApi(), MessagesApi())
}

#: Seconds after which work that goes on for a client that has gone is stopped again.
_AGAIN = 1.0


@dataclass
class Guard:
    """Checks the answers of one upstream.

    Attributes:
        kept: where answers are kept; None: nowhere.
        counts: answers by what was done, for ``/healthz``.
    """

    upstream: Upstream
    checker: SentenceChecker
    rules: GuardRules
    mode: Mode = "annotate"
    kept: Kept | None = None
    counts: Counter[str] = field(default_factory=Counter)
    _behind: set[asyncio.Task[None]] = field(default_factory=set)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._live(receive, send)
            return
        path, method = scope["path"], scope["method"]
        if path == "/healthz":
            if method not in ("GET", "HEAD"):
                raise Problem(405, "only GET", headers={"allow": "GET"})
            await send_whole(send, 200, self._health(), {})
            return
        api = APIS.get(path)
        if api is None:
            raise Problem(404, f"the guard has no such route; it has {', '.join(APIS)}")
        if method != "POST":
            raise Problem(405, "only POST", headers={"allow": "POST"})
        key: Key | None = scope.get(KEY)
        if key is not None:
            key.check_scorers((), [self.upstream.endpoint.name])
        body = await _body(receive)
        work = asyncio.ensure_future(GuardRequest(self, api, body, scope).answer(send))
        gone = asyncio.ensure_future(_until_gone(receive))
        try:
            await asyncio.wait({work, gone}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            gone.cancel()
            # once may not do: a library that is at work at that moment may swallow it
            while not work.done():
                work.cancel()
                await asyncio.wait({work}, timeout=_AGAIN)
            if not work.cancelled():
                work.result()

    async def _live(self, receive: Receive, send: Send) -> None:
        while True:
            message = await receive()
            if message["type"] == "lifespan.startup":
                await send({"type": "lifespan.startup.complete"})
            elif message["type"] == "lifespan.shutdown":
                await self.settle()
                await self.upstream.close()
                await send({"type": "lifespan.shutdown.complete"})
                return

    async def settle(self) -> None:
        """Wait until what is left to be kept is kept."""
        while self._behind:
            await asyncio.wait(set(self._behind))

    @property
    def busy(self) -> bool:
        """Whether answers are still to be judged or kept after they were sent."""
        return bool(self._behind)

    def behind(self, work: Coroutine[Any, Any, None]) -> None:
        """Do something that no client waits for."""
        task = asyncio.ensure_future(work)
        self._behind.add(task)
        task.add_done_callback(self._behind.discard)

    def _health(self) -> bytes:
        found = {
            "status": "ok",
            "mode": self.mode,
            "upstream": self.upstream.endpoint.name,
            "on_error": self.checker.on_error,
            "answers": dict(self.counts),
        }
        return json.dumps(found).encode("ascii")


async def _body(receive: Receive) -> dict[str, Any]:
    """The body of a request.

    Raises:
        Problem: 400, it is no JSON object.
    """
    data = bytearray()
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise Problem(400, "the body is not whole")
        data += message.get("body", b"")
        if not message.get("more_body", False):
            break
    try:
        body = json.loads(bytes(data), parse_constant=_no_constant)
    except (ValueError, RecursionError):
        raise Problem(400, "the body is no JSON") from None
    if not isinstance(body, dict):
        raise Problem(400, "the body is no JSON object")
    return body


def _no_constant(name: str) -> None:
    raise ValueError(name)


async def _until_gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
