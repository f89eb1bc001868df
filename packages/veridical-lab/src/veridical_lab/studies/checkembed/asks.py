"""Requests of each study to a language model."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from veridical.core.messages import ChatRequest, Message
from veridical.errors import UsageError, option_named
from veridical.prompts import load_prompt
from veridical.text.display import display
from veridical_lab.studies.checkembed.replies import ReadReply, descriptions, passage, terms
from veridical_lab.studies.checkembed.topics import ERRORS, PAIRS

if TYPE_CHECKING:
    from veridical_lab.studies.checkembed.options import CheckEmbedSetup

#: Maximum bytes of a file of chunks.
_MOST_BYTES = 100 << 20


@dataclass(frozen=True)
class Chunk:
    """A piece of a document with the terms that it defines, as people found them."""

    name: str
    text: str
    terms: tuple[str, ...]
    truth: str


@dataclass(frozen=True)
class Ask:
    """Request for one reply.

    Attributes:
        study: ``pairs``, ``errors`` or ``terms``.
        kind: of texts: ``similar, generic``, ``scientific``, ``terms``.
        topic: subject; with ``kind`` it names a group, whose draws differ only by chance.
        level: number of requested false statements.
        draw: number of the draw, from 0.
    """

    study: str
    kind: str
    topic: str
    level: int
    draw: int
    request: ChatRequest

    @property
    def id(self) -> str:
        """Names the ask within a run of studies."""
        return f"{self.study}/{self.kind}/{self.topic}/{self.level}/{self.draw}"

    def read(self, reply: str) -> ReadReply:
        """Extract the texts of a reply to it."""
        if self.study == "pairs":
            return descriptions(reply)
        if self.study == "terms":
            return terms(reply)
        return passage(reply, forced=self.level > 0)


def asks_of(study: str, options: CheckEmbedSetup, chunks: Sequence[Chunk]) -> list[Ask]:
    """Return all requests of ``study``, topic by topic."""
    made = {"pairs": _pairs, "errors": _errors}
    if study in made:
        return list(made[study](options))
    return list(_terms(options, chunks)) if study == "terms" else []


def prompts_of(study: str) -> tuple[str, ...]:
    """Return the names of a study's templates."""
    return {
        "pairs": ("checkembed_similar", "checkembed_different"),
        "errors": ("checkembed_passage", "checkembed_errors"),
        "terms": ("checkembed_terms",),
    }.get(study, ())


def _pairs(options: CheckEmbedSetup) -> Iterator[Ask]:
    for detail, topics in PAIRS.items():
        for i, topic in enumerate(topics[: options.limit]):
            other = topics[(i + 1) % len(topics)]
            similar = load_prompt("checkembed_similar").messages(topic=topic)
            yield from _drawn(options, ("pairs", f"similar, {detail}", topic, 0), similar)
            both = load_prompt("checkembed_different").messages(topic=topic, other=other)
            name = f"{topic} / {other}"
            yield from _drawn(options, ("pairs", f"different, {detail}", name, 0), both)


def _errors(options: CheckEmbedSetup) -> Iterator[Ask]:
    right, wrong = load_prompt("checkembed_passage"), load_prompt("checkembed_errors")
    for subject in options.subjects:
        for topic in ERRORS[subject][: options.limit]:
            messages = right.messages(topic=topic)
            yield from _drawn(options, ("errors", subject, topic, 0), messages)
            for level in options.levels:
                messages = wrong.messages(topic=topic, number=str(level))
                yield from _drawn(options, ("errors", subject, topic, level), messages)


def _terms(options: CheckEmbedSetup, chunks: Sequence[Chunk]) -> Iterator[Ask]:
    prompt = load_prompt("checkembed_terms")
    for chunk in chunks[: options.limit]:
        messages = prompt.messages(context=chunk.text)
        yield from _drawn(options, ("terms", "terms", chunk.name, 0), messages)


def _drawn(
    options: CheckEmbedSetup, place: tuple[str, str, str, int], messages: tuple[Message, ...]
) -> Iterator[Ask]:
    """Yield ``options.n`` draws of a request for the study, kind, topic and level in ``place``."""
    for draw in range(options.n):
        request = ChatRequest(
            messages,
            temperature=options.temperature,
            max_tokens=options.max_tokens,
            ordinal=draw,
            cut=True,
        )
        yield Ask(*place, draw, request)


def read_chunks(path: Path) -> list[Chunk]:
    """Read chunks in the format of CheckEmbed's ``legal_definitions.json``.

    That is ``{"data": [{"chunk_txt", "definitions": [{"term", "context"}]}]}``.

    Raises:
        UsageError: the file does not exist, or a chunk is invalid; the message names its place.
    """
    try:
        if path.stat().st_size > _MOST_BYTES:
            raise UsageError(f"{display(path)} is larger than {_MOST_BYTES} bytes")
        content: Any = json.loads(path.read_bytes())
    except OSError as e:
        raise UsageError(f"cannot read {display(path)}: {e.strerror or e}") from None
    except (ValueError, RecursionError) as e:
        raise UsageError(f"{display(path)} is no JSON: {e}") from None
    rows = content.get("data") if isinstance(content, dict) else None
    if not isinstance(rows, list) or not rows:
        raise UsageError(
            f"{display(path)}: {option_named('data')} of the study 'terms' is an object whose "
            "'data' is a list of chunks"
        )
    return [_chunk(row, f"{display(path)}: chunk {i}") for i, row in enumerate(rows)]


def _chunk(row: Any, where: str) -> Chunk:
    if not isinstance(row, dict) or not isinstance(row.get("chunk_txt"), str):
        raise UsageError(f"{where}: 'chunk_txt' must be a text")
    if not row["chunk_txt"].strip():
        raise UsageError(f"{where}: 'chunk_txt' is empty")
    given = row.get("definitions", [])
    if not isinstance(given, list):
        raise UsageError(f"{where}: 'definitions' must be a list")
    lines, names = [], []
    for n, entry in enumerate(given):
        for field in ("term", "context"):
            if not isinstance(entry, dict) or not isinstance(entry.get(field), str):
                raise UsageError(f"{where}, definition {n}: {field!r} must be a text")
        names.append(entry["term"])
        lines.append(f"{entry['term']}. {' '.join(entry['context'].split())}")
    name = f"chunk {where.rpartition(' ')[2]}"
    return Chunk(name, row["chunk_txt"], tuple(dict.fromkeys(names)), "\n".join(lines))
