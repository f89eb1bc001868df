"""ragas' faithfulness by an LLM on answers; runs in its environment."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from openai import AsyncOpenAI
from ragas.llms import llm_factory
from ragas.metrics.collections import Faithfulness

from serve import each, serve


def start(options: dict[str, Any]) -> Callable[[Any], Any]:
    loop = asyncio.new_event_loop()
    client = AsyncOpenAI(base_url=options["url"], api_key="none", max_retries=0)
    llm = llm_factory(options["model"], client=client, max_tokens=options["most"])
    metric = Faithfulness(llm=llm)

    def risk(row: dict[str, Any]) -> float:
        found = loop.run_until_complete(
            metric.ascore(
                user_input=row["prompt"],
                response=row["response"],
                retrieved_contexts=[row["context"]],
            )
        )
        return 1 - found.value

    return lambda rows: each(rows, risk)


if __name__ == "__main__":
    serve(start)
