"""Page of runs: index, live runs, comparisons, and pasted answers."""

from __future__ import annotations

import asyncio
import html
import json
import re
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Any, get_args

from pydantic import ValidationError

from veridical.core.verdict_cuts import Verdict
from veridical.diff.paging import Only
from veridical.errors import UsageError, VeridicalError
from veridical.report.html import asset as report_asset
from veridical.serve.pages.access import PageAccess, asset, json_body, page_app, whole_number
from veridical.serve.pages.open_run import Order
from veridical.serve.pages.pasted import Pasted, steps
from veridical.serve.pages.run_index import RunIndex
from veridical.serve.problems import Problem, invalid_request

if TYPE_CHECKING:
    from fastapi import FastAPI
    from starlette.requests import Request
    from starlette.responses import Response

    from veridical.engine.engine import Engine

#: The Content-Security-Policy contained in a report's page.
_POLICY = re.compile(r'http-equiv="Content-Security-Policy" content="([^"]*)"')
#: Maximum concurrent checks of pasted answers.
_CHECKS = 2
_LONGEST_FIND = 200  # maximum characters
_KEY = re.compile("[0-9a-f]{16}")
_SCRIPTS = (
    *("pages.js", "view.js", "runs.js", "compare.js", "several.js", "paste.js"),
    "answers.js",
)


def view_app(
    run_index: RunIndex, access: PageAccess, engine: Engine, llm: str | None = None
) -> FastAPI:
    """Build the page of runs.

    Args:
        engine: checks pasted answers.
        llm: name of the engine's LLM, which answers prompts; None without one.
    """
    from starlette.responses import JSONResponse, Response, StreamingResponse

    static = {
        "page.css": report_asset("page.css") + asset("pages.css"),
        "view.css": asset("view.css"),
        "theme.js": report_asset("theme.js"),
        **{name: asset(name) for name in _SCRIPTS},
    }
    app = page_app(access, "view.html", static, "Runs")
    checks = asyncio.Semaphore(_CHECKS)

    async def index(request: Request) -> Response:
        entries = await asyncio.to_thread(run_index.entries)
        named = await asyncio.to_thread(run_index.named)
        about = {"entries": entries, "named": named, "llm": llm}
        return JSONResponse(about)

    async def run(request: Request) -> Response:
        key = _key(request, "key")
        return JSONResponse(await asyncio.to_thread(lambda: run_index.run(key).progress()))

    async def records(request: Request) -> Response:
        key, page = _key(request, "key"), whole_number(request, "page", 0)
        order: Order = _one_of(request, "order", get_args(Order), "risk")
        verdict: str = _one_of(request, "verdict", ("", *get_args(Verdict)), "")
        find = request.query_params.get("find", "").strip()
        if len(find) > _LONGEST_FIND:
            raise Problem(422, f"find must be of at most {_LONGEST_FIND} characters")
        found = await asyncio.to_thread(lambda: run_index.run(key).page(page, order, verdict, find))
        return JSONResponse(found)

    async def record(request: Request) -> Response:
        key, row = _key(request, "key"), whole_number(request, "row", 0)
        return JSONResponse(await asyncio.to_thread(lambda: run_index.run(key).record(row)))

    async def compare(request: Request) -> Response:
        a, b, page = _key(request, "a"), _key(request, "b"), whole_number(request, "page", 0)
        only: Only = _one_of(request, "only", get_args(Only), "changed")
        return JSONResponse(await asyncio.to_thread(run_index.compared, a, b, page, only))

    async def several(request: Request) -> Response:
        keys = request.query_params.get("keys", "").split(",")
        if not all(map(_KEY.fullmatch, keys)):
            raise Problem(422, "keys must be keys of runs, comma-separated")
        return JSONResponse(await asyncio.to_thread(run_index.several, keys))

    async def figures(request: Request) -> Response:
        return JSONResponse(await asyncio.to_thread(run_index.figures, _key(request, "key")))

    async def report(request: Request) -> Response:
        return _whole(await asyncio.to_thread(run_index.report, _key(request, "key")))

    async def comparison(request: Request) -> Response:
        a, b = _key(request, "a"), _key(request, "b")
        return _whole(await asyncio.to_thread(run_index.comparison, a, b))

    def _whole(page: str) -> Response:
        policy = _POLICY.search(page)
        if policy is None:
            raise Problem(500, "the page has no Content-Security-Policy")
        csp = f"{html.unescape(policy[1])}; frame-ancestors 'none'"
        return Response(page, media_type="text/html", headers={"content-security-policy": csp})

    async def check(request: Request) -> Response:
        body = await json_body(request)
        try:
            pasted = Pasted.model_validate(body)
        except ValidationError as e:
            raise invalid_request(e.errors()) from None
        if pasted.response is None and llm is None:
            raise UsageError(
                "response: the answer is empty; paste one, or start veridical view --llm NAME"
            )

        async def stream() -> AsyncIterator[str]:
            async with checks:
                try:
                    async for step in steps(pasted, engine):
                        yield json.dumps(step) + "\n"
                except VeridicalError as e:
                    yield json.dumps({"event": "error", "error": str(e)}) + "\n"

        return StreamingResponse(stream(), media_type="application/x-ndjson")

    for path, method, route in (
        ("/api/index", "GET", index),
        ("/api/run", "GET", run),
        ("/api/records", "GET", records),
        ("/api/record", "GET", record),
        ("/api/compare", "GET", compare),
        ("/api/several", "GET", several),
        ("/api/figures", "GET", figures),
        ("/api/check", "POST", check),
        ("/report", "GET", report),
        ("/comparison", "GET", comparison),
    ):
        app.add_route(path, route, methods=[method])
    return app


def _key(request: Request, name: str) -> str:
    key = request.query_params.get(name, "")
    if not _KEY.fullmatch(key):
        raise Problem(422, f"{name} must be the key of an entry")
    return key


def _one_of(request: Request, name: str, names: tuple[Any, ...], default: Any) -> Any:
    chosen = request.query_params.get(name, default)
    if chosen not in names:
        raise Problem(422, f"{name} must be one of: {', '.join(filter(None, names))}")
    return chosen
