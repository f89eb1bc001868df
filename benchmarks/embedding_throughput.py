"""Embedding throughput: the package's engine path against a bare ONNX Runtime loop.

    python benchmarks/embedding_throughput.py [--data WIKIBIO_JSONL] [--texts 5000] [--threads N]

Both embed the same texts of 8 to 300 words with the same session and weights. The bare loop has
everything known in advance. It tokenises once, sorts all texts by length, packs them ideally and
runs the batches on as many threads. It keeps the mean of the token vectors. The engine gets the
texts in requests of seven, as records with a response and samples ask for them. Rounds alternate,
so that other work on the machine affects both alike; the ratio is that of the summed times.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from veridical.engine.batching import IdleSignal
from veridical.engine.encoders import EncoderService
from veridical.models.catalog import EMBEDDED
from veridical.models.onnx import BATCH_TOKENS, OnnxEncoder

REQUEST = 7  # texts a record asks for: one response, five samples, one context
Texts = list[str]


def make_texts(count: int, data: Path | None, seed: int = 0) -> Texts:
    """Seeded passages of 8 to 300 words from real text, else from a made-up vocabulary."""
    rng = random.Random(seed)
    if data is not None:
        rows = data.read_text(encoding="utf-8").splitlines()
        words = [w for row in rows for w in json.loads(row)["gpt3_text"].split()]
    else:
        roots = [a + b + c for a in "bdfglmnprst" for b in "aeiou" for c in ("", "n", "rt", "sh")]
        words = [rng.choice(roots) + rng.choice(["", "", *roots]) for _ in range(50_000)]
    texts = []
    for _ in range(count):
        length = rng.randint(8, 300)
        start = rng.randrange(len(words) - length)
        texts.append(" ".join(words[start : start + length]))
    return texts


def bare(encoder: OnnxEncoder, texts: Texts) -> NDArray[np.float32]:
    """Sorted by length, packed to the same token budget, on the same number of threads."""
    pieces = [(i, w) for i, ws in enumerate(encoder.windows(texts)) for w in ws]
    pieces.sort(key=lambda p: -p[1].length)
    batches: list[list[int]] = []
    for k, (_, window) in enumerate(pieces):
        width = pieces[batches[-1][0]][1].length if batches else window.length
        if not batches or width * (len(batches[-1]) + 1) > BATCH_TOKENS:
            batches.append([])
        batches[-1].append(k)
    sums = np.zeros((len(texts), 384), dtype=np.float32)
    session = encoder._graph._session

    def forward(batch: list[int]) -> list[NDArray[np.float32]]:
        rows = [pieces[k][1].content.ids for k in batch]
        ids = np.zeros((len(rows), len(rows[0])), dtype=np.int64)
        mask = np.zeros_like(ids)
        for row, m, known in zip(ids, mask, rows, strict=True):
            row[: len(known)] = known
            m[: len(known)] = 1
        (hidden,) = session.run(None, {"input_ids": ids, "attention_mask": mask})
        return [h[: len(r)].mean(axis=0) for h, r in zip(hidden, rows, strict=True)]

    with ThreadPoolExecutor(encoder.workers) as pool:
        for batch, means in zip(batches, pool.map(forward, batches), strict=True):
            for k, mean in zip(batch, means, strict=True):
                index, window = pieces[k]
                sums[index] += mean * (window.length - window.overlap)
    return sums / np.linalg.norm(sums, axis=1, keepdims=True)


def engine(encoder: OnnxEncoder, texts: Texts) -> NDArray[np.float32]:
    """Embed the texts through the evidence layer, without a store."""

    async def embed() -> NDArray[np.float32]:
        service = EncoderService(encoder, IdleSignal(0.002), None, tokens=False)
        try:
            asked = [
                service.embed(texts[i : i + REQUEST], []) for i in range(0, len(texts), REQUEST)
            ]
            return np.concatenate(await asyncio.gather(*asked))
        finally:
            service.close()

    return asyncio.run(embed())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--data", type=Path, help="wikibio_gpt3.jsonl")
    parser.add_argument("--texts", type=int, default=5000)
    parser.add_argument("--threads", type=int)
    parser.add_argument("--rounds", type=int, default=4, help="parts the texts are timed in")
    arguments = parser.parse_args()
    encoder = OnnxEncoder(EMBEDDED, threads=arguments.threads)
    texts = make_texts(arguments.texts, arguments.data)
    ways: dict[str, Callable[[OnnxEncoder, Texts], NDArray[np.float32]]] = {
        "bare": bare,
        "engine": engine,
    }
    for way in ways.values():
        way(encoder, texts[:50])
    wall, cpu = dict.fromkeys(ways, 0.0), dict.fromkeys(ways, 0.0)
    worst = 0.0
    for part in range(arguments.rounds):
        chosen = texts[part :: arguments.rounds]
        found = {}
        for name in sorted(ways, reverse=bool(part % 2)):
            started, used = time.perf_counter(), time.process_time()
            found[name] = ways[name](encoder, chosen)
            wall[name] += time.perf_counter() - started
            cpu[name] += time.process_time() - used
        worst = max(worst, float(np.abs(found["bare"] - found["engine"]).max()))
    for name in ways:
        print(f"{name:7} {len(texts) / wall[name]:7.1f} texts/s, {cpu[name]:.1f} s of CPU")
    ratio, cpu_ratio = wall["bare"] / wall["engine"], cpu["bare"] / cpu["engine"]
    print(f"engine / bare: {ratio:.3f} of the throughput ({cpu_ratio:.3f} by CPU time)")
    print(f"largest difference of a vector: {worst:.1e}")


if __name__ == "__main__":
    main()
