"""A bare loop: packed batches through ONNX Runtime and nothing else."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from peers.environments import Reply
from tokenizers import Tokenizer

from veridical.core.records import Record

_FEEDS = {"input_ids": "ids", "attention_mask": "attention_mask", "token_type_ids": "type_ids"}


def bare_loop(
    records: Sequence[Record],
    folder: Path,
    name: str,
    tokens: Counter[str],
    side_by_side: int,
    wide: int,
    budget: int,
) -> Callable[[list[int]], Reply]:
    """Return a loop over the (sentence, sample) pairs of chosen records by ``folder``'s graph.

    It runs ``side_by_side`` forwards at a time, each on ``wide`` threads, of at most ``budget``
    padded tokens. Tokens through the model are added to ``tokens[name]``.
    """
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    session = _session(folder / "model.onnx", wide)
    kinds = [i.name for i in session.get_inputs()]

    def forward(batch: Sequence[Any]) -> NDArray[np.float32]:
        shape = (len(batch), len(batch[0].ids))
        feeds = {k: np.zeros(shape, np.int64) for k in kinds}
        for i, e in enumerate(batch):
            for kind, values in _FEEDS.items():
                if kind in feeds:
                    feeds[kind][i, : len(e.ids)] = getattr(e, values)
        logits: NDArray[np.float32] = session.run(None, feeds)[0]
        exp = np.exp(logits - logits.max(axis=1, keepdims=True))
        shares: NDArray[np.float32] = exp / exp.sum(axis=1, keepdims=True)
        return shares

    def way(chosen: list[int]) -> Reply:
        pairs = dict.fromkeys(
            (s.text, sample)
            for r in (records[i] for i in chosen)
            for s in r.sentences
            for sample in r.sample_texts
        )
        started, used = time.perf_counter(), time.process_time()
        encoded = sorted(tokenizer.encode_batch(list(pairs)), key=lambda e: -len(e.ids))
        batches: list[list[Any]] = []
        for e in encoded:
            if not batches or len(batches[-1][0].ids) * (len(batches[-1]) + 1) > budget:
                batches.append([])
            batches[-1].append(e)
        with ThreadPoolExecutor(side_by_side) as pool:
            list(pool.map(forward, batches))
        wall, cpu = time.perf_counter() - started, time.process_time() - used
        tokens[name] += sum(len(e.ids) for e in encoded)
        return Reply([None] * len(chosen), wall, cpu)

    return way


def _session(path: Path, threads: int) -> Any:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
