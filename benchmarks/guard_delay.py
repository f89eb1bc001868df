"""The guard's delay of a streamed answer, in each mode.

Printed are seconds to the first byte, to the first text and between bytes, in one run, and the same
for the bare upstream.

    python benchmarks/guard_delay.py [--requests 10] [--pause 0.02] [--json FILE]

The upstream is a server on loopback. It streams an answer of six sentences in pieces of four
characters, at an even pace, as a model does. The requests of all modes take turns, so that the
machine's load is the same for all. Sentences are judged by the packaged NLI model.
"""

from __future__ import annotations

import argparse
import itertools
import json
import statistics
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import httpx

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "helpers"))

from guarding import chat_stream, served, upstream

from veridical.engine.engine import Engine
from veridical.engine.options import EngineOptions
from veridical.llm.endpoints import Endpoint
from veridical.serve.guard.app import Guard
from veridical.serve.guard.checking import SentenceChecker
from veridical.serve.guard.setup import policy_and_scorers
from veridical.serve.guard.upstream import Upstream
from veridical.serve.security import Secured

SOURCE = (
    "The Nile is a long river in Africa. It flows north through eleven countries and ends in the "
    "Mediterranean Sea. Its two main branches are the White Nile and the Blue Nile, which meet at "
    "Khartoum. The river has been the lifeline of Egypt since antiquity."
)
TEXT = (
    "The Nile is a long river in Africa. It flows through eleven countries. It ends in the "
    "Mediterranean Sea. Its branches are the White Nile and the Blue Nile. They meet at Khartoum. "
    "It has been the lifeline of Egypt."
)
MODES = ("monitor", "annotate", "hold", "buffer")


def timed(client: httpx.Client, url: str) -> dict[str, float]:
    """Time one streamed answer.

    Returns seconds to the first byte, to the first text, between bytes (median and longest), and
    in all.
    """
    body = {
        "model": "m",
        "stream": True,
        "messages": [{"role": "user", "content": "Tell me about the Nile."}],
        "veridical": {"contexts": [SOURCE]},
    }
    start = time.perf_counter()
    times, text, seen = [], None, b""
    with client.stream("POST", f"{url}/chat/completions", json=body, timeout=120) as reply:
        for piece in reply.iter_raw():
            times.append(time.perf_counter() - start)
            seen += piece
            if text is None and b'"content": "T' in seen:
                text = times[-1]
    gaps = [b - a for a, b in itertools.pairwise(times)] or [0.0]
    return {
        "first_byte": times[0],
        "first_text": times[-1] if text is None else text,
        "between_median": statistics.median(gaps),
        "between_longest": max(gaps),
        "total": times[-1],
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--requests", type=int, default=10, help="requests of each mode")
    parser.add_argument("--pause", type=float, default=0.02, help="seconds between pieces")
    parser.add_argument("--json", type=Path, help="write the medians to this file")
    given = parser.parse_args()
    stream = chat_stream(TEXT)
    events = [e + b"\n\n" for e in stream.split(b"\n\n") if e]
    script: list[Any] = [x for event in events for x in (given.pause, event)]
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        (folder / "policy.toml").write_text("accept = 0.5\nreject = 1\n", "utf-8")
        file, policy, scorers = policy_and_scorers(folder / "policy.toml")
        server = stack.enter_context(upstream(lambda body, n: (200, "text/event-stream", script)))
        engine = stack.enter_context(Engine(EngineOptions(store=None, processes=0, age=0.002)))
        checker = SentenceChecker(engine, scorers, policy)
        client = stack.enter_context(httpx.Client())
        urls = {"bare upstream": server.url}
        apps = []
        for mode in MODES:
            sender = Upstream(Endpoint("up", server.url, "m"))
            app = Guard(sender, checker, file.guard, mode)
            apps.append(app)
            urls[mode] = f"{stack.enter_context(served(Secured(app)))}/v1"
        for url in urls.values():
            timed(client, url)  # models are loaded, connections are open
        found: dict[str, list[dict[str, float]]] = {name: [] for name in urls}
        for _ in range(given.requests):
            for name, url in urls.items():
                found[name].append(timed(client, url))
                while any(app.busy for app in apps):  # monitor judges afterwards
                    time.sleep(0.02)
    table = {
        name: {key: statistics.median(r[key] for r in rows) for key in rows[0]}
        for name, rows in found.items()
    }
    print(
        f"medians of {given.requests} answers, ms; {len(events)} events, {given.pause * 1e3:g} ms"
    )
    print(f"{'':14}" + "".join(f"{key.replace('_', ' '):>17}" for key in table["monitor"]))
    for name, row in table.items():
        print(f"{name:14}" + "".join(f"{value * 1e3:17.1f}" for value in row.values()))
    if given.json is not None:
        given.json.write_text(json.dumps(table, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
