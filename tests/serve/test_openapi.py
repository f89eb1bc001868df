"""The OpenAPI document is true: what it says, the server does, whatever it is sent."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from servers import Running

pytest.importorskip("fastapi")
pytest.importorskip("prometheus_client")
schemathesis = pytest.importorskip("schemathesis")

from hypothesis import HealthCheck, given, settings  # noqa: E402
from schemathesis.checks import not_a_server_error  # noqa: E402
from schemathesis.specs.openapi.checks import (  # noqa: E402
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from veridical.engine.engine import Engine  # noqa: E402
from veridical.serve.app import secured  # noqa: E402
from veridical.serve.service import ScoringServer  # noqa: E402

CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
]


@schemathesis.serializer("application/x-ndjson")  # type: ignore[untyped-decorator]
def as_lines(context: Any, value: Any) -> bytes:
    return value if isinstance(value, bytes) else str(value).encode("utf-8", "replace")


@pytest.fixture(scope="module")
def schema(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    data: Path = tmp_path_factory.mktemp("data")
    options: dict[str, Any] = {"named_only": True, "store": None, "processes": 0, "nli": "mini"}
    with Engine(fair=True, age=0.002, **options) as engine:
        service = ScoringServer(engine, data=data)
        service.load()
        yield schemathesis.openapi.from_asgi(
            "/openapi.json", secured(service, "127.0.0.1"), headers={"host": "localhost"}
        )


def test_no_request_breaks_the_server_or_its_word(schema: Any) -> None:
    operations = [found.ok() for found in schema.get_all_operations()]
    assert len(operations) == 17
    for operation in operations:

        @given(case=operation.as_strategy())
        @settings(
            max_examples=12,
            deadline=None,
            derandomize=True,
            database=None,
            suppress_health_check=list(HealthCheck),
        )
        def holds(case: Any) -> None:
            case.call_and_validate(headers={"host": "localhost"}, checks=CHECKS)

        holds()


def test_every_route_is_in_the_document(server: Running) -> None:
    document = httpx.get(f"{server.url}/openapi.json").json()
    paths = set(document["paths"])
    assert {
        "/v1/check",
        "/v1/repair",
        "/v1/jobs",
        "/v1/jobs/{id}",
        "/v1/jobs/{id}/results",
        "/v1/scorers",
        "/v1/models",
        "/healthz",
        "/readyz",
        "/metrics",
        "/v1/lettucedetect/spans",
        "/v1/lettucedetect/token",
        "/v2/evaluate_factual_consistency",
        "/beta/litellm_basic_guardrail_api",
        "/v1/portkey",
    } == paths
    for path in document["paths"].values():
        for operation in path.values():
            content = operation["responses"]["422"]["content"]
            assert list(content) == ["application/problem+json"]
