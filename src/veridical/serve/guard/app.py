"""Guard as an ASGI app: routes of model APIs, ``/healthz`` and ``/metrics``."""

from __future__ import annotations

import asyncio
import json
import logging
import re
from collections import Counter
from collections.abc import Callable, Collection, Coroutine, Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from veridical.io.http_body import BodyError, parse_json
from veridical.serve.guard.chat import ChatApi
from veridical.serve.guard.errors import shaped
from veridical.serve.guard.fields import NAMES
from veridical.serve.guard.messages import MessagesApi
from veridical.serve.guard.requests import GuardRequest, send_whole
from veridical.serve.guard.responses import ResponsesApi
from veridical.serve.guard.upstream import LONGEST_REPLY, whole
from veridical.serve.keys import KEY
from veridical.serve.logs import log, logged
from veridical.serve.memory import release_when_idle
from veridical.serve.problems import ROUTE, App, Problem, Receive, Scope, Send
from veridical.serve.security import Limits, Secured, header, names_for

if TYPE_CHECKING:
    from veridical.decide.policy_file import GuardRules
    from veridical.serve.guard.answer_store import AnswerStore
    from veridical.serve.guard.answers import AnswerSummary, Mode
    from veridical.serve.guard.checking import SentenceChecker
    from veridical.serve.guard.fields import Kind
    from veridical.serve.guard.pieces import Api
    from veridical.serve.guard.upstream import Upstream
    from veridical.serve.keys import Key

APIS: dict[str, Api] = {
    f"/v1/{api.path}": api
    for api in (ChatApi(chat=True), ChatApi(chat=False), ResponsesApi(), MessagesApi())
}

_OWN = ("/healthz", "/metrics")
_MODELS = re.compile(r"/v1/models(/[\w.:@-]{1,128}(/[\w.:@-]{1,128})?)?")
_log = logging.getLogger("veridical.guard")

#: Seconds between attempts to stop work for a client that has disconnected.
_AGAIN = 1.0


@dataclass
class Guard:
    """Guard of the answers of one upstream.

    Attributes:
        kept: store of answers; None: nothing is stored.
        passed: kinds of content that held answers contain unchecked.
        counts: answers by outcome, for ``/healthz``.
    """

    upstream: Upstream
    checker: SentenceChecker
    rules: GuardRules
    mode: Mode = "annotate"
    kept: AnswerStore | None = None
    passed: Collection[Kind] = ()
    counts: Counter[str] = field(default_factory=Counter)
    _behind: set[asyncio.Task[None]] = field(default_factory=set)
    _told: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        from veridical.serve.guard.metrics import GuardMetrics

        self.metrics = GuardMetrics(self.checker.engine)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._live(receive, send)
            return
        path, method = scope["path"], scope["method"]
        api = APIS.get(path)
        models = _MODELS.fullmatch(path)
        if api is None and models is None and path not in _OWN:
            routes = ", ".join((*APIS, "/v1/models", *_OWN))
            raise Problem(404, f"unknown route; the guard has {routes}")
        scope[ROUTE] = "/v1/models" if models is not None else path
        allowed = "POST" if api is not None else "GET"
        if method != allowed and (method, allowed) != ("HEAD", "GET"):
            raise Problem(405, f"the method must be {allowed}", headers={"allow": allowed})
        if path == "/healthz":
            await send_whole(send, 200, self._health(), {})
            return
        if path == "/metrics":
            await send_whole(send, 200, self.metrics.text(), {}, self.metrics.content_type)
            return
        key: Key | None = scope.get(KEY)
        if key is not None:
            key.check_scorers((), [self.upstream.endpoint.name])
        if api is None:
            await self._models(path.removeprefix("/v1/"), scope, send)
            return
        body = await _body(receive)
        work = asyncio.ensure_future(GuardRequest(self, api, body, scope).answer(send))
        gone = asyncio.ensure_future(_until_gone(receive))
        try:
            await asyncio.wait({work, gone}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            gone.cancel()
            # cancelling once may not suffice: a library active at that moment may swallow it
            while not work.done():
                work.cancel()
                await asyncio.wait({work}, timeout=_AGAIN)
            if not work.cancelled():
                work.result()

    async def _models(self, path: str, scope: Scope, send: Send) -> None:
        """Pass on the upstream's list of models."""
        version = header(scope, "anthropic-version")
        headers = {} if version is None else {"anthropic-version": version}
        async with self.upstream.send(path, None, headers) as response:
            try:
                found = parse_json(await whole(response), LONGEST_REPLY)
            except (BodyError, OSError) as e:
                raise Problem(502, f"the upstream's list of models is unusable: {e}") from None
            status = response.status_code
        if status != 200:
            raise Problem(status if status >= 400 else 502, "the upstream does not list models")
        await send_whole(send, 200, json.dumps(found).encode("ascii"), {})

    async def _live(self, receive: Receive, send: Send) -> None:
        releasing: asyncio.Task[None] | None = None
        while True:
            message = await receive()
            if message["type"] == "lifespan.startup":
                releasing = asyncio.create_task(release_when_idle(self.metrics.requests))
                await send({"type": "lifespan.startup.complete"})
            elif message["type"] == "lifespan.shutdown":
                if releasing is not None:
                    releasing.cancel()
                await self.settle()
                await self.upstream.close()
                await send({"type": "lifespan.shutdown.complete"})
                return

    async def settle(self) -> None:
        """Wait until all pending answers are stored."""
        while self._behind:
            await asyncio.wait(set(self._behind))

    @property
    def busy(self) -> bool:
        """Return True if answers are still being judged or stored after they were sent."""
        return bool(self._behind)

    def behind(self, work: Coroutine[Any, Any, None]) -> None:
        """Run work in the background, after the reply."""
        task = asyncio.ensure_future(work)
        self._behind.add(task)
        task.add_done_callback(self._behind.discard)

    def unsourced(self) -> None:
        """Count a request without sources; warn the operator of the first."""
        self.counts["no sources"] += 1
        self.metrics.unsourced()
        if self.counts["no sources"] == 1:
            _log.warning(
                "a request has no sources, so its answer is unchecked; put them into "
                "documents, tool messages or veridical.contexts, between tags such as <context> "
                "or below a heading such as Context: in a message, or describe the text around "
                "them "
                "in [guard] source_pattern"
            )

    def withheld(self, kind: str) -> None:
        """Count content that was left out of a held answer; warn the operator of the first."""
        option = next(k for k, name in NAMES.items() if name == kind)
        self.metrics.withheld(option)
        if option not in self._told:
            self._told.add(option)
            _log.warning(
                "%s cannot be checked and were left out of an answer; use --pass-unchecked %s "
                "to pass them on",
                kind,
                option,
            )

    def count(self, found: AnswerSummary, *, blocked: bool, sourced: bool) -> None:
        """Count an answer, and log its decision."""
        counts = self.counts
        counts["answers"] += 1
        counts[found.decision] += 1
        counts[found.status] += 1
        if found.status == "failed" and self.checker.on_error == "open":
            counts["failed open"] += 1
        if blocked:
            counts["blocked"] += 1
        self.metrics.answer(found, blocked=blocked)
        first = next((s for s in found.sentences if s["decision"] == "reject"), None)
        why = {} if first is None else {"start": first["start"], "end": first["end"]}
        if first is not None and first.get("reason"):
            why["reason"] = first["reason"]
        log(
            _log,
            logging.INFO,
            "an answer was blocked" if blocked else "an answer was checked",
            decision=found.decision,
            verdict=found.verdict,
            status=found.status,
            sources="found" if sourced else "none",
            **why,
        )

    def _health(self) -> bytes:
        found = {
            "status": "ok",
            "mode": self.mode,
            "upstream": self.upstream.endpoint.name,
            "on_error": self.checker.on_error,
            "answers": dict(self.counts),
        }
        return json.dumps(found).encode("ascii")


def guarded(
    guard: Guard,
    host: str = "127.0.0.1",
    allow_hosts: Iterable[str] = (),
    admit: Callable[[Scope], None] | None = None,
) -> App:
    """Build the guard with request validation, as a server runs it."""
    secured = Secured(
        guard,
        known_host=names_for(host, allow_hosts),
        admit=admit,
        limits=Limits(body=32 * 2**20, unpacked=64 * 2**20, together=256 * 2**20),
        shape=shaped,
    )
    return logged(guard.metrics.around(secured))


async def _body(receive: Receive) -> dict[str, Any]:
    """Read the body of a request.

    Raises:
        Problem: 400, it is not a JSON object.
    """
    data = bytearray()
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise Problem(400, "the body is incomplete")
        data += message.get("body", b"")
        if not message.get("more_body", False):
            break
    try:
        body = json.loads(bytes(data), parse_constant=_no_constant)
    except (ValueError, RecursionError):
        raise Problem(400, "the body is not JSON") from None
    if not isinstance(body, dict):
        raise Problem(400, "the body is not a JSON object")
    return body


def _no_constant(name: str) -> None:
    raise ValueError(name)


async def _until_gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
