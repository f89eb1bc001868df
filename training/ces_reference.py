"""Reference of the scorer ``ces``: quantiles of token entropies. No labels are used.

    veridical sample questions.jsonl --llm local:smollm2 --n 0 --logprobs 20 --max-tokens 40 \
        --out answers.jsonl
    python training/ces_reference.py answers.jsonl

The shipped one is of 150 questions of NQ-Open (``NQ-open.dev.jsonl``, shuffled by seed 0), each
with "Answer in one short sentence."
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np

from veridical.scorers.probability.ces import reference_entropies

OUT = Path(__file__).parent.parent / "src/veridical/scorers/probability/ces_reference.json"
POINTS = 1000
K = 20


def main() -> None:
    entropies = reference_entropies(sys.argv[1], K)
    points = np.quantile(entropies, (np.arange(POINTS) + 0.5) / POINTS).round(5)
    head = {"model": "SmolLM2-135M-Instruct", "k": K, "tokens": len(entropies)}
    OUT.write_text(json.dumps(head | {"entropies": points.tolist()}) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
