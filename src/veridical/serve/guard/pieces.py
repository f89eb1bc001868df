"""Content of streamed events, in one form for all APIs."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from veridical.serve.guard.fields import Kind
from veridical.serve.guard.sse import SseEvent

#: Maximum answers to one request.
MOST_ANSWERS = 128
#: Key of one text of an answer: a choice, a part of an output, a block.
Channel = tuple[int, ...]


@dataclass(frozen=True)
class ChannelText:
    """Text added to a channel.

    Attributes:
        tokens: its log-probabilities, in a record's format.
    """

    channel: Channel
    text: str
    tokens: tuple[dict[str, Any], ...] = ()


@dataclass(frozen=True)
class ChannelEnd:
    """End of a channel's text."""

    channel: Channel


@dataclass(frozen=True)
class PassedContent:
    """Content that is not text of an answer, passed on once earlier content is settled.

    Attributes:
        channel: the channel that it belongs to; None: the whole stream.
        render: its bytes.
        kind: of content that is not checked; None for content without text.
    """

    channel: Channel | None
    render: Callable[[], bytes]
    kind: Kind | None = None


@dataclass(frozen=True)
class DroppedContent:
    """Kinds of unchecked content that are left out of held answers."""

    kind: Kind


@dataclass(frozen=True)
class StreamEnd:
    """Event that ends the stream, such as ``[DONE]``."""

    render: Callable[[], bytes]


Piece = ChannelText | ChannelEnd | PassedContent | DroppedContent | StreamEnd


class Stream(Protocol):
    """Streamed answer of an API: a reader of its events, and a writer of own events."""

    #: Released text of each channel, for events that repeat a text.
    delivered: dict[Channel, str]

    def read(self, event: SseEvent) -> Iterator[Piece]:
        """Yield the content of an event, in order.

        Raises:
            Unreadable: it does not follow the API.
        """
        ...

    def complete(self) -> bool:
        """Return True if the upstream reported the end of every answer."""
        ...

    def stripped(self, event: SseEvent) -> bytes:
        """Return an event without log-probabilities that only the guard requested."""
        ...

    def text(self, channel: Channel, text: str, tokens: Sequence[Mapping[str, Any]] = ()) -> bytes:
        """Build an event with text of a channel, and with its log-probabilities if the client wants
        them.
        """
        ...

    def blocked(self, channel: Channel) -> bytes:
        """Build events that end a channel because of its content."""
        ...

    def closing(self) -> bytes:
        """Build the events that end a stream whose only answer was blocked."""
        ...

    def final(self, found: Mapping[str, Any]) -> bytes:
        """Build an event with the object ``veridical``."""
        ...

    def error(self, message: str, code: str) -> bytes:
        """Build an event that clients recognise as an error."""
        ...


class Api(Protocol):
    """API that the guard supports."""

    path: str
    name: str

    def contexts(self, body: Mapping[str, Any], *, system: bool) -> list[dict[str, Any]]:
        """Return the evidence in a request.

        Raises:
            RowProblem: it is not a valid request.
        """
        ...

    def prompt(self, body: Mapping[str, Any]) -> str | list[dict[str, Any]]:
        """Return a request's prompt, in a record's format."""
        ...

    def answers(self, body: Mapping[str, Any]) -> int:
        """Return the number of answers that a request asks for."""
        ...

    def with_logprobs(self, body: dict[str, Any]) -> bool:
        """Request log-probabilities; return False if the client has, or the API has no such
        option.
        """
        ...

    def alone(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """Return the request for one answer without streaming."""
        ...

    def again(self, body: Mapping[str, Any], said: str, instruction: str) -> dict[str, Any]:
        """Return the request for the rest of an answer after its released text."""
        ...

    def stops(self, body: Mapping[str, Any]) -> list[str]:
        """Return the request's stop sequences that a reply may repeat."""
        ...

    def stream(
        self,
        *,
        strip: bool,
        passed: Collection[Kind] = (),
        answers: int = MOST_ANSWERS,
        stops: Collection[str] = (),
    ) -> Stream:
        """Return a reader of one streamed answer.

        Args:
            strip: log-probabilities were requested only by the guard.
            passed: kinds of content that held answers contain unchecked.
            answers: the number requested; a reply with more is unreadable.
            stops: stop sequences that a held answer may repeat.
        """
        ...

    def cleaned(
        self,
        reply: Mapping[str, Any],
        passed: Collection[Kind],
        answers: int = MOST_ANSWERS,
        stops: Collection[str] = (),
    ) -> tuple[dict[str, Any], list[Kind]]:
        """Return a whole reply as a held answer, and the kinds that were left out.

        Raises:
            Unreadable: it is not a valid reply, or has more answers than requested.
        """
        ...

    def texts(self, reply: Mapping[str, Any]) -> dict[Channel, Whole]:
        """Return the texts of a whole reply.

        Raises:
            Unreadable: it is not a valid reply.
        """
        ...

    def put(self, reply: dict[str, Any], channel: Channel, text: str, *, blocked: bool) -> None:
        """Replace the text of a channel."""
        ...

    def strip(self, reply: dict[str, Any]) -> None:
        """Remove the log-probabilities from a whole reply."""
        ...

    def spelled(self, reply: dict[str, Any]) -> None:
        """Remove log-probabilities from a whole held reply if their tokens do not spell its
        text.
        """
        ...

    def group(self, channel: Channel) -> int:
        """Return the index of the answer that a channel belongs to."""
        ...


@dataclass(frozen=True)
class Whole:
    """Whole text of a channel.

    Attributes:
        kinds: of unchecked content next to it.
    """

    text: str
    tokens: tuple[dict[str, Any], ...] = ()
    kinds: tuple[Kind, ...] = field(default=())


def tokens_of(entries: Any) -> tuple[dict[str, Any], ...]:
    """Convert log-probabilities of OpenAI's APIs to a record's format; () for anything else."""
    if not isinstance(entries, list):
        return ()
    found = []
    for entry in entries:
        if not isinstance(entry, dict) or not isinstance(entry.get("token"), str):
            return ()
        logprob = entry.get("logprob")
        if not isinstance(logprob, (int, float)) or isinstance(logprob, bool):
            return ()
        tops = entry.get("top_logprobs")
        top = [
            {"token": t["token"], "logprob": min(float(t["logprob"]), 0.0)}
            for t in (tops if isinstance(tops, list) else ())
            if isinstance(t, dict)
            and isinstance(t.get("token"), str)
            and isinstance(t.get("logprob"), (int, float))
        ]
        found.append({"token": entry["token"], "logprob": min(float(logprob), 0.0), "top": top})
    return tuple(found)


def entries_of(tokens: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Convert log-probabilities of a record to the format of OpenAI's APIs."""

    def entry(token: Mapping[str, Any]) -> dict[str, Any]:
        text = token["token"]
        return {
            "token": text,
            "logprob": token["logprob"],
            "bytes": list(text.encode("utf-8", "replace")),
        }

    return [{**entry(t), "top_logprobs": [entry(other) for other in t["top"]]} for t in tokens]
