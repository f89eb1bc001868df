"""Asks a hostile server by every HTTP client of the package, in a process whose memory is bounded.

``python http_clients.py PORT ROOM FAULT...`` prints a line of JSON for each client and fault: what
came of it, the seconds it took, and the MiB by which the process had grown at most.
"""

from __future__ import annotations

import asyncio
import json
import resource
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from hostile_server import SLOW

from veridical.core.messages import LlmError
from veridical.errors import VeridicalError
from veridical.llm.endpoints import Endpoint
from veridical.llm.transport import Transport
from veridical.models.causal import http as causal_http
from veridical.models.http import HttpEncoder
from veridical.models.nli.http import HttpNli
from veridical.retrieval.search import RefusedQuery, SearchService
from veridical.retrieval.search_http import HttpSearch
from veridical.weights import download, fetching
from veridical.weights.partial import Partial
from veridical.weights.watching import Watch

KEY = "VERIDICAL_LLM_KEY"


def embeddings(url: str) -> None:
    encoder = HttpEncoder(url, "m", key_variable=KEY, attempts=1, timeout=TIMEOUT)
    encoder.run(encoder.windows(["a"])[0], False)


def nli(url: str) -> None:
    HttpNli(url, key_variable=KEY, attempts=1, timeout=TIMEOUT)


def causal(url: str) -> None:
    causal_http._TOPS, causal_http.ECHO_FORMS = (20,), causal_http.ECHO_FORMS[:1]  # one request
    causal_http.HttpLanguageModel(Endpoint("e", url, "m", KEY, attempts=1, timeout=TIMEOUT))


def chat(url: str) -> None:
    async def ask() -> None:
        transport = Transport(Endpoint("e", url, "m", KEY, timeout=TIMEOUT))
        try:
            await transport.post("chat/completions", {"messages": []})
        finally:
            await transport.close()

    asyncio.run(ask())


def search(url: str) -> None:
    async def ask() -> None:
        service = SearchService(
            "s", url, "results", ("text",), key_env=KEY, attempts=1, timeout=TIMEOUT
        )
        service = HttpSearch(service)
        try:
            await service.search(["q"], 3)
        finally:
            await service.close()

    asyncio.run(ask())


def weights(url: str) -> None:
    (part,) = download.SMOLLM2.parts
    wanted = replace(download.SMOLLM2, size=10_000, parts=(replace(part, size=10_000),))
    with tempfile.TemporaryDirectory() as folder:
        partial = Partial(wanted, Path(folder) / "weights", Watch())
        try:
            fetching.from_hub(url, partial)
        finally:
            partial.close()


CLIENTS: dict[str, Callable[[str], Any]] = {
    c.__name__: c for c in (embeddings, nli, causal, chat, search, weights)
}
TIMEOUT = 10.0


def main(port: str, room: str, *faults: str) -> None:
    global TIMEOUT
    baseline = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + int(room) * 2**20,) * 2)
    for fault in faults:
        TIMEOUT = 0.3 if fault in SLOW else 10.0
        fetching._STALL_TIMEOUT_SECONDS = fetching._FILE_TIMEOUT_SECONDS = TIMEOUT
        for name, client in CLIENTS.items():
            began = time.monotonic()
            try:
                client(f"http://127.0.0.1:{port}/{fault}/v1")
                told = "nothing"
            except (VeridicalError, LlmError, RefusedQuery) as e:
                told = str(e)
            except BaseException as e:
                told = f"UNEXPECTED {type(e).__name__}: {e}"
            grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - baseline) / 1024
            row = [name, fault, told, round(time.monotonic() - began, 2), round(grown)]
            print(json.dumps(row), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
