"""The LLM client under faults and rate limits, and its own cost.

    python benchmarks/llm_client.py [--part faults,limits,overhead] [--calls 10000] [--seed 0]

``faults`` and ``limits`` run in virtual time: the clock jumps to the next timer, so that neither
the machine nor its load matters.

- ``faults``: calls through the service and its journal to a server that answers in 200 ms. Of these
  30 % meet one of 27 faults, such as rate limits (with or without Retry-After), 5xx, hang, drip,
  and lost or malformed answers. They are compared with the same calls without faults. Faults allow
  for the fault-free rate times the share of calls that were answered, less the time for which
  hanging calls hold their slots.
- ``limits``: calls to a server that answers in 200 ms and bears 100 calls a second, 50 at once, by
  several ways of counting. It rejects calls at once or after 200 ms.
- ``overhead``: CPU time of this process a call, over real connections to a server in another
  process, and that of a bare httpx client.

The exit status is 1 if a call is lost or not aligned or costs more than 1 ms, or a target is
missed. Targets are 80 % of the allowed rate, and 90 % of the limit with at most 2 %
rejected.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

import httpx

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "helpers"))

from faults import FAULTS, FaultServer, InProcess, Limit
from virtual_time import run_virtually

from veridical.core.messages import ChatRequest, LlmError, Reply, user
from veridical.llm.client import LlmClient
from veridical.llm.endpoints import Endpoint
from veridical.llm.journal import Journal
from veridical.llm.service import Account, LlmService

T = TypeVar("T")

LATENCY = 0.2
ENDPOINT = Endpoint("bench", "http://bench.example/v1", "m", timeout=1.0)
AT_ONCE = 50  # of the overhead
PARTS = ("faults", "limits", "overhead")


class JournalAtOnce(Journal):
    """Reads and writes while the loop waits: virtual time would not wait for another thread."""

    async def _later(self, work: Callable[[sqlite3.Connection], T]) -> T:
        return self._now(work)


def ask(server: FaultServer, calls: int, endpoint: Endpoint) -> tuple[float, LlmClient]:
    """Time ``calls`` calls, each checked: it has its own answer, or an error."""

    async def main() -> tuple[list[list[Reply | LlmError]], LlmClient]:
        client = LlmClient(endpoint, http=httpx.AsyncClient(transport=InProcess(server)))
        journal = JournalAtOnce(None)
        service = LlmService(endpoint, Account(journal, "run"), client=client)
        requests = [[ChatRequest(user(f"question {i}"))] for i in range(calls)]
        results = await asyncio.gather(*map(service.chat_each, requests))
        totals = journal.totals("run")
        if (totals.calls, totals.answered + totals.failed) != (calls, calls):
            sys.exit("calls are not written down")
        if totals.possibly_paid != client.counts.possibly_paid:
            sys.exit("lost replies are not counted as possibly paid")
        await service.close()
        journal.close()
        return results, client

    (results, client), seconds = run_virtually(main())
    kinds: Counter[str] = Counter()
    for i, outcomes in enumerate(results):
        (outcome,) = outcomes
        if isinstance(outcome, LlmError):
            kinds[outcome.trouble] += 1
            continue
        kinds["reply"] += 1
        asked = outcome.text.removeprefix("```json\n").split(" -> ")[0]
        if outcome.text and asked != f"question {i}":
            sys.exit(f"call {i} was given the answer to {asked!r}")
    if sum(kinds.values()) != calls or server.under_way:
        sys.exit("calls are not accounted for")
    print("   ", ", ".join(f"{n} {kind}" for kind, n in kinds.most_common()))
    return seconds, client


def faults(calls: int, seed: int) -> bool:
    print(f"{calls} calls, {LATENCY * 1000:g} ms each, at most {ENDPOINT.max_concurrency} at once")
    print("without faults:")
    seconds, _ = ask(FaultServer(latency=LATENCY, keep=False), calls, ENDPOINT)
    healthy = calls / seconds
    print(f"    {healthy:.0f} calls/s")
    chance = random.Random(seed)
    names = list(FAULTS)
    met: dict[int, str | None] = {}

    def fault(i: int) -> str | None:
        if i not in met:
            met[i] = chance.choice(names) if chance.random() < 0.3 else None
        return met[i]

    print("30 % faults:")
    server = FaultServer(fault, latency=LATENCY, keep=False)
    seconds, client = ask(server, calls, ENDPOINT)
    failed = sum(server.met[f] for f, trouble in FAULTS.items() if trouble)
    held = server.met["hang"] + server.met["drip"]
    answered = 1 - failed / server.calls
    rate, share = calls / seconds, answered * healthy
    # A call that hangs holds its slot for the whole timeout.
    allowed = share / (1 + held / server.calls * (ENDPOINT.timeout / LATENCY - 1))
    print(
        f"    {rate:.0f} calls/s; {rate / share:.0%} of {share:.0f}, the share that was answered;"
    )
    print(f"    {rate / allowed:.0%} of {allowed:.0f}, slots that were held by hanging calls aside")
    print(f"    {client.counts}")
    return rate >= 0.8 * allowed


def limits(calls: int) -> bool:
    fine = True
    calls = min(calls, 6000)
    print(f"{calls} calls; the server bears 100 calls/s, 50 at once, {LATENCY * 1000:g} ms each")
    kinds = {
        "sliding window of 1 s": Limit(100, 50),
        "fixed windows of 1 s": Limit(100, 50, kind="fixed"),
        "bucket of 10 calls": Limit(100, 50, kind="bucket", burst=10),
        "bucket of 100 calls": Limit(100, 50, kind="bucket", burst=100),
    }
    for name in kinds:
        for turned_away in (0.0, LATENCY):
            limit = Limit(100, 50, kind=kinds[name].kind, burst=kinds[name].burst)
            server = FaultServer(latency=LATENCY, limit=limit, turned_away=turned_away, keep=False)
            print(f"{name}, turned away after {turned_away * 1000:g} ms:")
            seconds, client = ask(server, calls, replace(ENDPOINT, attempts=20, timeout=30.0))
            rejected = client.counts.rejected / client.counts.attempts
            rate = calls / seconds
            print(f"    {rate:.1f} calls/s, {rejected:.2%} rejected")
            fine = fine and rate >= 90 and rejected <= 0.02
    return fine


SERVER = """
import asyncio, sys
BODY = sys.argv[1].encode()
HEAD = b"HTTP/1.1 200 OK\\r\\ncontent-type: application/json\\r\\ncontent-length: %d\\r\\n\\r\\n"
class Answer(asyncio.Protocol):
    def connection_made(self, transport):
        self.transport, self.got = transport, b""
    def data_received(self, data):
        self.got += data
        head, _, body = self.got.partition(b"\\r\\n\\r\\n")
        length = int(head.lower().split(b"content-length:")[1].split(b"\\r\\n")[0])
        if len(body) >= length:
            self.got = b""
            loop.call_later(0.05, self.transport.write, HEAD % len(BODY) + BODY)
async def main():
    global loop
    loop = asyncio.get_running_loop()
    server = await loop.create_server(Answer, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()
asyncio.run(main())
"""


async def measure(url: str, calls: int) -> tuple[float, float]:
    """CPU milliseconds a call: of the client, and of httpx with one connection pool."""
    endpoint = Endpoint("overhead", url, "m", max_concurrency=AT_ONCE)
    client = LlmClient(endpoint)
    request = ChatRequest(user("What is the capital of France? " * 20))

    async def some(n: int) -> None:
        for outcome in await asyncio.gather(*(client.chat(request) for _ in range(n))):
            assert isinstance(outcome[0], Reply)

    await some(500)  # to full speed
    began = time.process_time()
    await some(calls)
    ours = (time.process_time() - began) / calls * 1000
    await client.close()
    payload = json.dumps({"model": "m", "messages": list(request.messages)}).encode()
    turns = asyncio.Semaphore(AT_ONCE)
    unbounded = httpx.Limits(max_connections=None, max_keepalive_connections=AT_ONCE)
    async with httpx.AsyncClient(limits=unbounded, timeout=None) as bare:

        async def one() -> None:
            async with turns:
                (await bare.post(f"{url}/chat/completions", content=payload)).json()

        await asyncio.gather(*(one() for _ in range(AT_ONCE)))
        began = time.process_time()
        await asyncio.gather(*(one() for _ in range(calls // 2)))
        theirs = (time.process_time() - began) / (calls // 2) * 1000
    return ours, theirs


def overhead(calls: int) -> bool:
    text = "Paris is the capital of France. " * 8
    body = {
        "model": "m",
        "choices": [{"index": 0, "message": {"content": text}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 120, "completion_tokens": 60},
    }
    calls = min(calls, 4000)
    env = {k: v for k, v in os.environ.items() if not k.lower().endswith("_proxy")}
    with subprocess.Popen(
        [sys.executable, "-c", SERVER, json.dumps(body)], stdout=subprocess.PIPE, text=True, env=env
    ) as server:
        assert server.stdout is not None
        try:
            url = f"http://127.0.0.1:{int(server.stdout.readline())}/v1"
            ours, theirs = asyncio.run(measure(url, calls))
        finally:
            server.kill()
    print(f"{calls} calls, {AT_ONCE} at once: {ours:.2f} ms of CPU time a call")
    print(f"    bare httpx with one pool: {theirs:.2f} ms")
    return ours <= 1.0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--part", default=",".join(PARTS))
    parser.add_argument("--calls", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    missed = []
    for part in given.part.split(","):
        if part not in PARTS:
            parser.error(f"no part {part!r}; there are {', '.join(PARTS)}")
        print(f"== {part}")
        began = time.process_time()
        if part == "faults":
            fine = faults(given.calls, given.seed)
        else:
            fine = limits(given.calls) if part == "limits" else overhead(given.calls)
        print(f"    ({time.process_time() - began:.0f} s of CPU time)")
        missed += [] if fine else [part]
    print(f"missed: {', '.join(missed)}" if missed else "all targets met")
    return bool(missed)


if __name__ == "__main__":
    sys.exit(main())
