"""Guard metrics for Prometheus."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from veridical.serve.metrics import RequestMetrics, models_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from veridical.engine.engine import Engine
    from veridical.serve.guard.answers import AnswerSummary


class GuardMetrics(RequestMetrics):
    """Counters of one guard, in a registry of its own."""

    def __init__(self, engine: Engine) -> None:
        super().__init__()
        counter = self.counter
        self._answers = counter("guard_answers_total", "Answers.", "decision", "status")
        self._sentences = counter("guard_sentences_total", "Sentences.", "verdict", "action")
        self._blocked = counter("guard_blocked_total", "Answers that ended at a rejected sentence.")
        self._withheld = counter("guard_withheld_total", "Answers with content left out.", "kind")
        self._unsourced = counter("guard_no_sources_total", "Requests without sources.")
        self.registry.register(_ModelCollector(engine))

    def answer(self, found: AnswerSummary, *, blocked: bool) -> None:
        """Count an answer and its sentences."""
        self._answers.labels(found.decision, found.status).inc()
        for sentence in found.sentences:
            self._sentences.labels(sentence["verdict"], sentence["action"]).inc()
        if blocked:
            self._blocked.inc()

    def unsourced(self) -> None:
        """Count a request without sources."""
        self._unsourced.inc()

    def withheld(self, kind: str) -> None:
        """Count an answer from which a kind of content was left out."""
        self._withheld.labels(kind).inc()


class _ModelCollector:
    """Return the counts of the engine's models."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def collect(self) -> Iterator[Any]:
        return models_of(self._engine)
