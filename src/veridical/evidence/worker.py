"""Worker process for free scorers: records in, scores out, as length-prefixed JSON on its pipes.

Scores come back as JSON text beside their risks: the parent writes them on as they are and parses
one only if another scorer asks for it. Run as ``python -m veridical.evidence.worker``; the first
message names the scorers. Plain pipes instead of :mod:`multiprocessing`, so that nothing is
pickled and the caller's ``__main__`` is not imported again.
"""

from __future__ import annotations

import signal
import sys
from collections.abc import Sequence
from typing import BinaryIO

from pydantic import TypeAdapter
from pydantic_core import from_json, to_json

from veridical.evidence.evidence import score_locally
from veridical.records import Record
from veridical.registry import REGISTRY, BoundScorer
from veridical.scores import Scored

RECORDS = TypeAdapter(list[Record])


def score_all(records: Sequence[Record], scorers: Sequence[BoundScorer]) -> list[list[Scored]]:
    """Scores of every record, in the order of ``scorers``."""
    return [[Scored.of(s) for s in score_locally(record, scorers)] for record in records]


def pack(scores: list[list[Scored]]) -> bytes:
    """Risks and sizes as JSON, then the scores' own texts end to end."""
    head = to_json([[(s.risk, len(s.text)) for s in record] for record in scores])
    return frame(head) + b"".join(s.text for record in scores for s in record)


def unpack(message: bytes) -> list[list[Scored]]:
    """What :func:`pack` packed."""
    at = 4 + int.from_bytes(message[:4], "little")
    scores = []
    for record in from_json(message[4:at]):
        found = []
        for risk, size in record:
            found.append(Scored(risk, message[at : at + size]))
            at += size
        scores.append(found)
    return scores


def read_message(pipe: BinaryIO) -> bytes | None:
    """One message, or None at the end of the stream."""
    head = pipe.read(4)
    return pipe.read(int.from_bytes(head, "little")) if len(head) == 4 else None


def frame(message: bytes) -> bytes:
    """``message`` behind its length."""
    return len(message).to_bytes(4, "little") + message


def main() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent decides what Ctrl-C means
    inward, outward = sys.stdin.buffer, sys.stdout.buffer
    sys.stdout = sys.stderr  # a scorer's print must not corrupt the stream
    spec = read_message(inward)
    scorers = REGISTRY.parse(spec.decode()) if spec else []
    while (message := read_message(inward)) is not None:
        outward.write(frame(pack(score_all(RECORDS.validate_json(message), scorers))))
        outward.flush()


if __name__ == "__main__":
    main()
