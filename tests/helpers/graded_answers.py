"""Graded answers made so that model-free scorers tell right ones from hallucinated ones."""

from __future__ import annotations

from typing import Any

import numpy as np

_PLACES = (
    *("river", "mountain", "city", "bridge", "castle", "forest", "island", "harbour", "market"),
    *("garden", "tower", "station", "museum", "library", "theatre", "valley", "church", "palace"),
)


def answers(n: int = 80, seed: int = 0, noise: float = 0.25) -> list[dict[str, Any]]:
    """``n`` records of ``n / 2`` prompts: samples repeat a right answer and differ from a
    hallucinated one, but for the share ``noise``."""
    rng = np.random.default_rng(seed)

    def sentence(words: Any) -> str:
        return f"The {words[0]} stands by the {words[1]} near the {words[2]}."

    rows = []
    for i in range(n):
        wrong = bool(rng.random() < 0.4)
        words = rng.choice(_PLACES, 3, replace=False)
        samples = []
        for _ in range(4):
            same = (rng.random() < 0.8) != (wrong != (rng.random() < noise))
            samples.append(sentence(words if same else rng.choice(_PLACES, 3, replace=False)))
        rows.append(
            {
                "id": f"a{i}",
                "prompt": f"What stands where? ({i // 2})",
                "response": sentence(words),
                "samples": samples,
                "label": float(wrong),
                "task": "qa" if i % 3 else "chat",
                "reference": sentence(words if not wrong else words[::-1]),
            }
        )
    return rows
