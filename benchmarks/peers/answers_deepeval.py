"""deepeval's metrics by an LLM on answers; runs in its environment."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from deepeval.metrics import FaithfulnessMetric, HallucinationMetric
from deepeval.models import LocalModel
from deepeval.test_case import LLMTestCase

from serve import each, serve


def start(options: dict[str, Any]) -> Callable[[Any], Any]:
    model = LocalModel(
        model=options["model"],
        base_url=options["url"],
        api_key="none",
        temperature=0,
        generation_kwargs={
            "max_tokens": options["most"],
            "response_format": {"type": "json_object"},
        },
    )
    kind = {"faithfulness": FaithfulnessMetric, "hallucination": HallucinationMetric}[
        options["way"]
    ]

    def risk(row: dict[str, Any]) -> float:
        metric = kind(model=model, include_reason=False, async_mode=False)
        case = LLMTestCase(
            input=row["prompt"],
            actual_output=row["response"],
            context=[row["context"]],
            retrieval_context=[row["context"]],
        )
        score = metric.measure(case, _show_indicator=False)
        return score if kind is HallucinationMetric else 1 - score

    return lambda rows: each(rows, risk)


if __name__ == "__main__":
    serve(start)
