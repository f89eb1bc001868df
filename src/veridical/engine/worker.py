"""Worker process of free scorers: length-prefixed JSON over its pipes.

Records come in, scores go out. Scores are returned as JSON text with their risks: the parent writes
them unparsed, unless another scorer requests one. Run as ``python -m veridical.engine.worker``; the
first message names the scorers. Plain pipes are used instead of :mod:`multiprocessing`, so that
nothing is pickled and the caller's ``__main__`` is not imported again.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
import time
from collections.abc import Sequence
from typing import BinaryIO

from pydantic import TypeAdapter
from pydantic_core import from_json, to_json

from veridical.core.evidence import score_locally
from veridical.core.records import Record
from veridical.core.registry import REGISTRY, BoundScorer
from veridical.core.scores import ScoreJson

_LOOK = 1.0  # seconds between checks that the parent is alive

RECORDS = TypeAdapter(list[Record])


def score_all(records: Sequence[Record], scorers: Sequence[BoundScorer]) -> list[list[ScoreJson]]:
    """Return the scores of every record, in the order of ``scorers``."""
    return [[ScoreJson.of(s) for s in score_locally(record, scorers)] for record in records]


def pack(scores: list[list[ScoreJson]]) -> bytes:
    """Return risks and sizes as JSON, followed by the scores' own texts."""
    head = to_json([[(s.risk, len(s.text)) for s in record] for record in scores])
    return frame(head) + b"".join(s.text for record in scores for s in record)


def unpack(message: bytes) -> list[list[ScoreJson]]:
    """Return the scores packed by :func:`pack`."""
    at = 4 + int.from_bytes(message[:4], "little")
    scores = []
    for record in from_json(message[4:at]):
        scores_of_record = []
        for risk, size in record:
            scores_of_record.append(ScoreJson(risk, message[at : at + size]))
            at += size
        scores.append(scores_of_record)
    return scores


def read_message(pipe: BinaryIO) -> bytes | None:
    """Read one message; None at the end of the stream, even within a message."""
    head = pipe.read(4)
    size = int.from_bytes(head, "little")
    message = pipe.read(size) if len(head) == 4 else b""
    return message if len(head) == 4 and len(message) == size else None


def frame(message: bytes) -> bytes:
    """Prefix ``message`` with its length."""
    return len(message).to_bytes(4, "little") + message


def follow() -> None:
    """End this process when the parent ends, whatever it is doing."""
    parent = os.getppid()

    def look() -> None:
        while os.getppid() == parent:
            time.sleep(_LOOK)
        os._exit(0)

    threading.Thread(target=look, daemon=True).start()


def main() -> None:
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # no traceback: the parent does this share
    follow()
    inward, outward = sys.stdin.buffer, sys.stdout.buffer
    sys.stdout = sys.stderr  # a scorer's print must not corrupt the stream
    spec = read_message(inward)
    scorers = REGISTRY.parse(spec.decode()) if spec else []
    while (message := read_message(inward)) is not None:
        outward.write(frame(pack(score_all(RECORDS.validate_json(message), scorers))))
        outward.flush()


if __name__ == "__main__":
    with contextlib.suppress(BrokenPipeError):  # the parent has ended
        main()
    os._exit(0)  # the stream may hold unread data
