"""Resident memory of ``veridical serve`` before, under and after load.

    python benchmarks/serve_memory.py               # about five minutes on two cores
    python benchmarks/serve_memory.py --rounds 1 --nli mini
    python benchmarks/serve_memory.py --rounds 250 --loads documents,tables
    python benchmarks/serve_memory.py --rounds 10000 --clients 2 --loads articles \\
        --data DATA/grounded

Prints the resident memory of the process in MB, and the highest so far. It is measured once the
process is ready, during and after each load, and after some idle seconds. Loads:

* short answers;
* answers against contexts of 3 000 sentences;
* answers with samples and every scorer;
* requests of 256 records;
* answers against 300 sentences;
* answers in JSON against JSON of 1 200 values;
* with ``--data``, claims and summaries against two articles each, in a new order of sentences.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx

sys.path.append(str(Path(__file__).parents[1] / "tests" / "helpers"))

from serve_load import record, sentence
from servers import Running, running

#: Seconds without a request before memory is read for the last time.
IDLE_SECONDS = 10.0


def memory(process: int) -> dict[str, int]:
    """Return the resident memory of a process, now and at most, in MB."""
    lines = Path(f"/proc/{process}/status").read_text().splitlines()
    table = dict(line.split(":", 1) for line in lines if ":" in line)
    return {name: int(table[name].split()[0]) // 1024 for name in ("VmRSS", "VmHWM")}


def show(server: Running, what: str, **more: Any) -> None:
    found = memory(server.process.pid)
    line = {"what": what, "resident_mb": found["VmRSS"], "highest_mb": found["VmHWM"], **more}
    print(json.dumps(line), flush=True)


def load(
    server: Running, what: str, body: Callable[[], dict[str, Any]], rounds: int, clients: int
) -> None:
    codes: Counter[int] = Counter()
    part = max(1, rounds // 10)

    def client(reports: bool) -> None:
        for i in range(rounds):
            if reports and i and i % part == 0:
                show(server, f"{what}, during", answers=dict(codes))
            reply = httpx.post(
                f"{server.url}/v1/check", json={**body(), "deadline_ms": 30_000}, timeout=900
            )
            codes[reply.status_code] += 1

    threads = [threading.Thread(target=client, args=(not i,)) for i in range(clients)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    show(server, what, answers=dict(codes))


def articles(data: Path, rng: random.Random) -> Callable[[], dict[str, Any]]:
    """Return a function that makes a request with new documents from labelled answers."""
    rows = [
        json.loads(line)
        for name in ("factcc_dev", "frank_dev")
        for line in (data / f"{name}.jsonl").read_text("utf-8").splitlines()
    ]

    def body() -> dict[str, Any]:
        asked, other = rng.sample(rows, 2)
        sentences = " ".join((*asked["contexts"], *other["contexts"])).split(". ")
        rng.shuffle(sentences)
        record = {"response": asked["response"], "contexts": [". ".join(sentences)]}
        return {"records": [record]}

    return body


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3, help="requests of each client and load")
    parser.add_argument("--clients", type=int, default=8)
    parser.add_argument("--loads", help="names of loads, by commas; default: all")
    parser.add_argument("--nli", default=None, help="as of veridical serve")
    parser.add_argument("--data", type=Path, help="folder of grounded sets, for the load articles")
    options = parser.parse_args()
    rng = random.Random(1)

    def text(sentences: int) -> str:
        return " ".join(sentence(rng, 10) for _ in range(sentences))

    def long() -> dict[str, Any]:
        return {"response": text(6), "contexts": [text(3000)]}

    def sampled() -> dict[str, Any]:
        return {**record(rng, 6, 300), "samples": [text(6) for _ in range(5)]}

    def table() -> dict[str, Any]:
        rows = [{"name": f"Item {rng.random()}", "price": rng.randrange(10**6)} for _ in range(600)]
        return {"response": json.dumps(rng.sample(rows, 5)), "contexts": [json.dumps(rows)]}

    loads: dict[str, Callable[[], dict[str, Any]]] = {
        "short": lambda: {"records": [record(rng)]},
        "long contexts": lambda: {"records": [long()]},
        "samples": lambda: {"preset": "all", "records": [sampled()]},
        "256 records": lambda: {"records": [record(rng, 2, 100) for _ in range(256)]},
        "documents": lambda: {"records": [{"response": text(4), "contexts": [text(300)]}]},
        "tables": lambda: {"records": [table()]},
    }
    if options.data is not None:
        loads["articles"] = articles(options.data, rng)
    if options.loads is not None:
        loads = {name: loads[name] for name in options.loads.split(",")}
    words = ["serve", "--port", "0", "--queue-tokens", "100000000"]
    words += [] if options.nli is None else ["--nli", options.nli]
    with (
        tempfile.TemporaryDirectory() as folder,
        running(words, cwd=Path(folder), ready=True) as server,
    ):
        show(server, "ready")
        for what, body in loads.items():
            load(server, what, body, options.rounds, options.clients)
        time.sleep(IDLE_SECONDS)
        show(server, "idle")


if __name__ == "__main__":
    main()
