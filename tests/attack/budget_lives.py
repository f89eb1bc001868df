"""One life of a run with a budget against every mode of :mod:`paid_server`: as a script it is the
command that is killed and started again.

``python budget_lives.py FOLDER PORT``
"""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "helpers"))
sys.path.insert(0, str(Path(__file__).parent))

from paid_server import MODES, PRICE_IN, PRICE_OUT

from veridical.core.messages import ChatRequest, user
from veridical.llm.budget import Budget
from veridical.llm.cost_accounting import Account
from veridical.llm.endpoints import Endpoint
from veridical.llm.journal import JOURNAL, Journal
from veridical.llm.service import LlmService

BUDGET = 4.0
RUN = "run"
_SLOW = ("hang", "drip", "first good, then hangs", "anything")
_SCHEMA = {"type": "object", "properties": {"ok": {"type": "boolean"}}}


def endpoint(mode: str, port: int) -> Endpoint:
    number = MODES.index(mode)
    return Endpoint(
        mode,
        f"http://127.0.0.1:{9 if mode == 'nobody' else port}/{number}/v1",
        "m",
        "SOME_KEY",
        price_in=PRICE_IN,
        price_out=PRICE_OUT,
        max_concurrency=2,
        timeout=0.5 if mode in _SLOW else 20.0,
        attempts=4,
        patience=2.0,
        extra_body={"max_tokens": 30} if mode == "thinks" else {},
    )


def requests() -> list[list[ChatRequest]]:
    """Greedy answers, several samples of one prompt, and JSON."""
    asked = []
    for i in range(14):
        messages = user(f"question {i}: what is the capital of France?")
        asked.append([ChatRequest(messages, max_tokens=24)])
        asked.append([ChatRequest(messages, 1.0, 24, ordinal=k) for k in range(2)])
        asked.append([ChatRequest(messages, max_tokens=24, schema=_SCHEMA)])
    return asked


async def run(folder: Path, mode: str, port: int) -> None:
    journal = Journal(folder / str(MODES.index(mode)) / JOURNAL)
    account = Account(journal, RUN, budget=Budget(BUDGET))
    service = LlmService(endpoint(mode, port), account)
    try:
        await asyncio.gather(*(service.chat_each(group) for group in requests()))
    finally:
        await service.close()
        account.close()
        journal.close()


async def main(folder: Path, port: int) -> None:
    await asyncio.gather(*(run(folder, mode, port) for mode in MODES))


if __name__ == "__main__":
    os.environ["SOME_KEY"] = "sk-a1b2c3d4e5f6g7h8"
    asyncio.run(main(Path(sys.argv[1]), int(sys.argv[2])))
