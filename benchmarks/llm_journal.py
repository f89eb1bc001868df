"""Replay speed of a run from the journal; the journal's cost.

    python benchmarks/llm_journal.py [--calls 100000] [--logprobs 0]

Writes that many replies through the service with a client that answers at once. Then it opens the
file again and requests all of them again, ten at a time by 1 024 askers as a run does. Exit status
1 when a reply differs or is requested again, or when 100 000 calls take 5 s or more to come back.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from veridical.core.messages import ChatRequest, LlmError, Reply, Usage, user
from veridical.core.records import TokenLogprob, TopToken
from veridical.llm.endpoints import Endpoint
from veridical.llm.journal import JOURNAL, Journal
from veridical.llm.service import Account, LlmService

ENDPOINT = Endpoint("bench", "http://127.0.0.1/v1", "m", price_in=0.1, price_out=0.4)
ASKERS = 1024
ROUND = 10
WORDS = "The town lies on the river, and was founded in 1904 by miners from the coast. " * 3


class Instant:
    """Answers at once."""

    def __init__(self, logprobs: int) -> None:
        self.calls = 0
        token = TokenLogprob(
            token=" town",
            logprob=-0.4375,
            top=tuple(TopToken(token=f" w{i}", logprob=-1.0 - i) for i in range(5)),
        )
        self.logprobs = (token,) * logprobs or None

    async def chat(
        self, request: ChatRequest, ordinals: Sequence[int] = (0,)
    ) -> list[Reply | LlmError]:
        self.calls += len(ordinals)
        text = request.messages[-1]["content"][-8:] + WORDS
        return [Reply(text, "stop", self.logprobs, Usage(200, 60), "m") for _ in ordinals]

    async def close(self) -> None: ...


def round_of(number: int) -> list[ChatRequest]:
    """Make ten requests, each with a question of its own of about 900 characters."""
    head = WORDS * 4
    return [ChatRequest(user(f"{head}{number * ROUND + i:08d}")) for i in range(ROUND)]


async def ask_all(service: LlmService, calls: int) -> None:
    numbers = iter(range(calls // ROUND))

    async def asker() -> None:
        for number in numbers:
            requests = round_of(number)
            for request, reply in zip(requests, await service.chat(requests), strict=True):
                if reply.text != request.messages[-1]["content"][-8:] + WORDS:
                    sys.exit("a reply is not the one that was written")

    await asyncio.gather(*(asker() for _ in range(ASKERS)))


def session(path: Path, calls: int, logprobs: int) -> tuple[int, float, float]:
    """Run a session; return the calls made, seconds and CPU seconds."""
    client = Instant(logprobs)
    started, cpu = time.perf_counter(), time.process_time()
    journal = Journal(path)
    account = Account(journal, "run")

    async def run() -> None:
        service = LlmService(ENDPOINT, account, client=client)
        await ask_all(service, calls)
        await service.close()

    asyncio.run(run())
    journal.close()
    return client.calls, time.perf_counter() - started, time.process_time() - cpu


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--calls", type=int, default=100_000)
    parser.add_argument("--logprobs", type=int, default=0, help="tokens a reply, 5 alternatives")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / JOURNAL
        made, wall, cpu = session(path, args.calls, args.logprobs)
        print(f"written: {made} calls in {wall:.1f} s, {1000 * cpu / made:.3f} ms of CPU a call")
        print(f"file: {path.stat().st_size / 1e6:.0f} MB")
        again, wall, cpu = session(path, args.calls, args.logprobs)
        print(f"resumed: {args.calls} calls in {wall:.2f} s ({cpu:.2f} s of CPU)")
    if again:
        sys.exit(f"{again} journaled calls were made again")
    if args.calls >= 100_000 and wall >= 5:
        sys.exit("that is 5 s or more")


if __name__ == "__main__":
    main()
