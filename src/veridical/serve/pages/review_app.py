"""Review page over HTTP."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from veridical.report.html import asset as report_asset
from veridical.review.service import ReviewService, SubmittedLabel
from veridical.serve.pages.access import PageAccess, asset, json_body, page_app, whole_number
from veridical.serve.problems import Problem, invalid_request

if TYPE_CHECKING:
    from fastapi import FastAPI
    from starlette.requests import Request
    from starlette.responses import Response

_LONGEST_COMMENT = 20_000


def review_app(
    service: ReviewService, access: PageAccess, *, finished: Callable[[], None] | None = None
) -> FastAPI:
    """Build the review page.

    Args:
        finished: called after the label that completes the estimate.
    """
    from starlette.responses import JSONResponse

    static = {
        "page.css": report_asset("page.css") + asset("pages.css"),
        "review.css": asset("review.css"),
        "theme.js": report_asset("theme.js"),
        "pages.js": asset("pages.js"),
        "review.js": asset("review.js"),
        "agreement.js": asset("agreement.js"),
    }
    app = page_app(access, "review.html", static, "Review")

    async def session(request: Request) -> Response:
        return JSONResponse(await asyncio.to_thread(service.session, access.name(request)))

    async def queue(request: Request) -> Response:
        only = request.query_params.get("only", "all")
        if only not in ("all", "open", "done"):
            raise Problem(422, "only must be all, open or done")
        number = whole_number(request, "page", 0)
        return JSONResponse(
            await asyncio.to_thread(service.page, access.name(request), number, only)
        )

    async def following(request: Request) -> Response:
        after = request.query_params.get("after")
        row = None if after is None else whole_number(request, "after", 0)
        found = await asyncio.to_thread(service.next, access.name(request), row)
        return JSONResponse({"answer": found})

    async def answer(request: Request) -> Response:
        row = whole_number(request, "row", 0)
        found = await asyncio.to_thread(service.answer, access.name(request), row)
        if found is None:
            raise Problem(404, f"the run has no row {row}")
        return JSONResponse({"answer": found})

    async def label(request: Request) -> Response:
        body = await json_body(request)
        try:
            given = SubmittedLabel.model_validate(body)
        except ValidationError as e:
            raise invalid_request(e.errors()) from None
        found = await asyncio.to_thread(service.label, access.name(request), given)
        return JSONResponse({"answer": found})

    async def done(request: Request) -> Response:
        body = await json_body(request)
        seconds = body.get("seconds")
        if not isinstance(seconds, (int, float)) or not 0 <= seconds <= 1e7:
            seconds = None
        who = access.name(request)
        found = await asyncio.to_thread(service.done, who, _row(body), seconds)
        answer = {"answer": found, "session": await asyncio.to_thread(service.session, who)}
        if finished is not None and await asyncio.to_thread(service.is_done):
            finished()
        return JSONResponse(answer)

    async def comment(request: Request) -> Response:
        body = await json_body(request)
        text = body.get("comment")
        if not isinstance(text, str) or len(text) > _LONGEST_COMMENT:
            raise Problem(422, f"comment must be a text of at most {_LONGEST_COMMENT:,} characters")
        await asyncio.to_thread(service.comment, access.name(request), _row(body), text)
        return JSONResponse({})

    async def agreement(request: Request) -> Response:
        if not service.adjudicates(access.name(request)):
            raise Problem(403, "agreement is shown only to the adjudicator")
        return JSONResponse(await asyncio.to_thread(service.agreement))

    async def adjudicate(request: Request) -> Response:
        body = await json_body(request)
        unit, decided = body.get("unit"), body.get("label")
        if not isinstance(unit, dict):
            raise Problem(422, "unit must be an object")
        if decided not in ("supported", "says_nothing", "contradicted", "not_a_claim"):
            raise Problem(422, "label must be one of the four labels")
        await asyncio.to_thread(service.adjudicate, access.name(request), _row(body), unit, decided)
        return JSONResponse({})

    async def estimate(request: Request) -> Response:
        return JSONResponse(await asyncio.to_thread(service.estimate))

    for path, method, route in (
        ("/api/me", "GET", session),
        ("/api/queue", "GET", queue),
        ("/api/next", "GET", following),
        ("/api/answer", "GET", answer),
        ("/api/label", "POST", label),
        ("/api/done", "POST", done),
        ("/api/comment", "POST", comment),
        ("/api/agreement", "GET", agreement),
        ("/api/adjudicate", "POST", adjudicate),
        ("/api/estimate", "GET", estimate),
    ):
        app.add_route(path, route, methods=[method])
    return app


def _row(body: dict[str, Any]) -> int:
    row = body.get("row")
    if type(row) is not int or row < 0:
        raise Problem(422, "row must be a whole number")
    return row
