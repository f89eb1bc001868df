"""The other end of ``environments.Peer``: requests on standard input, answers with their times.

Runs inside a peer's environment, so it needs nothing but torch and the standard library.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable
from typing import Any

import torch


def serve(start: Callable[[dict[str, Any]], Callable[[Any], Any]]) -> None:
    """Load by ``start(options)``, then answer requests with what that returned until input ends."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # peers print; that must not get between the answers
    options = json.loads(sys.stdin.readline())
    torch.set_num_threads(options["threads"])
    work = start(options)
    _answer(answers, None, 0.0, 0.0)
    for line in sys.stdin:
        request = json.loads(line)
        started, used = time.perf_counter(), time.process_time()
        found = work(request)
        _answer(answers, found, time.perf_counter() - started, time.process_time() - used)


def _answer(answers: Any, found: Any, wall: float, cpu: float) -> None:
    print(json.dumps({"found": found, "wall": wall, "cpu": cpu}), file=answers, flush=True)
