"""Pairs whose label the words of the hypothesis tell, and a tiny model whose states tell it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
from byte_gpt2 import byte_gpt2

WORDS = {"entailment": "yes " * 12, "neutral": "perhaps " * 6, "contradiction": "NO! " * 12}
NAMES = ["Ada", "Bob", "Cleo", "Dan", "Eve", "Fred", "Gil", "Hal"]


def pairs(path: Path, n: int = 300, seed: int = 0, labels: Any = tuple(WORDS)) -> list[dict]:
    rng = np.random.default_rng(seed)
    rows = []
    for i in range(n):
        label = str(rng.choice(labels))
        name = rng.choice(NAMES)
        rows.append(
            {
                "premise": f"{name} says {i // 2}.",
                "hypothesis": f"{WORDS[label]} {'ab'[i % 2]}",
                "label": label,
            }
        )
    path.write_text("".join(json.dumps(r) + "\n" for r in rows))
    return rows


def model(folder: Path, seed: int = 0) -> Path:
    """A tiny model with random weights."""
    return byte_gpt2(
        folder, seed, special=True, n_positions=320, n_embd=24, n_layer=3, initializer_range=0.5
    )


def states(folder: Path, premise: str, hypothesis: str) -> Any:
    """(layers + 1, d) by a plain forward of transformers, of the text that the paper has."""
    import torch
    import transformers
    from tokenizers import Tokenizer

    text = (
        "Consider the NLI label between the user given premise and hypothesis.\n\n"
        f"Premise: {premise}\nHypothesis: {hypothesis}\n\n"
        "The NLI label (Entailment, Neutral, Contradiction) is"
    )
    ids = Tokenizer.from_file(str(folder / "tokenizer.json")).encode(text).ids
    made = transformers.AutoModelForCausalLM.from_pretrained(folder).eval()
    with torch.no_grad():
        told = made(torch.tensor([ids]), output_hidden_states=True).hidden_states
    return np.stack([h[0, -1].numpy() for h in told])
