"""Results as server-sent events, while scoring runs."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pydantic_core import to_json

from veridical.core.records import Record
from veridical.engine.fair import Caller
from veridical.engine.run import Task
from veridical.errors import VeridicalError
from veridical.serve.offsets import converted
from veridical.serve.problems import Problem
from veridical.serve.request_options import ScoringRequest, unused_in
from veridical.serve.scoring import score
from veridical.serve.timeouts import with_timeout

if TYPE_CHECKING:
    from starlette.responses import Response

    from veridical.core.registry import BoundScorer
    from veridical.engine.engine import Engine
    from veridical.serve.keys import Key
    from veridical.serve.service import ScoringServer

_ALIVE = 10.0  # seconds of silence after which a keep-alive is sent


def event(name: str, data: bytes) -> bytes:
    """Format an event; ``data`` is JSON, which has no line breaks."""
    return b"event: " + name.encode("ascii") + b"\ndata: " + data + b"\n\n"


def sentence_scorer(engine: Engine, scorers: Sequence[BoundScorer]) -> BoundScorer | None:
    """Return the first scorer that judges each sentence independently, or None.

    Scorers that call an LLM are excluded: each of their calls is paid once, for the result.
    """
    for bound in scorers:
        alone = bound.scorer.level == "sentence" and not bound.parts
        if bound.scorer.judges and alone and not engine.llms_of(Task([bound])):
            return bound
    return None


async def answer(
    service: ScoringServer,
    records: Sequence[Record],
    wanted: ScoringRequest,
    key: Key | None,
    options: dict[str, Any],
    rows: Sequence[Mapping[str, Any]] = (),
) -> Response:
    """Return a stream of events. Requests are refused before it begins.

    Each sentence is judged on its own by the first scorer that does so. A ``unit`` is a preview of
    a unit of the ``result``, which is authoritative. Both request the same pairs, which are judged
    once.

    Raises:
        Problem: the request is refused.
    """
    from starlette.responses import StreamingResponse

    service.check_ready()
    with service.admission.room(records):  # the queue is checked before the first byte
        pass
    loop = asyncio.get_running_loop()
    queue: asyncio.Queue[bytes | None] = asyncio.Queue()

    def push(name: str, data: bytes) -> None:
        loop.call_soon_threadsafe(queue.put_nowait, event(name, data))

    def done(record: Record, line: bytes) -> None:
        push("result", b'{"index":%d,"result":%b}' % (record.row, line))

    async def work() -> None:
        previews = asyncio.ensure_future(_previews(service, records, wanted, options, push))
        try:
            lines = await service.check(records, wanted, key, done=done, **options)
            unused = unused_in(rows, lines)
            summary = {"results": len(lines), **({"unused": unused} if unused else {})}
            push("done", to_json(summary))
        except Problem as problem:
            push("problem", problem.body())
        except VeridicalError as e:
            push("problem", Problem(422, str(e)).body())
        finally:
            previews.cancel()
            await asyncio.gather(previews, return_exceptions=True)
            loop.call_soon_threadsafe(queue.put_nowait, None)

    async def stream() -> AsyncIterator[bytes]:
        working = asyncio.ensure_future(work())
        try:
            while True:
                try:
                    piece = await with_timeout(queue.get(), _ALIVE)
                except TimeoutError:
                    piece = b": waiting\n\n"
                if piece is None:
                    return
                yield piece
        finally:
            working.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await working

    return StreamingResponse(stream(), media_type="text/event-stream")


async def _previews(
    service: ScoringServer,
    records: Sequence[Record],
    wanted: ScoringRequest,
    options: dict[str, Any],
    push: Any,
) -> None:
    """Push a ``unit`` event for each sentence as it is judged."""
    bound = sentence_scorer(service.engine, wanted.scorers)
    if bound is None or not options["units"]:
        return
    caller = Caller()
    one = ScoringRequest([bound])
    # the same texts, one sentence each; row is the position in this list
    parts: list[Record] = []
    whole: list[Record] = []
    for record in records:
        if len(record.sentences) < 2:
            continue
        fields = record.model_dump(by_alias=True, exclude={"unit_labels"})
        for sentence in record.sentences:
            place = {"sentences": [(sentence.start, sentence.end)], "row": len(parts)}
            parts.append(Record.model_validate(fields | place))
            whole.append(record)

    def done(part: Record, line: bytes) -> None:
        record = whole[part.row]
        line = converted(line, record, options["offsets"])
        for score_of in json.loads(line)["scores"].values():
            for unit in score_of["units"]:
                found = {"index": record.row, "scorer": bound.key, "unit": unit}
                push("unit", to_json(found))

    if parts:
        with contextlib.suppress(VeridicalError):  # the results report the error
            await score(service.engine, parts, one, done, caller=caller)
