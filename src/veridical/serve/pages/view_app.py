"""The page of runs: an index, runs under way, two side by side, and an answer that is pasted."""

from __future__ import annotations

import asyncio
import html
import json
import re
from collections.abc import AsyncIterator, Mapping
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from veridical.errors import UsageError, VeridicalError
from veridical.report.html import asset as report_asset
from veridical.serve.pages.door import Door, asset, json_body, page_app, whole_number
from veridical.serve.pages.pasted import Pasted, steps
from veridical.serve.pages.shelf import Shelf
from veridical.serve.problems import Problem, invalid_request

if TYPE_CHECKING:
    from fastapi import FastAPI
    from starlette.requests import Request
    from starlette.responses import Response

#: The policy that a page of a report has in itself.
_POLICY = re.compile(r'http-equiv="Content-Security-Policy" content="([^"]*)"')
#: Checks of pasted answers at a time.
_CHECKS = 2


def view_app(
    shelf: Shelf, door: Door, *, engine: Mapping[str, Any] | None = None, llm: str | None = None
) -> FastAPI:
    """The page of a shelf.

    Args:
        engine: options of the engine that checks what is pasted.
        llm: that answers prompts; None for none.
    """
    from starlette.responses import JSONResponse, Response, StreamingResponse

    static = {
        "page.css": report_asset("page.css") + asset("pages.css"),
        "view.css": asset("view.css"),
        "theme.js": report_asset("theme.js"),
        "pages.js": asset("pages.js"),
        "view.js": asset("view.js"),
        "paste.js": asset("paste.js"),
    }
    app = page_app(door, "view.html", static, "Runs")
    checks = asyncio.Semaphore(_CHECKS)

    async def index(request: Request) -> Response:
        return JSONResponse({"entries": await asyncio.to_thread(shelf.entries), "llm": llm})

    async def run(request: Request) -> Response:
        return JSONResponse(await asyncio.to_thread(shelf.run, _key(request, "key")))

    async def compare(request: Request) -> Response:
        changed = request.query_params.get("only") == "changed"
        page = whole_number(request, "page", 0)
        a, b = _key(request, "a"), _key(request, "b")
        found = await asyncio.to_thread(lambda: shelf.compared(a, b, page, changed=changed))
        return JSONResponse(found)

    async def figures(request: Request) -> Response:
        return JSONResponse(await asyncio.to_thread(shelf.figures, _key(request, "key")))

    async def report(request: Request) -> Response:
        page = await asyncio.to_thread(shelf.report, _key(request, "key"))
        policy = _POLICY.search(page)
        if policy is None:
            raise Problem(500, "the page has no policy")
        csp = f"{html.unescape(policy[1])}; frame-ancestors 'none'"
        return Response(page, media_type="text/html", headers={"content-security-policy": csp})

    async def check(request: Request) -> Response:
        body = await json_body(request)
        try:
            pasted = Pasted.model_validate(body)
        except ValidationError as e:
            raise invalid_request(e.errors()) from None
        if pasted.response is None and llm is None:
            raise UsageError("response: paste an answer; veridical view --llm NAME answers prompts")

        async def told() -> AsyncIterator[str]:
            async with checks:
                try:
                    async for step in steps(pasted, engine or {}, llm):
                        yield json.dumps(step) + "\n"
                except VeridicalError as e:
                    yield json.dumps({"event": "error", "error": str(e)}) + "\n"

        return StreamingResponse(told(), media_type="application/x-ndjson")

    for path, method, route in (
        ("/api/index", "GET", index),
        ("/api/run", "GET", run),
        ("/api/compare", "GET", compare),
        ("/api/figures", "GET", figures),
        ("/api/check", "POST", check),
        ("/report", "GET", report),
    ):
        app.add_route(path, route, methods=[method])
    return app


def _key(request: Request, name: str) -> str:
    key = request.query_params.get(name, "")
    if not re.fullmatch("[0-9a-f]{16}", key):
        raise Problem(422, f"{name} must be the key of an entry")
    return key
