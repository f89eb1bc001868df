"""Pairs and tokens a second of this project's NLI models.

    python benchmarks/nli_models.py --data DATA [--pairs 200] [--models mini base ...]

DATA holds ``nli/fever_rte_train.jsonl``. Forwards as the engine packs them, one thread each, on
all processors; loading and tokenising are not timed, and the models take turns.

The limit is the model's arithmetic at the rate of the same threads multiplying one large matrix.
The rate is that of float32 or of bytes, measured between the turns. The arithmetic is two
operations for each weight of its layers and token. Those of attention between tokens, some 2 % for
77, are left out.

Needs: this package and ``onnx``; ``veridical-nli-base`` for ``base``.
"""

from __future__ import annotations

import argparse
import json
import time
from concurrent.futures import ThreadPoolExecutor
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from veridical.core.protocols import Pair
from veridical.engine.batching import pack
from veridical.models import load_nli
from veridical.models.nli.packaged import full_name, need
from veridical.models.onnx import find_graph
from veridical.models.onnx_graph import GraphWriter

MODELS = ("mini", "mini?precision=int8", "base", "base?precision=int8")
TURNS = 3
SMALL = 10_000  # weights: fewer are no matrix of a layer
ROWS, WIDTH, WIDE = 2048, 768, 3072  # of the matrices whose product is timed


def weights(folder: Path) -> int:
    """Count the weights that a token is multiplied with: the graph's matrices without lookups."""
    import onnx  # not for those who want the rate alone

    path = find_graph(folder)
    assert path is not None
    graph = onnx.load(path).graph
    expanding = [node for node in graph.node if node.op_type in ("Cast", "Mul", "Reshape")]
    made = {output: node for node in expanding for output in node.output}
    looked_up = [node.input[0] for node in graph.node if node.op_type == "Gather"]
    for name in looked_up:
        if name in made:
            looked_up += made[name].input
    sizes = [prod(w.dims) for w in graph.initializer if w.name not in looked_up]
    return sum(size for size in sizes if size >= SMALL)


def rate(threads: int, whole: bool) -> float:
    """Measure operations a second of ``threads`` that each multiply one large matrix.

    Args:
        whole: multiply bytes, not float32.
    """
    draw = GraphWriter()
    kind = np.uint8 if whole else np.float32
    weight = np.ones((WIDTH, WIDE), np.int8 if whole else np.float32)
    draw.output("y", draw("MatMulInteger" if whole else "MatMul", "x", draw.weight(weight)))
    session = draw.session({"x": (kind, ("rows", WIDTH))}, 1)
    feeds = {"x": np.ones((ROWS, WIDTH), kind)}
    with ThreadPoolExecutor(threads) as pool:
        seconds = []
        for _ in range(4):
            started = time.perf_counter()
            list(pool.map(lambda _: session.run(None, feeds), range(8 * threads)))
            seconds.append(time.perf_counter() - started)
    return 2 * ROWS * WIDTH * WIDE * 8 * threads / min(seconds)


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
    rates = {False: 0.0, True: 0.0}
    for _ in range(TURNS):
        for whole, known in rates.items():
            rates[whole] = max(known, rate(next(iter(loaded.values())).workers, whole))
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
    print(
        f"a product of float32: {rates[False]:.3g} operations a second, of bytes: {rates[True]:.3g}"
    )
    print(
        "| | pairs a second | tokens a second | at the limit | share of it |\n|---|---|---|---|---|"
    )
    for spec, seconds in best.items():
        limit = rates["int8" in spec] / 2 / weights(need(full_name(spec).partition("?")[0]).folder)
        cells = f"{len(pairs) / seconds:.0f} | {tokens[spec] / seconds:.0f} | {limit:.0f}"
        print(f"| `{spec}` | {cells} | {tokens[spec] / seconds / limit:.0%} |")


if __name__ == "__main__":
    main()
