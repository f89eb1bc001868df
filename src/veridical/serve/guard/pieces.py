"""What the events of a streamed answer carry, in one form for all APIs."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from veridical.serve.guard.fields import Kind
from veridical.serve.guard.sse import SseEvent

#: Answers to one request.
MOST_ANSWERS = 128
#: One text of an answer: a choice, a part of an output, a block.
Channel = tuple[int, ...]


@dataclass(frozen=True)
class ChannelText:
    """More text of a channel.

    Attributes:
        tokens: log-probabilities of it, in the record's terms.
    """

    channel: Channel
    text: str
    tokens: tuple[dict[str, Any], ...] = ()


@dataclass(frozen=True)
class End:
    """The channel's text is complete."""

    channel: Channel


@dataclass(frozen=True)
class Pass:
    """What is no text of an answer: it is passed on, once what came before is settled.

    Attributes:
        channel: what it belongs to; None: the whole.
        render: its bytes.
        kind: of content that is not checked; None of what holds no text.
    """

    channel: Channel | None
    render: Callable[[], bytes]
    kind: Kind | None = None


@dataclass(frozen=True)
class Drop:
    """The kinds of content that are not checked and are left out of held answers."""

    kind: Kind


@dataclass(frozen=True)
class Over:
    """The event that ends the stream, such as ``[DONE]``."""

    render: Callable[[], bytes]


Piece = ChannelText | End | Pass | Drop | Over


class Stream(Protocol):
    """One streamed answer of an API: its events read, and events of its own made."""

    #: What was let out of each channel, for events that repeat a text.
    delivered: dict[Channel, str]

    def read(self, event: SseEvent) -> Iterator[Piece]:
        """What an event carries, in order.

        Raises:
            Unreadable: it is not what the API says.
        """
        ...

    def complete(self) -> bool:
        """Return True if the upstream said that every answer is finished."""
        ...

    def stripped(self, event: SseEvent) -> bytes:
        """An event without log-probabilities that the guard alone has asked for."""
        ...

    def text(self, channel: Channel, text: str, tokens: Sequence[Mapping[str, Any]] = ()) -> bytes:
        """An event with text of a channel, and with the log-probabilities of its tokens where the
        client has asked for them."""
        ...

    def blocked(self, channel: Channel) -> bytes:
        """Events that end a channel for its content."""
        ...

    def closing(self) -> bytes:
        """The events that end a stream whose only answer was blocked."""
        ...

    def final(self, found: Mapping[str, Any]) -> bytes:
        """An event with the object ``veridical``."""
        ...

    def error(self, message: str, code: str) -> bytes:
        """An event that clients take for an error."""
        ...


class Api(Protocol):
    """One API that the guard speaks."""

    path: str
    name: str

    def contexts(self, body: Mapping[str, Any], *, system: bool) -> list[dict[str, Any]]:
        """What a request has as evidence.

        Raises:
            RowProblem: it is no such request.
        """
        ...

    def prompt(self, body: Mapping[str, Any]) -> str | list[dict[str, Any]]:
        """A request's prompt, as a record has it."""
        ...

    def answers(self, body: Mapping[str, Any]) -> int:
        """How many answers a request asks for."""
        ...

    def with_logprobs(self, body: dict[str, Any]) -> bool:
        """Ask for log-probabilities; False where the client has, or the API has none."""
        ...

    def alone(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """The request for one answer that is not streamed."""
        ...

    def again(self, body: Mapping[str, Any], said: str, instruction: str) -> dict[str, Any]:
        """The request for the rest of an answer after what was let out of it."""
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
        """A reader of one streamed answer.

        Args:
            strip: log-probabilities were asked for by the guard alone.
            passed: kinds of content that held answers have unchecked.
            answers: as many as were asked for; a reply with more cannot be read.
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
        """Return a whole reply with what a held answer may have, and the kinds that were left
        out.

        Raises:
            Unreadable: it is no such reply, or has more answers than were asked for.
        """
        ...

    def texts(self, reply: Mapping[str, Any]) -> dict[Channel, Whole]:
        """The texts of a whole reply.

        Raises:
            Unreadable: it is no such reply.
        """
        ...

    def put(self, reply: dict[str, Any], channel: Channel, text: str, *, blocked: bool) -> None:
        """Put a text in the place of a channel's."""
        ...

    def strip(self, reply: dict[str, Any]) -> None:
        """Take the log-probabilities out of a whole reply."""
        ...

    def spelled(self, reply: dict[str, Any]) -> None:
        """Leave out log-probabilities of a whole held reply whose tokens do not spell its text."""
        ...

    def group(self, channel: Channel) -> int:
        """Which of the answers a channel belongs to."""
        ...


@dataclass(frozen=True)
class Whole:
    """The whole text of a channel.

    Attributes:
        kinds: of content beside it that is not checked.
    """

    text: str
    tokens: tuple[dict[str, Any], ...] = ()
    kinds: tuple[Kind, ...] = field(default=())


def tokens_of(entries: Any) -> tuple[dict[str, Any], ...]:
    """Log-probabilities as a record has them, of what OpenAI's APIs give; () of anything else."""
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
    """Log-probabilities as OpenAI's APIs give them, of those that a record has."""

    def entry(token: Mapping[str, Any]) -> dict[str, Any]:
        text = token["token"]
        return {
            "token": text,
            "logprob": token["logprob"],
            "bytes": list(text.encode("utf-8", "replace")),
        }

    return [{**entry(t), "top_logprobs": [entry(other) for other in t["top"]]} for t in tokens]
