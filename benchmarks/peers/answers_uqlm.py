"""uqlm's ``BlackBoxUQ`` on answers, the source as sample; runs in its environment."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from uqlm import BlackBoxUQ

from serve import serve


def start(options: dict[str, Any]) -> Callable[[Any], Any]:
    name = options["way"]
    scorer = BlackBoxUQ(
        scorers=[name],
        use_best=False,  # score the response given, not another in its place
        device="cpu",
        nli_model_name=options["three"],
        sentence_transformer=options["encoder"],
    )

    def work(rows: Any) -> Any:
        data = scorer.score(
            responses=[r["response"] for r in rows],
            sampled_responses=[[r["context"]] for r in rows],
            show_progress_bars=False,
        ).data
        return [[1 - float(v), None] for v in data[name]]

    return work


if __name__ == "__main__":
    serve(start)
