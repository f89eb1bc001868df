"""Latency and throughput of ``veridical serve``, and of one request at a time.

    python benchmarks/serve_load.py            # about five minutes on two cores
    python benchmarks/serve_load.py --seconds 5

All figures come from one run on one machine: ratios and percentiles mean more than seconds.

- steady: 4 sentences against one context of 200 words, 2 requests a second, ``nli_grounding`` with
  the mini model, and the default preset.
- capacity: as many clients as keep it busy; then requests at three times that rate. Printed are the
  share of answered requests and their times, and the time to a refusal.
- lock: the same engine behind a lock, one request at a time. Loads are 16 clients with texts of
  their own, then with repeated ones; and short requests behind long ones.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import itertools
import json
import random
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx

sys.path.append(str(Path(__file__).parents[1] / "tests" / "helpers"))

from servers import running

WORDS = (
    *("river", "bridge", "city", "harbour", "engineer", "winter", "steel", "record", "train"),
    *("museum", "island", "market", "north", "tower", "garden", "factory", "school", "council"),
    *("painting", "voyage", "letter", "storm", "village", "mountain"),
)
_count = itertools.count()


def sentence(rng: random.Random, words: int) -> str:
    return " ".join(rng.choice(WORDS) for _ in range(words)).capitalize() + "."


def record(rng: random.Random, sentences: int = 4, words: int = 200) -> dict[str, Any]:
    """Make an answer and its context; a number makes each of them unique."""
    answer = [sentence(rng, 10) for _ in range(sentences - 1)]
    answer.append(f"Number {next(_count)} is {sentence(rng, 6)}")
    context = " ".join(sentence(rng, 10) for _ in range(words // 10))
    return {"response": " ".join(answer), "contexts": [f"Text {next(_count)}. {context}"]}


@dataclass
class Seen:
    """Outcomes of requests."""

    answered: list[float] = field(default_factory=list)
    refused: list[float] = field(default_factory=list)
    failed: int = 0
    seconds: float = 0.0

    @property
    def rate(self) -> float:
        return len(self.answered) / self.seconds

    def line(self) -> str:
        text = f"{self.rate:.2f} answered/s, p50 {ms(self.answered, 0.5)}, "
        text += f"p99 {ms(self.answered, 0.99)}"
        if self.refused:
            text += f"; {len(self.refused)} refused, p50 {ms(self.refused, 0.5)}, "
            text += f"p99 {ms(self.refused, 0.99)}"
        return text + (f"; {self.failed} FAILED" if self.failed else "")


def at(values: list[float], share: float) -> float:
    ordered = sorted(values)
    return ordered[min(int(share * len(ordered)), len(ordered) - 1)] if ordered else float("nan")


def ms(values: list[float], share: float) -> str:
    return f"{1000 * at(values, share):.0f} ms"


async def one(http: httpx.AsyncClient, body: dict[str, Any], seen: Seen) -> None:
    begun = time.perf_counter()
    try:
        answer = await http.post("/v1/check", json=body)
    except httpx.HTTPError:
        seen.failed += 1
        return
    took = time.perf_counter() - begun
    if answer.status_code == 200:
        seen.answered.append(took)
    elif answer.status_code == 429:
        seen.refused.append(took)
    else:
        seen.failed += 1


@contextlib.asynccontextmanager
async def client(url: str) -> AsyncIterator[httpx.AsyncClient]:
    limits = httpx.Limits(max_connections=400, max_keepalive_connections=400)
    async with httpx.AsyncClient(base_url=url, timeout=120, limits=limits) as http:
        yield http


async def open_loop(
    url: str, body: Callable[[], dict[str, Any]], rate: float, seconds: float
) -> Seen:
    """Send requests at a rate, whether or not those before are answered."""
    seen = Seen()
    async with client(url) as http:
        begun, tasks = time.perf_counter(), []
        for i in range(max(1, round(rate * seconds))):
            await asyncio.sleep(max(0.0, begun + i / rate - time.perf_counter()))
            tasks.append(asyncio.create_task(one(http, body(), seen)))
        await asyncio.gather(*tasks)
        seen.seconds = time.perf_counter() - begun
    return seen


async def closed_loop(
    url: str, bodies: list[Callable[[], dict[str, Any]]], seconds: float
) -> list[Seen]:
    """Run one client for each of ``bodies``; it sends its next request once it has an answer."""
    found = [Seen() for _ in bodies]
    async with client(url) as http:
        begun = time.perf_counter()

        async def go(body: Callable[[], dict[str, Any]], seen: Seen) -> None:
            while time.perf_counter() - begun < seconds:
                before = len(seen.refused)
                await one(http, body(), seen)
                if len(seen.refused) > before:
                    await asyncio.sleep(0.2)

        await asyncio.gather(*(go(b, s) for b, s in zip(bodies, found, strict=True)))
        for seen in found:
            seen.seconds = time.perf_counter() - begun
    return found


def joined(several: list[Seen]) -> Seen:
    return Seen(
        [t for s in several for t in s.answered],
        [t for s in several for t in s.refused],
        sum(s.failed for s in several),
        max(s.seconds for s in several),
    )


#: The same checks by the same package, one request at a time.
LOCKED = """
import asyncio, json, sys
from veridical import Engine, acheck
from veridical.serve.running import open_socket, run_app

engine = Engine(nli="mini", store=None, processes=0)
lock = None

async def app(scope, receive, send):
    global lock
    if scope["type"] == "lifespan":
        lock = asyncio.Lock()
        while True:
            kind = (await receive())["type"]
            await send({"type": kind + ".complete"})
            if kind == "lifespan.shutdown":
                return
    body = b""
    while True:
        message = await receive()
        body += message.get("body", b"")
        if not message.get("more_body"):
            break
    request = json.loads(body)
    async with lock:
        results = await acheck(request["records"], request.get("scorers"), engine=engine)
    lines = b",".join(results.lines())
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": b'{"results":[' + lines + b"]}"})

sys.exit(run_app(app, open_socket("127.0.0.1", 0, guarded=False)))
"""


async def steady(url: str, seconds: float, rng: random.Random) -> None:
    for name, more in (("nli_grounding", {"scorers": "nli_grounding"}), ("default preset", {})):
        await one_warm(url, {"records": [record(rng)], **more})
        seen = await open_loop(url, lambda m=more: {"records": [record(rng)], **m}, 2, seconds)
        print(f"steady, 2 requests a second, {name}: {seen.line()}", flush=True)


async def one_warm(url: str, body: dict[str, Any]) -> None:
    async with client(url) as http:
        await one(http, body, Seen())


async def overload(url: str, seconds: float, rng: random.Random) -> None:
    def body() -> dict[str, Any]:
        return {"records": [record(rng)], "scorers": "nli_grounding"}

    busy = joined(await closed_loop(url, [body] * 8, seconds))
    print(f"capacity, 8 clients: {busy.line()}", flush=True)
    over = await open_loop(url, body, 3 * busy.rate, seconds)
    print(f"three times that: {over.line()}")
    print(f"  goodput {over.rate / busy.rate:.2f} of the capacity", flush=True)


async def company(url: str, seconds: float, rng: random.Random) -> dict[str, Seen]:
    def own() -> dict[str, Any]:
        return {"records": [record(rng)], "scorers": "nli_grounding"}

    shared = [record(rng) for _ in range(8)]

    def repeated() -> dict[str, Any]:
        return {"records": [rng.choice(shared)], "scorers": "nli_grounding"}

    def short() -> dict[str, Any]:
        return {"records": [record(rng, 1, 40)], "scorers": "nli_grounding"}

    def long() -> dict[str, Any]:
        return {"records": [record(rng, 8, 400) for _ in range(4)], "scorers": "nli_grounding"}

    found = {
        "own texts": joined(await closed_loop(url, [own] * 16, seconds)),
        "repeated texts": joined(await closed_loop(url, [repeated] * 16, seconds)),
    }
    mixed = await closed_loop(url, [long] * 2 + [short] * 2, seconds)
    found["short behind long"] = joined(mixed[2:])
    found["the long ones"] = joined(mixed[:2])
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=20, help="duration of each measurement")
    parser.add_argument("--seed", type=int, default=0)
    chosen = parser.parse_args()
    rng = random.Random(chosen.seed)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "locked.py").write_text(LOCKED)
        options = ["serve", "--port", "0", "--nli", "mini"]
        with running(options, cwd=folder, ready=True) as server:
            asyncio.run(steady(server.url, chosen.seconds, rng))
            asyncio.run(overload(server.url, chosen.seconds, rng))
            ours = asyncio.run(company(server.url, chosen.seconds, rng))
        with running(["locked.py"], cwd=folder) as server:
            asyncio.run(one_warm(server.url, {"records": [record(rng)]}))
            theirs = asyncio.run(company(server.url, chosen.seconds, rng))
    for kind in ours:
        print(f"{kind}\n  serve: {ours[kind].line()}\n  lock:  {theirs[kind].line()}")
        ratio = {
            "throughput": ours[kind].rate / theirs[kind].rate if theirs[kind].answered else None,
            "p99": at(ours[kind].answered, 0.99) / at(theirs[kind].answered, 0.99),
        }
        print(f"  serve / lock: {json.dumps(ratio)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
