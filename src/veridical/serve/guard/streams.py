"""Streamed answers: observed while they pass, or held until they are checked."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from veridical.serve.guard.answers import (
    LONGEST_ANSWER,
    TOO_LONG,
    Answer,
    AnswerStep,
    ReleasedText,
    described,
    joined,
    summary,
)
from veridical.serve.guard.checking import spans_of
from veridical.serve.guard.cutting import Cutter
from veridical.serve.guard.fields import NAMES, Kind
from veridical.serve.guard.pieces import (
    Channel,
    ChannelEnd,
    ChannelText,
    DroppedContent,
    PassedContent,
    Piece,
    StreamEnd,
)
from veridical.serve.guard.sse import Events, SseEvent, UnreadableEvent, comment, events_of

if TYPE_CHECKING:
    from veridical.serve.guard.pieces import Api, Stream

BROKEN = "the upstream's answer was interrupted"
UNREADABLE = "an event was unreadable"
WITHHELD = "the answer was withheld: a sentence was rejected"
#: Maximum pieces of several answers that are read while earlier ones are checked.
_AHEAD = 1024


@dataclass
class StreamedReply:
    """Answers of one streamed reply.

    Attributes:
        make: creates an :class:`Answer` for a new channel.
        final: whether the client requested the object ``veridical``.
        alone: whether a single answer was requested, so that blocking it ends the stream.
        over: whether the event that ends the stream has arrived.
    """

    api: Api
    stream: Stream
    make: Callable[[], Answer]
    final: bool = False
    alone: bool = True
    answers: dict[Channel, Answer] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    mode: str = "annotate"
    over: bool = False

    def answer(self, channel: Channel) -> Answer:
        if channel not in self.answers:
            self.answers[channel] = self.make()
        return self.answers[channel]

    @property
    def whole(self) -> bool:
        """Return True if the upstream reported the end of the answer."""
        return self.over or self.stream.complete()

    def note(self, text: str) -> None:
        if text not in self.notes:
            self.notes.append(text)

    def unchecked(self, kind: Kind | None, *, withheld: bool = False) -> None:
        """Record a kind of content that was not checked."""
        if kind is not None and (withheld or kind != "other"):
            self.note(f"{'withheld' if withheld else 'not checked'}: {NAMES[kind]}")

    def groups(self) -> dict[int, list[Answer]]:
        """Return the channels of each answer, in order."""
        found: dict[int, list[Answer]] = {}
        for channel in sorted(self.answers):
            found.setdefault(self.api.group(channel), []).append(self.answers[channel])
        return found

    def document(self) -> dict[str, Any]:
        """Return the object ``veridical``: of all answers together, and of each."""
        groups = self.groups()
        every = summary([a for answers in groups.values() for a in answers])
        found = every.document()
        del found["sentences"]
        notes = list(dict.fromkeys([*every.notes, *self.notes]))
        choices = [{"index": i, **summary(answers).document()} for i, answers in groups.items()]
        return {**found, "mode": self.mode, "choices": choices, "notes": notes}


async def monitored(
    flight: StreamedReply, pieces: AsyncIterator[bytes]
) -> AsyncGenerator[bytes, None]:
    """Yield the bytes as received, each sent before it is examined.

    The text is judged by :func:`judge_all` afterwards.
    """
    splitter, readable = Events(), True
    try:
        async for piece in pieces:
            yield piece
            if not readable:
                continue
            try:
                for event in splitter.feed(piece):
                    _watch(flight, event)
            except UnreadableEvent as e:
                readable = False
                flight.note(f"{UNREADABLE}: {e}")
        for event in splitter.last() if readable else ():
            with contextlib.suppress(UnreadableEvent):
                _watch(flight, event)
        if readable and (splitter.rest().strip() or not flight.whole):
            flight.note(BROKEN)
    except OSError:
        flight.note(BROKEN)
        raise


def _watch(flight: StreamedReply, event: SseEvent) -> None:
    for piece in flight.stream.read(event):
        if isinstance(piece, StreamEnd):
            flight.over = True
        elif isinstance(piece, ChannelText):
            answer = flight.answer(piece.channel)
            answer.received += piece.text
            answer.delivered += piece.text
            answer._tokens += piece.tokens
        elif isinstance(piece, (PassedContent, DroppedContent)):
            flight.unchecked(piece.kind)


async def judge_all(flight: StreamedReply) -> None:
    """Judge the text of all observed channels."""
    for answer in flight.answers.values():
        cutter = Cutter()
        if len(answer.received) > LONGEST_ANSWER:
            answer.failed = TOO_LONG
            continue
        for piece in (*cutter.feed(answer.received), *cutter.end()):
            finding = await answer.judge.find(piece, answer._tokens_of(piece))
            answer.steps.append(AnswerStep(piece, finding, "released", piece))


class AnnotatingStream:
    """Stream that passes events on as received, with findings as comments in between."""

    def __init__(self, flight: StreamedReply) -> None:
        self._flight = flight
        self._cutters: dict[Channel, Cutter] = {}
        self._places: dict[Channel, int] = {}
        self._judging: list[tuple[Channel, int, str, asyncio.Task[Any]]] = []
        self._released = 0

    async def run(self, pieces: AsyncIterator[bytes]) -> AsyncGenerator[bytes, None]:
        """Yield the events, and comments such as ``: veridical {"choice": 0, "start": 0, ...}``."""
        events = events_of(pieces)
        coming: asyncio.Task[SseEvent] | None = None
        over: bytes | None = None
        broken = False
        try:
            while over is None:
                coming = coming or asyncio.ensure_future(_next(events))
                waiting = {t for _, _, _, t in self._judging[self._released :][:1]}
                await asyncio.wait({coming, *waiting}, return_when=asyncio.FIRST_COMPLETED)
                for note in self._ready():
                    yield note
                if not coming.done():
                    continue
                try:
                    event = coming.result()
                except StopAsyncIteration:
                    broken = not self._flight.whole
                    if broken:
                        self._flight.note(BROKEN)
                    break
                except (EOFError, OSError, UnreadableEvent) as e:
                    broken = True
                    self._flight.note(BROKEN if isinstance(e, (EOFError, OSError)) else str(e))
                    break
                finally:
                    coming = None
                raw, ended = self._see(event)
                if ended:
                    over = raw
                else:
                    yield raw
            for channel, cutter in self._cutters.items():
                self._start(channel, cutter.end())
            await self._all()
            for note in self._ready():
                yield note
            if self._flight.final:
                yield self._flight.stream.final(self._flight.document())
            if broken:
                yield self._flight.stream.error(BROKEN, "upstream_broken")
            if over is not None:
                yield over
        finally:
            if coming is not None:
                coming.cancel()
                with contextlib.suppress(BaseException):
                    await coming
            for _, _, _, task in self._judging:
                task.cancel()
            self._keep()

    def _see(self, event: SseEvent) -> tuple[bytes, bool]:
        """Return the bytes to pass on, and whether they end the stream."""
        flight, ended = self._flight, False
        raw = event.raw
        try:
            for piece in flight.stream.read(event):
                if isinstance(piece, ChannelText):
                    answer = flight.answer(piece.channel)
                    answer.received += piece.text
                    answer.delivered += piece.text
                    answer._tokens += piece.tokens
                    cutter = self._cutters.setdefault(piece.channel, Cutter())
                    if len(answer.received) > LONGEST_ANSWER:
                        answer.failed = TOO_LONG
                        continue
                    self._start(piece.channel, cutter.feed(piece.text))
                elif isinstance(piece, ChannelEnd) and piece.channel in self._cutters:
                    self._start(piece.channel, self._cutters[piece.channel].end())
                elif isinstance(piece, (PassedContent, DroppedContent)):
                    flight.unchecked(piece.kind)
                elif isinstance(piece, StreamEnd):
                    ended = True
            raw = flight.stream.stripped(event)
        except UnreadableEvent as e:
            flight.note(f"{UNREADABLE}: {e}")
        return raw, ended

    def _start(self, channel: Channel, pieces: list[str]) -> None:
        answer = self._flight.answer(channel)
        for piece in pieces:
            at = self._places.get(channel, 0)
            self._places[channel] = at + len(piece)
            work = answer.judge.find(piece, answer._tokens_of(piece))
            self._judging.append((channel, at, piece, asyncio.ensure_future(work)))

    async def _all(self) -> None:
        await asyncio.gather(*(task for _, _, _, task in self._judging))

    def _ready(self) -> list[bytes]:
        """Return comments on the judged sentences, in the order of the text."""
        comments = []
        while self._released < len(self._judging) and self._judging[self._released][3].done():
            channel, at, piece, task = self._judging[self._released]
            self._released += 1
            finding = task.result()
            step = AnswerStep(piece, finding, "released", piece)
            self._flight.answer(channel).steps.append(step)
            if finding is not None:
                (span,) = spans_of([piece], at)
                choice = {"choice": self._flight.api.group(channel)}
                comments.append(comment({**choice, **described(step, span.start, span.end)}))
        return comments

    def _keep(self) -> None:
        """Record the text that was not judged."""
        if self._released < len(self._judging):
            self._flight.note("some sentences were not judged: the stream was abandoned")


async def _next(events: AsyncIterator[SseEvent]) -> SseEvent:
    return await events.__anext__()


@dataclass(frozen=True)
class _PieceOutcome:
    """Outcome of a piece of a channel.

    Attributes:
        delivered: the text released from the channel up to it.
        blocked: whether the channel is blocked, and ``now``: whether by this piece.
    """

    out: tuple[ReleasedText, ...] = ()
    delivered: str = ""
    blocked: bool = False
    now: bool = False


#: Item read from a stream: a piece, with its pending outcome if its channel has text; or an event
#: that is released unchanged.
_Turn = tuple[Piece | bytes, "asyncio.Task[_PieceOutcome] | None"]


class HoldingStream:
    """Stream that releases text when it is checked: by sentence, or all at its end.

    Pieces of one answer are settled in order; several answers are checked concurrently. Text is
    released in the order of arrival, whatever took longer.
    """

    def __init__(self, flight: StreamedReply, *, open_on_error: bool) -> None:
        self._flight = flight
        self._open = open_on_error
        self._over = False
        self._last: dict[Channel, asyncio.Task[_PieceOutcome]] = {}
        self._sent: dict[Channel, str] = {}

    async def run(self, pieces: AsyncIterator[bytes]) -> AsyncGenerator[bytes, None]:
        """Yield the released events of the answer."""
        flight, stream = self._flight, self._flight.stream
        over: Callable[[], bytes] | None = None
        trouble: tuple[str, str] | None = None
        turns = self._read(pieces)
        try:
            async with contextlib.aclosing(turns if flight.alone else _ahead(turns)) as coming:
                async for piece, work in coming:
                    if isinstance(piece, StreamEnd):
                        over = piece.render
                        break
                    for out in await self._take(piece, work):
                        yield out
                    if self._over:
                        break
        except (EOFError, OSError):
            trouble = BROKEN, "upstream_broken"
        except UnreadableEvent as e:
            trouble = f"{UNREADABLE}: {e}", "unreadable"
        finally:
            self._stop()
        if not self._over:
            for out in await self._settle():
                yield out
        flight.over = over is not None
        if trouble is None and not self._over and not flight.whole and not _any_blocked(flight):
            trouble = BROKEN, "upstream_broken"
        if trouble is not None:
            flight.note(trouble[0])
        if _any_blocked(flight) and trouble is None:
            trouble = WITHHELD, "content_filter"
        cut = self._over or (over is None and flight.alone and _any_blocked(flight))
        if flight.final:
            yield stream.final(flight.document())
        ends = stream.closing() if cut else b"" if over is None else over()
        error = b"" if trouble is None else stream.error(*trouble)
        # events after [DONE] are not read
        yield error + ends if ends.endswith(b"[DONE]\n\n") else ends + error

    async def _read(self, pieces: AsyncIterator[bytes]) -> AsyncGenerator[_Turn, None]:
        """Yield what is read, with its pending outcome."""
        flight = self._flight
        async for event in events_of(pieces):
            try:
                carried = list(flight.stream.read(event))
            except UnreadableEvent as e:
                if not self._open:
                    raise
                flight.note(f"{UNREADABLE}, and was passed on: {e}")
                yield event.raw, None
                continue
            for piece in carried:
                work = None
                if isinstance(piece, (ChannelText, ChannelEnd)) or (
                    isinstance(piece, PassedContent) and piece.channel in flight.answers
                ):
                    assert piece.channel is not None
                    work = self._begin(piece.channel, piece)
                yield piece, work
                if isinstance(piece, StreamEnd):
                    return

    def _begin(
        self, channel: Channel, piece: ChannelText | ChannelEnd | PassedContent
    ) -> asyncio.Task[_PieceOutcome]:
        """Settle a piece once the earlier ones of its channel are settled."""
        self._flight.answer(channel)
        work = self._settled(channel, piece, self._last.get(channel))
        self._last[channel] = task = asyncio.ensure_future(work)
        return task

    async def _settled(
        self,
        channel: Channel,
        piece: ChannelText | ChannelEnd | PassedContent,
        before: asyncio.Task[_PieceOutcome] | None,
    ) -> _PieceOutcome:
        if before is not None:
            await before
        answer = self._flight.answer(channel)
        over = answer.over
        out: list[ReleasedText] = []
        if isinstance(piece, ChannelText):
            out = await answer.take(piece.text, piece.tokens)
        elif isinstance(piece, ChannelEnd):
            out = await answer.end()
        now = answer.blocked and not over
        return _PieceOutcome(tuple(out), answer.delivered, answer.blocked, now)

    async def _take(
        self, piece: Piece | bytes, work: asyncio.Task[_PieceOutcome] | None
    ) -> list[bytes]:
        """Return the events in whose form a piece is released."""
        if isinstance(piece, bytes):
            return [piece]
        if isinstance(piece, DroppedContent):
            self._flight.unchecked(piece.kind, withheld=True)
            return []
        settled = _PieceOutcome() if work is None else await work
        if isinstance(piece, (ChannelText, ChannelEnd)):
            return self._let_out(piece.channel, settled)
        assert isinstance(piece, PassedContent)
        self._flight.unchecked(piece.kind)
        return [] if settled.blocked else [piece.render()]

    def _let_out(self, channel: Channel, settled: _PieceOutcome) -> list[bytes]:
        flight, stream = self._flight, self._flight.stream
        parts = joined(settled.out)
        if parts:
            self._sent[channel] = stream.delivered[channel] = settled.delivered
        out = [stream.text(channel, part.text, part.tokens) for part in parts]
        if settled.now:
            stream.delivered.setdefault(channel, "")
            out.append(stream.blocked(channel))
            self._over = flight.alone
        return out

    async def _settle(self) -> list[bytes]:
        """Release the rest of texts whose end was not reported."""
        channels = list(self._flight.answers)
        ended = await asyncio.gather(*(self._settled(c, ChannelEnd(c), None) for c in channels))
        found = zip(channels, ended, strict=True)
        return [event for channel, settled in found for event in self._let_out(channel, settled)]

    def _stop(self) -> None:
        """Cancel pending work, and record the text released so far."""
        for task in self._last.values():
            task.cancel()
        for channel, answer in self._flight.answers.items():
            answer.delivered = self._sent.get(channel, "")


async def _ahead(turns: AsyncGenerator[_Turn, None]) -> AsyncGenerator[_Turn, None]:
    """Yield items ahead of the consumer, so that work on later ones begins."""
    queue: asyncio.Queue[_Turn | BaseException | None] = asyncio.Queue(_AHEAD)

    async def read() -> None:
        end: BaseException | None = None
        try:
            async with contextlib.aclosing(turns):
                async for turn in turns:
                    await queue.put(turn)
        except Exception as e:
            end = e
        await queue.put(end)

    reading = asyncio.ensure_future(read())
    try:
        while isinstance(turn := await queue.get(), tuple):
            yield turn
        if turn is not None:
            raise turn
    finally:
        reading.cancel()
        await asyncio.gather(reading, return_exceptions=True)


def _any_blocked(flight: StreamedReply) -> bool:
    return any(answer.blocked for answer in flight.answers.values())
