"""uqlm's default ``BlackBoxUQ`` scorers on local checkpoints; runs in its environment.

Request: ``{"responses": [...], "samples": [[...], ...]}``. Answer: the confidences by name, the
members of each semantic cluster by passage (positions in response and samples), and the number of
NLI pairs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from uqlm import BlackBoxUQ

from serve import serve

SCORERS = ["semantic_negentropy", "noncontradiction", "exact_match", "cosine_sim"]


def start(options: dict[str, Any]) -> Callable[[Any], Any]:
    scorer = BlackBoxUQ(
        scorers=SCORERS,
        use_best=False,  # score the response given, not another in its place
        device="cpu",
        nli_model_name=options["model"],
        sentence_transformer=options["encoder"],
    )
    entropy, consistency = (
        scorer.scorer_objects[n] for n in ("semantic_negentropy", "consistency")
    )
    pairs, clusters = [], []
    for model in {id(o.nli.model): o.nli.model for o in (entropy, consistency)}.values():
        model.register_forward_hook(lambda _m, _i, output: pairs.append(len(output.logits)))
    evaluate = entropy.clusterer.evaluate

    def noting(*args: Any, **kwargs: Any) -> Any:
        found = evaluate(*args, **kwargs)
        clusters.append([list(members) for members in found[3]])
        return found

    entropy.clusterer.evaluate = noting

    def work(request: Any) -> Any:
        pairs.clear()
        clusters.clear()
        data = scorer.score(
            responses=request["responses"],
            sampled_responses=request["samples"],
            show_progress_bars=False,
        ).data
        scores = {name: [float(v) for v in data[name]] for name in SCORERS}
        return {"scores": scores, "clusters": list(clusters), "pairs": sum(pairs)}

    return work


if __name__ == "__main__":
    serve(start)
