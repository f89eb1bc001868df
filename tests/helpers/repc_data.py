"""Pairs whose label the words of the hypothesis tell, and a tiny model whose states tell it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

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
    """A random GPT-2 whose tokens are bytes."""
    import torch
    import transformers
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers

    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    vocabulary = {"<|endoftext|>": 0} | {c: i + 1 for i, c in enumerate(alphabet)}
    made = Tokenizer(models.BPE(vocab=vocabulary, merges=[]))
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    made.add_special_tokens(["<|endoftext|>"])
    torch.manual_seed(seed)
    config = transformers.GPT2Config(
        vocab_size=len(vocabulary),
        n_positions=320,
        n_embd=24,
        n_layer=3,
        n_head=4,
        initializer_range=0.5,
        bos_token_id=0,
        eos_token_id=0,
    )
    transformers.AutoModelForCausalLM.from_config(config).save_pretrained(folder)
    made.save(str(folder / "tokenizer.json"))
    settings = {"tokenizer_class": "PreTrainedTokenizerFast", "eos_token": "<|endoftext|>"}
    (folder / "tokenizer_config.json").write_text(json.dumps(settings))
    return folder


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
