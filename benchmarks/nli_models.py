"""Pairs and tokens a second of this project's NLI models, beside each other.

    python benchmarks/nli_models.py --data DATA [--pairs 200] [--models mini base ...]

DATA holds ``nli/fever_rte_train.jsonl``. Forwards as the engine packs them, one thread each, on
all processors; loading and tokenising are not timed, and the models take turns.

Needs: this package; ``veridical-nli-base`` for ``base``; ``onnx`` for ``precision=int8``.
"""

from __future__ import annotations

import argparse
import json
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from veridical.core.protocols import Pair
from veridical.engine.batching import pack
from veridical.models import load_nli

MODELS = ("mini", "mini?precision=int8", "base", "base?precision=int8")
TURNS = 3


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--pairs", type=int, default=200)
    parser.add_argument("--models", nargs="+", default=MODELS)
    arguments = parser.parse_args()
    lines = (arguments.data / "nli/fever_rte_train.jsonl").read_text("utf-8").splitlines()
    rows = [json.loads(line) for line in lines[: arguments.pairs]]
    pairs = [Pair(r["premise"], r["hypothesis"]) for r in rows]
    loaded: dict[str, Any] = {spec: load_nli(spec) for spec in arguments.models}
    best: dict[str, float] = {}
    tokens: dict[str, int] = {}
    for _ in range(TURNS):
        for spec, model in loaded.items():
            windows = [w for own in model.windows(pairs) for w in own]
            parts = [(0, i, w) for i, w in enumerate(windows)]
            parts.sort(key=lambda p: -p[2].length)
            batches = [[p[2] for p in batch] for batch in pack(parts, model.batch_tokens)]
            model.run(batches[-1])
            started = time.perf_counter()
            with ThreadPoolExecutor(model.workers) as threads:
                list(threads.map(model.run, batches))
            seconds = time.perf_counter() - started
            best[spec] = min(best.get(spec, seconds), seconds)
            tokens[spec] = sum(w.length for w in windows)
    print("| | pairs a second | tokens a second |\n|---|---|---|")
    for spec, seconds in best.items():
        print(f"| `{spec}` | {len(pairs) / seconds:.0f} | {tokens[spec] / seconds:.0f} |")


if __name__ == "__main__":
    main()
