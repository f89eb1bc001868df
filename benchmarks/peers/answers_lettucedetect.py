"""lettucedetect's detector by an LLM on answers; runs in its environment."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from lettucedetect.models.inference import HallucinationDetector

from serve import each, serve


def start(options: dict[str, Any]) -> Callable[[Any], Any]:
    detector = HallucinationDetector(
        method="llm",
        model=options["model"],
        base_url=options["url"],
        api_key="none",
        zero_shot=True,
    )

    def flagged(row: dict[str, Any]) -> float:
        """Share of the answer's characters in spans that were found."""
        spans = detector.predict(
            context=[row["context"]],
            question=row["prompt"],
            answer=row["response"],
            output_format="spans",
        )
        marked = {i for s in spans for i in range(s["start"], s["end"])}
        return len(marked) / max(1, len(row["response"]))

    return lambda rows: each(rows, flagged)


if __name__ == "__main__":
    serve(start)
