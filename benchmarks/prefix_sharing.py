"""Savings of shared prompt prefixes: `selfcheck_prompt` by a local llama.cpp model.

    python benchmarks/prefix_sharing.py --data DATA --llm local:MODEL.gguf --out FOLDER
        [--limit 20] [--samples 20] [--timed N]

The data are the first `--limit` passages of WikiBio-GPT3, with `--samples` samples each. First all
prompts are counted exactly, in their order, by the model's own template and tokenizer; nothing is
read. Then the first `--timed` passages (default: all) are judged twice, with the server's cache of
prompts and without it, taking turns. Tokens are the server's own counts. Each passage that is done
is a line in FOLDER: the same command resumes a stopped run.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import math
import os
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import numpy as np

import veridical
from veridical.core.messages import ChatRequest, LlmError, Reply, Usage
from veridical.core.records import TokenLogprob
from veridical.llm.endpoints import Endpoint, find_endpoint
from veridical.llm.local import LocalServer, read_local

SCORER = "selfcheck_prompt"
Row = dict[str, Any]


class Recorder:
    """In the place of the local client: keeps the prompts in the order in which they are asked."""

    shares_prefixes = True

    def __init__(self, endpoint: Endpoint, most_calls: int) -> None:
        self.endpoint, self.most_calls = endpoint, most_calls
        self.asked: list[ChatRequest] = []
        top = [{"token": t, "logprob": math.log(0.5)} for t in ("Yes", "No")]
        token = TokenLogprob.model_validate({"token": "Yes", "logprob": math.log(0.5), "top": top})
        self._reply = Reply("Yes", "length", (token,), Usage(1, 1))

    async def chat(
        self, request: ChatRequest, ordinals: Sequence[int] = (0,)
    ) -> list[Reply | LlmError]:
        self.asked.append(request)
        await asyncio.sleep(0)
        return [self._reply for _ in ordinals]

    async def close(self) -> None:
        pass


def passages(data: Path, limit: int, samples: int) -> list[Row]:
    """Load records of the first passages."""
    with (data / "wikibio_gpt3" / "wikibio_gpt3.jsonl").open(encoding="utf-8") as lines:
        items = [json.loads(line) for line, _ in zip(lines, range(limit), strict=False)]
    return [
        {
            "id": str(item["dataset_idx"]),
            "response": item["gpt3_text"],
            "samples": item["gpt3_text_samples"][:samples],
        }
        for item in items
    ]


def count(rows: list[Row], endpoint: Endpoint) -> tuple[int, int, int]:
    """Count prompts, their tokens, and those of them that have to be read."""
    model = read_local(endpoint.base_url)
    recorder = Recorder(endpoint, model.parallel)
    veridical.check(rows, SCORER, llm=recorder, store=None, processes=0)
    tokens = read = 0
    before: list[int] = []
    with LocalServer(replace(model, parallel=1, threads=1)) as server, httpx.Client() as http:
        base = server.url.removesuffix("/v1")
        for request in recorder.asked:
            body: Row = {"messages": list(request.messages)}
            text = http.post(f"{base}/apply-template", json=body).json()["prompt"]
            body = {"content": text, "add_special": True, "parse_special": True}
            ids: list[int] = http.post(f"{base}/tokenize", json=body).json()["tokens"]
            pairs = enumerate(zip(ids, before, strict=False))
            same = next((i for i, (a, b) in pairs if a != b), min(len(ids), len(before)))
            tokens += len(ids)
            read += len(ids) - min(same, len(ids) - 1)
            before = ids
    return len(recorder.asked), tokens, read


def judged(row: Row, engine: veridical.Engine) -> tuple[Row, list[float]]:
    """Judge a passage; return its cost, and its sentences' risks."""
    started = time.perf_counter()
    results = veridical.check([row], SCORER, engine=engine)
    seconds = time.perf_counter() - started
    (result,) = results
    ledger = results.ledger
    assert ledger is not None
    tokens, cached = ledger["tokens_in"], ledger["tokens_cached"]
    took = {"calls": ledger["calls"], "again": ledger["again"], "seconds": seconds}
    took |= {"tokens": tokens, "read": tokens - cached}
    return took, [u.risk if u.risk is not None else math.nan for u in result.scores[SCORER].units]


def measure(rows: list[Row], endpoint: Endpoint, path: Path) -> list[Row]:
    """Return the lines of the passages, earlier ones and those judged now."""
    done = {}
    if path.exists():
        lines = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
        done = {line["id"]: line for line in lines}
    left = [row for row in rows if row["id"] not in done]
    if not left:
        return [done[row["id"]] for row in rows]
    ways = {"shared": True, "alone": False}
    engines = {
        way: veridical.Engine(
            llm=replace(endpoint, extra_body={"cache_prompt": kept}), store=None, processes=0
        )
        for way, kept in ways.items()
    }
    try:
        for engine in engines.values():  # the weights are loaded
            judged({"response": "Yes.", "samples": ["No."]}, engine)
        for n, row in enumerate(left):
            line: Row = {"id": row["id"], "load": os.getloadavg()[0]}
            risks = {}
            for way in list(ways) if n % 2 else list(ways)[::-1]:
                line[way], risks[way] = judged(row, engines[way])
            apart = np.abs(np.subtract(risks["shared"], risks["alone"]))
            line |= {"apart": float(apart.max()), "sentences": len(apart)}
            with path.open("a", encoding="utf-8") as out:
                out.write(json.dumps(line) + "\n")
            done[row["id"]] = line
            print(f"{len(done)} of {len(rows)} passages", end="\r", flush=True)
    finally:
        for engine in engines.values():
            engine.close()
    return [done[row["id"]] for row in rows]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--llm", default="local", help="local, or local:MODEL.gguf")
    parser.add_argument("--out", type=Path, required=True, help="folder of what is done")
    parser.add_argument("--limit", type=int, default=20, help="passages")
    parser.add_argument("--samples", type=int, default=20)
    parser.add_argument("--timed", type=int, help="passages that are judged; default: all")
    options = parser.parse_args()
    endpoint = find_endpoint(options.llm)
    if not endpoint.llama_cpp:
        parser.error("--llm must be local, or local:MODEL.gguf")
    model = read_local(endpoint.base_url)
    # both servers with the threads that are free now: the work of one would count as busy
    asked = f"context={model.context}&parallel={model.parallel}&threads={model.threads}"
    endpoint = replace(endpoint, base_url=f"local:{model.path}?{asked}")
    rows = passages(options.data, options.limit, options.samples)
    prompts, tokens, read = count(rows, endpoint)
    print(
        f"counted: {len(rows)} passages, {options.samples} samples, {prompts} prompts of "
        f"{tokens / prompts:.0f} tokens: {tokens} tokens, {read} to be read: "
        f"{tokens / read:.2f} times fewer"
    )
    options.out.mkdir(parents=True, exist_ok=True)
    path = options.out / f"{Path(endpoint.model).stem}-{options.samples}.jsonl"
    lines = measure(rows[: options.timed], endpoint, path)
    if not lines:
        return
    total = {
        way: {k: sum(line[way][k] for line in lines) for k in lines[0][way]}
        for way in ("shared", "alone")
    }
    shared, alone = total["shared"], total["alone"]
    loads = [line["load"] for line in lines]
    for way, sums in total.items():
        print(
            f"{way}: {len(lines)} passages, {sums['calls']} calls ({sums['again']} asked again), "
            f"{sums['tokens']} tokens in, {sums['read']} read, {sums['seconds']:.0f} s"
        )
    print(
        f"read: {alone['read'] / shared['read']:.2f} times fewer; time: "
        f"{alone['seconds'] / shared['seconds']:.2f} times less; load average "
        f"{min(loads):.1f} to {max(loads):.1f} at the beginnings, {model.threads} threads here"
    )
    print(f"a sentence's risk differs by at most {max(line['apart'] for line in lines):.4f}")


if __name__ == "__main__":
    main()
