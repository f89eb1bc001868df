"""Time of two published document checkers, with random weights of their shape.

Run by benchmarks/documents.py in an interpreter with torch and transformers:

    python document_checkers.py ROWS.json

MiniCheck (Tang et al. 2024) is Flan-T5-large. It reads the document in pieces of at most 500 words
with each sentence of the answer, by one step of the decoder. HHEM-2.1: T5-base as a classifier of
tokens, document and answer whole. Ids are drawn at random, 1.3 per word.
"""

from __future__ import annotations

import json
import re
import sys
import time
from pathlib import Path

import torch
from transformers import T5Config, T5EncoderModel, T5ForConditionalGeneration

PIECE = 500
LARGE = {"d_model": 1024, "d_kv": 64, "d_ff": 2816, "num_layers": 24, "num_heads": 16}
BASE = {"d_model": 768, "d_kv": 64, "d_ff": 2048, "num_layers": 12, "num_heads": 12}


def ids(words: int) -> torch.Tensor:
    """Draw the ids of about ``words`` words."""
    return torch.randint(10, 32_000, (1, max(2, int(1.3 * words))))


def main() -> None:
    torch.set_num_threads(2)
    rows = json.loads(Path(sys.argv[1]).read_text())
    gated = {"feed_forward_proj": "gated-gelu", "vocab_size": 32_128}
    minicheck = T5ForConditionalGeneration(T5Config(**LARGE, **gated)).eval()
    hhem = T5EncoderModel(T5Config(**BASE, **gated)).eval()
    start = torch.zeros((1, 1), dtype=torch.long)
    spent = {"MiniCheck-Flan-T5-large": 0.0, "HHEM-2.1": 0.0}
    with torch.inference_mode():
        for row in rows:
            words = sum(len(text.split()) for text in row["contexts"])
            sentences = [s for s in re.split(r"(?<=[.!?])\s+", row["response"]) if s.strip()]
            begun = time.perf_counter()
            for sentence in sentences:
                for done in range(0, words, PIECE):
                    size = min(PIECE, words - done) + len(sentence.split())
                    minicheck(input_ids=ids(size), decoder_input_ids=start)
            spent["MiniCheck-Flan-T5-large"] += time.perf_counter() - begun
            begun = time.perf_counter()
            hhem(input_ids=ids(words + len(row["response"].split())))
            spent["HHEM-2.1"] += time.perf_counter() - begun
    for name, seconds in spent.items():
        print(f"| {name}, random weights | {seconds / len(rows):.2f} seconds an answer |")


if __name__ == "__main__":
    main()
