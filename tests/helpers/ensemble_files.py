"""Ensemble files for tests, of three model-free scorers."""

from __future__ import annotations

from typing import Any

from veridical.core.registry import REGISTRY
from veridical.ensembles.ensemble_file import Component, Ensemble, Fit, FittedOn

CALLS = ("ngram(n=2)", "support", "exact_match")


def component(call: str, part: str = "response", models: str = "") -> Component:
    (bound,) = REGISTRY.parse(call)
    return Component(scorer=call, part=part, signature=bound.signature(models))


def weighted(**more: Any) -> Ensemble:
    """Weights 0.5, 0.3 and 0.2, all else at its plainest."""
    fields: dict[str, Any] = {
        "version": "0",
        "level": "response",
        "method": "weighted",
        "components": tuple(map(component, CALLS)),
        "fit": Fit(weights=dict(zip(CALLS, (0.5, 0.3, 0.2), strict=True)), n=10, positive=4),
        "fitted_on": FittedOn(
            file="graded.jsonl", fingerprint="0" * 16, n=10, positive=4, groups=10, labels="label"
        ),
    }
    return Ensemble(**{**fields, **more})
