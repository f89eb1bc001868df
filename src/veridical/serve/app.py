"""Routes of ``veridical serve``."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

from fastapi import FastAPI, Path, Query, Request
from fastapi.responses import Response, StreamingResponse
from pydantic import BaseModel, ValidationError
from pydantic_core import to_json

from veridical.core.registry import REGISTRY
from veridical.core.resolving import resolve
from veridical.engine.run import Task
from veridical.serve import events, facades
from veridical.serve.jobs import Jobs, StoredJob, new_id, now, records_as_lines
from veridical.serve.logs import logged
from veridical.serve.metrics import CONTENT_TYPE
from veridical.serve.problems import App, Problem, answer_problems, invalid_request
from veridical.serve.request_options import records_of, unused_in
from veridical.serve.schemas import (
    MOST_JOB_RECORDS,
    CheckAnswer,
    CheckBody,
    Health,
    JobBody,
    JobList,
    JobState,
    ModelList,
    ProblemBody,
    Ready,
    RepairBody,
    ScorerList,
    Scoring,
)
from veridical.serve.security import Limits, Secured, names_for
from veridical.serve.service import ScoringServer, until_gone
from veridical.version import __version__

if TYPE_CHECKING:
    from veridical.serve.problems import Scope

Body = TypeVar("Body", bound=BaseModel)

_JSON = "application/json"
_LINES = "application/x-ndjson"
_EVENTS = "text/event-stream"
#: Maximum bytes of a job's input.
LONGEST_JOB = 64 * 2**20

_PROBLEM = {
    "description": "A problem document (RFC 9457).",
    "content": {
        "application/problem+json": {"schema": {"$ref": "#/components/schemas/ProblemBody"}}
    },
}
_PROBLEMS: dict[int | str, dict[str, Any]] = {
    code: dict(_PROBLEM)
    for code in (400, 401, 403, 404, 405, 408, 409, 413, 415, 421, 422, 429, 503)
}
JobId = Annotated[str, Path(min_length=1, max_length=64)]


def lines_answer(lines: Sequence[bytes], rows: Sequence[Mapping[str, Any]]) -> Response:
    """Return result lines as the answer of a check, with notices of unused columns."""
    unused = unused_in(rows, lines)
    more = b',"unused":' + to_json(unused) if unused else b""
    body = b'{"results":[' + b",".join(lines) + b"]" + more + b"}"
    return Response(body, media_type=_JSON)


def make_app(service: ScoringServer) -> FastAPI:
    """Build the application without request validation (see :func:`secured`)."""

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        async with service.running():
            yield

    app = FastAPI(
        title="veridical",
        version=__version__,
        description="Verdicts and risks of LLM answers: records in, result lines out.",
        lifespan=lifespan,
        docs_url=None,
        redoc_url=None,
        responses=_PROBLEMS,
        redirect_slashes=False,
    )
    answer_problems(app)
    _add_checks(app, service)
    _add_lists(app, service)
    _add_health(app, service)
    if service.jobs is not None:
        _add_jobs(app, service, service.jobs)
    facades.add(app, service)
    _say_problems(app)
    return app


def _say_problems(app: FastAPI) -> None:
    """Add the schema of problem documents, which every route may return, to the OpenAPI
    document.
    """
    made = app.openapi

    def openapi() -> dict[str, Any]:
        document = made()
        schemas = document.setdefault("components", {}).setdefault("schemas", {})
        if "ProblemBody" not in schemas:
            schemas["ProblemBody"] = ProblemBody.model_json_schema()
            for path in document["paths"].values():
                for operation in path.values():
                    operation["responses"]["422"] = dict(_PROBLEM)
        return document

    app.openapi = openapi  # type: ignore[method-assign]


def _add_checks(app: FastAPI, service: ScoringServer) -> None:
    @app.post(
        "/v1/check",
        response_class=Response,
        responses={
            200: {
                "model": CheckAnswer,
                "description": "Result lines, in the order of the records.",
                "content": {_EVENTS: {"schema": {"type": "string"}}},
            }
        },
    )
    async def check(body: CheckBody, request: Request) -> Response:
        """Check records. With `Accept: text/event-stream`: `unit` events as sentences are judged, a
        `result` event for each completed record, then `done`.
        """
        records = records_of(body.records)
        key = service.key_of(request.scope)
        wanted = service.wanted(body, key)
        options: dict[str, Any] = {
            "deadline_ms": body.deadline_ms,
            "offsets": body.offsets,
            "units": body.units,
        }
        if _EVENTS in request.headers.get("accept", ""):
            return await events.answer(service, records, wanted, key, options, body.records)
        lines = await until_gone(request, lambda: service.check(records, wanted, key, **options))
        return lines_answer(lines, body.records)

    @app.post("/v1/repair", response_class=Response, responses={200: {"model": CheckAnswer}})
    async def repair(body: RepairBody, request: Request) -> Response:
        """Check records and remove or rewrite unsupported statements; the result is checked too.

        Result lines have a field `repair`.
        """
        records = records_of(body.records)
        key = service.key_of(request.scope)
        wanted = service.wanted(body, key)
        lines = await until_gone(request, lambda: service.repair(records, wanted, body.how, key))
        return lines_answer(lines, body.records)


def _add_lists(app: FastAPI, service: ScoringServer) -> None:
    @app.get("/v1/scorers")
    async def scorers() -> ScorerList:
        """List the available scorers."""
        rows = [
            {
                "name": s.name,
                "level": s.level,
                "needs": sorted(s.needs),
                "cost": s.cost,
                "presets": sorted(s.presets),
                "source": s.source,
                "summary": s.summary,
            }
            for s in REGISTRY.all()
        ]
        return ScorerList.model_validate({"scorers": rows})

    @app.get("/v1/models")
    async def models() -> ModelList:
        """List the loaded models of the default preset."""
        service.check_ready()
        task = Task(resolve(None, proxy=service.engine.proxy, spans=service.engine.spans))
        found = await asyncio.to_thread(service.engine.models, task)
        rows = [{"role": role, "name": name} for role, name in found.items()]
        return ModelList.model_validate({"models": rows})


def _add_health(app: FastAPI, service: ScoringServer) -> None:
    @app.get("/healthz")
    async def healthz() -> Health:
        """Report that the process is running."""
        return Health()

    @app.get("/readyz")
    async def readyz() -> Ready:
        """Report that the models are loaded and judge a known pair correctly."""
        service.check_ready()
        return Ready()

    @app.get("/metrics", response_class=Response, responses={200: {"content": {"text/plain": {}}}})
    async def metrics() -> Response:
        """Return the metrics for Prometheus."""
        return Response(service.metrics.text(), headers={"content-type": CONTENT_TYPE})


def _parsed(shape: type[Body], content: bytes) -> Body:
    """Parse a JSON body.

    Raises:
        Problem: it is not JSON, or does not fit the schema.
    """
    try:
        return shape.model_validate_json(content)
    except ValidationError as e:
        raise invalid_request(e.errors(include_url=False)) from None


def _add_jobs(app: FastAPI, service: ScoringServer, jobs: Jobs) -> None:
    def owner(request: Request) -> str | None:
        key = service.key_of(request.scope)
        return None if key is None else key.name

    @app.post(
        "/v1/jobs",
        status_code=202,
        openapi_extra={
            "requestBody": {
                "required": True,
                "content": {
                    _JSON: {"schema": JobBody.model_json_schema()},
                    _LINES: {"schema": {"type": "string"}},
                },
            }
        },
    )
    async def add(
        request: Request,
        scorers: Annotated[str | None, Query(max_length=4096)] = None,
        preset: Annotated[str | None, Query(max_length=20)] = None,
    ) -> JobState:
        """Start a job.

        The body is JSON as for `/v1/check`, or JSON lines (`application/x-ndjson`) with `scorers`
        and `preset` in the query.
        """
        service.check_ready()
        content = await request.body()
        kind = request.headers.get("content-type", _JSON).partition(";")[0].strip().lower()
        if kind == _LINES:
            options = {"scorers": scorers, "preset": preset or "auto"}
            body = _parsed(Scoring, json.dumps(options).encode())
            if content.count(b"\n") > MOST_JOB_RECORDS:
                raise Problem(413, f"the job has more than {MOST_JOB_RECORDS:,} records; split it")
            lines = content
        elif kind == _JSON:
            asked = _parsed(JobBody, content)
            body, lines = asked, records_as_lines(asked.records)
        else:
            raise Problem(415, f"content-type must be {_JSON} or {_LINES}")
        if not lines.strip():
            raise Problem(422, "records: the list is empty")
        key = service.key_of(request.scope)
        service.billing(key, asks=service.asks(service.wanted(body, key)))
        job = StoredJob(
            id=new_id(),
            owner=owner(request),
            created=now(),
            scorers=body.scorers_text,
            preset=body.preset,
            claims=body.claims,
            strictness=body.strictness,
            policy=body.policy,
        )
        added = await asyncio.to_thread(jobs.add, job, lines)
        jobs.enqueue(added)
        return JobState.model_validate(jobs.state(added))

    @app.get("/v1/jobs")
    async def listed(request: Request) -> JobList:
        """List the jobs of this key."""
        states = [jobs.state(job) for job in jobs.owned(owner(request))]
        return JobList.model_validate({"jobs": states})

    @app.get("/v1/jobs/{id}")
    async def state(id: JobId, request: Request) -> JobState:
        """Report the progress of a job."""
        return JobState.model_validate(jobs.state(jobs.get(id, owner(request))))

    @app.get(
        "/v1/jobs/{id}/results",
        response_class=Response,
        responses={200: {"content": {_LINES: {"schema": {"type": "string"}}}}},
    )
    async def results(id: JobId, request: Request) -> Response:
        """Return the result lines (JSON lines) of a completed job."""
        found = await asyncio.to_thread(jobs.results, jobs.get(id, owner(request)))
        return StreamingResponse(found, media_type=_LINES)

    @app.delete("/v1/jobs/{id}", status_code=204, response_class=Response)
    async def delete(id: JobId, request: Request) -> Response:
        """Stop a job and delete it with its results."""
        await jobs.delete(jobs.get(id, owner(request)))
        return Response(status_code=204)


def secured(
    service: ScoringServer,
    host: str,
    *,
    allow_hosts: Iterable[str] = (),
    limits: Limits | None = None,
) -> App:
    """Build the application with request validation, as the server runs it."""
    usual = limits or Limits()
    jobs = Limits(LONGEST_JOB, LONGEST_JOB, 2 * LONGEST_JOB, usual.depth, usual.seconds)

    def limits_of(scope: Scope) -> Limits:
        return jobs if scope["path"] == "/v1/jobs" else usual

    return logged(
        service.metrics.around(
            Secured(
                make_app(service),
                names_for(host, allow_hosts),
                None if service.keys is None else service.keys.admit,
                limits=usual,
                limits_of=limits_of,
            )
        )
    )
