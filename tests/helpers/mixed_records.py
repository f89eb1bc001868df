"""Records of every kind, for comparisons of two ways to score them."""

from __future__ import annotations

import random
from typing import Any

_FACTS = (
    ("The bridge was finished in 1932.", "It is two kilometres long.", "Trains cross it."),
    ("The lake lies at 400 metres.", "It is 90 metres deep.", "Ferries run in summer."),
    ("The theatre opened in 1898.", "It seats 700 people.", "It burned down once."),
    ("The mine closed in 1971.", "Silver was dug there.", "Visitors may enter it today."),
    ("The river rises in the north.", "It is 300 km long.", "Salmon live in it."),
)
_WRONG = ("It was sold in 1999.", "Nobody knows why.", "It is made of copper.", "It has 3 doors.")
_ODD = ("", "   ", "I cannot answer that.", "😀 It is 90 metres deep. 😀", "Це речення.", "42")


def mixed_records(count: int, seed: int = 0) -> list[dict[str, Any]]:
    """Rows with contexts, samples, references, log-probabilities, or nothing to check against."""
    rng = random.Random(seed)
    rows = []
    for i in range(count):
        facts = rng.choice(_FACTS)
        said = [*rng.sample(facts, rng.randint(1, 3)), *rng.sample(_WRONG, rng.randint(0, 2))]
        rng.shuffle(said)
        response = rng.choice(_ODD) if rng.random() < 0.1 else " ".join(said)
        row: dict[str, Any] = {"id": f"{seed}-{i}", "response": response}
        if rng.random() < 0.6:
            row[rng.choice(["contexts", "passages"])] = [" ".join(facts), f"Note {i}."]
        if rng.random() < 0.3:
            row["samples"] = [" ".join(rng.sample(facts, 2)) for _ in range(2)]
        if rng.random() < 0.2:
            row["reference"] = facts[0]
        if rng.random() < 0.2:
            row["logprobs"] = [{"token": t, "logprob": -0.1 * len(t)} for t in response.split()]
        if rng.random() < 0.2:
            row |= {"question": "What is known of it?", "site": "web"}
        rows.append(row)
    return rows
