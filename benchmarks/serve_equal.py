"""Comparison of results over HTTP with ``veridical.check``, byte for byte.

    python benchmarks/serve_equal.py --records 500 --clients 32

Starts ``veridical serve``, sends mixed records in random batches from many clients at once, and
compares each result line with the one that ``veridical.check`` writes. Exit code 1 where one
differs.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import sys
import tempfile
from pathlib import Path

import httpx

import veridical

sys.path.append(str(Path(__file__).parents[1] / "tests" / "helpers"))

from mixed_records import mixed_records
from servers import running


def lines_of(content: bytes) -> list[str]:
    """Return the result lines of an answer as they were sent."""
    text = content.decode().removeprefix('{"results":[')
    decoder, lines, at = json.JSONDecoder(), [], 0
    while text[at] == "{":
        _, end = decoder.raw_decode(text, at)
        lines.append(text[at:end])
        at = end + 1
    return lines


def without_row(line: str) -> str:
    """Return a line without its place in the request, which depends on the batch."""
    head, _, tail = line.partition(',"row":')
    return head + tail[tail.index(",") :]


async def ask(url: str, rows: list[dict[str, object]], clients: int, seed: int) -> dict[int, str]:
    rng = random.Random(seed)
    order = list(range(len(rows)))
    rng.shuffle(order)
    batches: list[list[int]] = []
    while order:
        size = rng.randint(1, 9)
        batches.append(order[:size])
        order = order[size:]
    found: dict[int, str] = {}

    async def client() -> None:
        async with httpx.AsyncClient(timeout=600) as http:
            while batches:
                batch = batches.pop()
                body = {"records": [rows[i] for i in batch]}
                while True:
                    answer = await http.post(f"{url}/v1/check", json=body)
                    if answer.status_code != 429:
                        break
                    await asyncio.sleep(0.5)
                answer.raise_for_status()
                found.update(zip(batch, lines_of(answer.content), strict=True))

    await asyncio.gather(*(client() for _ in range(clients)))
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--records", type=int, default=500)
    parser.add_argument("--clients", type=int, default=32)
    parser.add_argument("--seed", type=int, default=0)
    chosen = parser.parse_args()
    rows = mixed_records(chosen.records, chosen.seed)
    results = veridical.check(rows, store=None, nli="mini")
    expected = [without_row(line.decode()) for line in results.lines()]
    with tempfile.TemporaryDirectory() as folder:
        options = ["serve", "--port", "0", "--nli", "mini"]
        with running(options, cwd=Path(folder), ready=True) as server:
            found = asyncio.run(ask(server.url, rows, chosen.clients, chosen.seed))
    same = sum(without_row(found[i]) == expected[i] for i in range(len(rows)))
    print(f"{same} of {len(rows)} lines are equal ({chosen.clients} clients, seed {chosen.seed})")
    return 0 if same == len(rows) else 1


if __name__ == "__main__":
    sys.exit(main())
