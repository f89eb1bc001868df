"""The command line with a scripted model that takes its time and writes down what it is asked.

python slow_sampling.py LOG SECONDS sample PROMPTS --llm fake:SCRIPT ...

FAILS=7 in the environment has the second draw of every seventh question fail.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import sys
from typing import Any


def main() -> None:
    log, seconds = sys.argv.pop(1), float(sys.argv.pop(1))
    from veridical.cli import main as cli
    from veridical.core.messages import LlmError, Reply, Usage
    from veridical.llm.fake import FakeLlm

    fails = int(os.environ.get("FAILS", 0))

    fd = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)

    async def chat(self: Any, request: Any, ordinals: Any = (0,)) -> list[Any]:
        text = request.messages[-1]["content"]
        name = [text, request.temperature, list(ordinals)]
        os.write(fd, json.dumps(["begin", *name]).encode() + b"\n")
        await asyncio.sleep(random.uniform(0, seconds))
        os.write(fd, json.dumps(["end", *name]).encode() + b"\n")
        poor = fails and request.temperature and int(text.split()[1]) % fails == 3
        return [
            LlmError("malformed", "no JSON")
            if poor and o == 1
            else Reply(
                f"{text} / {request.temperature} / {o}", "stop", usage=Usage(4, 5), model="slow"
            )
            for o in ordinals
        ]

    FakeLlm.chat = chat  # type: ignore[method-assign]
    sys.argv[0] = "veridical"
    cli()


if __name__ == "__main__":
    main()
