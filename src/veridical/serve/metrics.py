"""Server metrics for Prometheus."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily

from veridical.core.scores import ResultSummary
from veridical.decide.drift import ks_distance
from veridical.serve.problems import ROUTE, App, Message, Receive, Scope, Send

if TYPE_CHECKING:
    from veridical.engine.engine import Engine
    from veridical.serve.admission import Admission

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.2, 0.3, 0.5, 0.9, 1.5, 2.5, 5, 10, 30)
_RISKS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
#: Number of first, and of latest, risks whose distributions are compared.
WINDOW = 1000
_FEWEST = 50


class RequestMetrics:
    """Request durations, in a registry of their own."""

    content_type = CONTENT_TYPE

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self._begun = self._under_way = 0
        self._seconds = Histogram(
            "veridical_request_seconds",
            "Seconds until an answer was sent.",
            ("route", "code"),
            buckets=_SECONDS,
            registry=self.registry,
        )

    def requests(self) -> tuple[int, int]:
        """Return the number of requests begun, and the number in flight."""
        return self._begun, self._under_way

    def counter(self, name: str, text: str, *labels: str) -> Counter:
        """Return a new counter, ``veridical_NAME``."""
        return Counter(f"veridical_{name}", text, labels, registry=self.registry)

    def text(self) -> bytes:
        """Return all metrics in Prometheus's format."""
        return bytes(generate_latest(self.registry))

    def around(self, app: App) -> App:
        """Return ``app`` with its requests counted."""

        async def counted(scope: Scope, receive: Receive, send: Send) -> None:
            if scope["type"] != "http":
                await app(scope, receive, send)
                return
            begun = time.monotonic()
            self._begun += 1
            self._under_way += 1
            code = "none"  # the client has disconnected

            async def watched(message: Message) -> None:
                nonlocal code
                if message["type"] == "http.response.start":
                    code = str(message["status"])
                await send(message)

            try:
                await app(scope, receive, watched)
            finally:
                self._under_way -= 1
                route = getattr(scope.get("route"), "path", scope.get(ROUTE, "other"))
                self._seconds.labels(route, code).observe(time.monotonic() - begun)

        return counted


class Metrics(RequestMetrics):
    """Counters of one server."""

    def __init__(self, engine: Engine, admission: Admission) -> None:
        super().__init__()
        counter = self.counter
        self._risk = Histogram(
            "veridical_risk",
            "Risks by scorer; the record's own as 'record'.",
            ("scorer",),
            buckets=_RISKS,
            registry=self.registry,
        )
        self._scores = counter("scores_total", "Scores by status.", "scorer", "status")
        self._verdicts = counter("verdicts_total", "Records by verdict.", "verdict")
        self._decisions = counter("decisions_total", "Records by decision.", "decision")
        self.usd = counter("llm_usd_total", "Money charged by LLM calls.")
        self._first: list[float] = []
        self._latest: deque[float] = deque(maxlen=WINDOW)
        self.ready = False
        self.registry.register(_EngineCollector(self, engine, admission))

    def result(self, line: bytes) -> None:
        """Count a result line."""
        result_summary = ResultSummary.model_validate_json(line)
        self._verdicts.labels(result_summary.verdict).inc()
        if result_summary.decision is not None:
            self._decisions.labels(result_summary.decision).inc()
        if result_summary.risk is not None:
            self._risk.labels("record").observe(result_summary.risk)
            if len(self._first) < WINDOW:
                self._first.append(result_summary.risk)
            else:
                self._latest.append(result_summary.risk)
        for key, score in result_summary.scores.items():
            # Parameters come from clients, so their values are unlimited.
            name = key.partition("(")[0]
            self._scores.labels(name, score.status).inc()
            if score.risk is not None:
                self._risk.labels(name).observe(score.risk)

    def drift(self) -> float | None:
        """Return the Kolmogorov-Smirnov distance between the first and the latest risks, in [0, 1].

        None while there are too few.
        """
        if len(self._latest) < _FEWEST:
            return None
        return ks_distance(np.sort(self._first), np.sort(self._latest))


class _EngineCollector:
    """Collector of the engine's own counters."""

    def __init__(self, metrics: Metrics, engine: Engine, admission: Admission) -> None:
        self._metrics = metrics
        self._engine = engine
        self._admission = admission

    def collect(self) -> Iterator[Any]:
        def gauge(name: str, text: str, value: float) -> Any:
            return GaugeMetricFamily(f"veridical_{name}", text, value=value)

        admission = self._admission
        yield gauge("ready", "1 if models are loaded and judge correctly.", self._metrics.ready)
        yield gauge("queue_tokens", "Estimated tokens in work or waiting.", admission.tokens)
        yield gauge("requests_in_flight", "Requests that are being scored.", admission.requests)
        drift = self._metrics.drift()
        if drift is not None:
            yield gauge("risk_drift", "Distance between early and late risks.", drift)
        refused = CounterMetricFamily(
            "veridical_refused", "Requests refused because the queue is full."
        )
        refused.add_metric([], admission.refused)
        yield refused
        yield from models_of(self._engine)


def models_of(engine: Engine) -> Iterator[Any]:
    """Yield the engine's counters of its models."""
    works = engine.work()
    for name, text, field in (
        ("batches", "Forwards.", "batches"),
        ("batch_tokens", "Tokens in forwards, padding included.", "padded"),
        ("forward_seconds", "Seconds inside forwards.", "seconds"),
        ("store_hits", "Requests answered from the store.", "stored"),
        ("shared", "Requests answered by an identical one.", "shared"),
        ("dropped", "Requests dropped because their client disconnected.", "dropped"),
    ):
        family = CounterMetricFamily(f"veridical_{name}", text, labels=["model"])
        for model, work in works.items():
            family.add_metric([model], getattr(work, field))
        yield family
    reasons = CounterMetricFamily(
        "veridical_batch_reason", "Reasons for which batches were run.", labels=["model", "reason"]
    )
    for model, work in works.items():
        reasons.add_metric([model, "full"], work.full)
        reasons.add_metric([model, "idle"], work.batches - work.full)
    yield reasons
