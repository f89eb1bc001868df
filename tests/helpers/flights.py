"""Streamed answers of the guard in flight, with a judge that decides by a word."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from veridical.decide.policy_file import GuardRules
from veridical.serve.guard.answers import Answer, RejectionHandling
from veridical.serve.guard.app import APIS
from veridical.serve.guard.checking import Finding
from veridical.serve.guard.streams import AnnotatingStream, HoldingStream, StreamedReply, monitored

QUICK = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])


class Rule:
    """A judge that rejects what has BAD in it, cannot judge BROKEN, and may take its time.

    Attributes:
        seen: the pieces, in the order in which they came.
        under_way: those that are being judged; ``together``: the most that ever were.
    """

    def __init__(
        self, *, open_on_error: bool = False, takes: Callable[[str], float] | None = None
    ) -> None:
        self.seen: list[str] = []
        self.under_way: list[str] = []
        self.together: list[str] = []
        self._open = open_on_error
        self._takes = takes or (lambda piece: 0)

    async def find(self, piece: str, tokens: Sequence[Any] = ()) -> Finding | None:
        self.seen.append(piece)
        self.under_way.append(piece)
        if len(self.under_way) > len(self.together):
            self.together = list(self.under_way)
        await asyncio.sleep(self._takes(piece))
        self.under_way.remove(piece)
        if not piece.strip():
            return None
        if "BROKEN" in piece:
            decision: Any = "review" if self._open else "reject"
            return Finding(piece, decision, "unchecked", None, "failed", "failed")
        if "BAD" in piece:
            return Finding(piece, "reject", "contradicted", 0.9, None, "checked")
        return Finding(piece, "accept", "supported", 0.1, None, "checked")


def flight(
    path: str = "chat/completions",
    mode: str = "hold",
    rules: GuardRules | None = None,
    *,
    alone: bool = True,
    again: Callable[[str], Any] | None = None,
    rewrite: str | None = None,
    final: bool = False,
    open_on_error: bool = False,
    strip: bool = False,
    takes: Callable[[str], float] | None = None,
    passed: Sequence[Any] = (),
    answers: int = 128,
    stops: Sequence[str] = (),
) -> StreamedReply:
    """The flight of an answer of the API at a path, whose ``judge`` is a :class:`Rule`."""
    api = APIS[f"/v1/{path}"]
    judge: Any = Rule(open_on_error=open_on_error, takes=takes)

    async def anew(said: str) -> str | None:
        return None if again is None else again(said)

    async def written(finding: Finding) -> str | None:
        return rewrite

    def make() -> Answer:
        handling = RejectionHandling(rules or GuardRules(), written, anew)
        return Answer(judge, handling, mode in ("hold", "buffer"), mode == "buffer")

    made = StreamedReply(
        api,
        api.stream(strip=strip, passed=passed, answers=answers, stops=stops),
        make,
        final=final,
        alone=alone,
        mode=mode,
    )
    made.judge = judge  # type: ignore[attr-defined]
    return made


async def _pieces(pieces: Sequence[bytes], broken: bool) -> AsyncIterator[bytes]:
    for piece in pieces:
        await asyncio.sleep(0)
        yield piece
    if broken:
        raise OSError("RemoteProtocolError")


def sent(made: StreamedReply, pieces: Sequence[bytes], *, broken: bool = False) -> bytes:
    """All that a client gets."""

    async def main() -> bytes:
        coming = _pieces(pieces, broken)
        if made.mode == "monitor":
            out = monitored(made, coming)
        elif made.mode == "annotate":
            out = AnnotatingStream(made).run(coming)
        else:
            out = HoldingStream(made, open_on_error=made.judge._open).run(coming)  # type: ignore[attr-defined]
        return b"".join([piece async for piece in out])

    return asyncio.run(main())


def cut(data: bytes, places: Sequence[int]) -> list[bytes]:
    """Bytes cut at these places."""
    bounds = [0, *sorted(p % (len(data) + 1) for p in places), len(data)]
    return [data[a:b] for a, b in itertools.pairwise(bounds) if a < b]


SENTENCES = st.lists(
    st.sampled_from(
        [
            *("It rains.", "This is BAD.", 'He said "yes." Then he left.', "See Dr. Wu."),
            *(
                "1. A list item\n2. Another",
                "Grüße, 世界。それは。",
                "no end",
                "BROKEN one!",
                "x = 1.5;",
            ),
            *("\n\n# Heading\nText", "e.g. this.", "(In brackets.) ", "A?! B…", "BAD BAD BAD."),
        ]
    ),
    max_size=6,
)
TEXTS = st.tuples(SENTENCES, st.sampled_from([" ", "\n", "\n\n", "  "])).map(
    lambda t: t[1].join(t[0])
)
CUTS = st.lists(st.integers(0, 100_000), max_size=12)
