"""Units of answers: sentences, and values of structured parts."""

from __future__ import annotations

import re
from typing import NamedTuple

from veridical.text.memo import kept
from veridical.text.sentences import split_sentences
from veridical.text.spans import Span
from veridical.text.statements import Statement
from veridical.text.structure.nodes import words_set
from veridical.text.structure.parts import Block, Leaf, Row
from veridical.text.structure.reading import read_structure
from veridical.text.structure.wording import denial, words_of_name

#: Maximum values of a block that are separate units; in a larger block each row is one.
MAX_VALUES = 400

_ABOUT_SOURCES = words_set(
    "source sources citation citations reference references document documents doc docs file "
    "files filename url urls link links id ids confidence score page pages quote quotes"
)
_LOCATOR = re.compile(r"\S{1,300}|[\w.-]{1,80}(?: [\w.-]{1,40}){0,3}\.[a-z]{2,5}|\[?\d+\]?")
_ESCAPE = re.compile(r"\\[nrt\"\\/]")


class AnswerUnit(NamedTuple):
    """A unit of an answer: its place, judged text and leaf.

    The judged text is None for the unit's own text; the leaf is the one that contains it.
    """

    span: Span
    statement: Statement | None
    leaf: Leaf | None


@kept
def answer_units(text: str) -> tuple[AnswerUnit, ...]:
    """Return the units of ``text`` in order: sentences of prose and structured values.

    Only values that state something are included.
    """
    structured = read_structure(text)
    blocks = [b for b in structured.blocks if _is_split(text, b)] if structured else []
    if not blocks:
        return tuple(AnswerUnit(s, None, None) for s in split_sentences(text))
    units: list[AnswerUnit] = []
    prose: list[str] = []
    at = 0
    for block in blocks:
        prose += [text[at : block.start], "\n" * (block.end - block.start)]
        at = block.end
        units += _units_of(text, block)
    prose.append(text[at:])
    for s in split_sentences("".join(prose)):
        units.append(AnswerUnit(Span(s.start, s.end, text[s.start : s.end]), None, None))
    units = [u for u in units if u.span.end > u.span.start]
    return tuple(sorted(units, key=lambda u: u.span.start))


@kept
def judged_units(text: str) -> dict[tuple[int, int], AnswerUnit]:
    """Return the structured ones of :func:`answer_units` by place; do not modify the result."""
    units = (u for u in answer_units(text) if u.statement is not None)
    return {(u.span.start, u.span.end): u for u in units}


@kept
def source_pieces(text: str) -> tuple[tuple[Span, bool], ...]:
    """Return the sentences of a source and the verbalised rows of its structured parts.

    The second value is True for verbalised text, such as a row; its offsets are those in ``text``.
    """
    structured = read_structure(text)
    if structured is None:
        return tuple(map(_sentence, split_sentences(text)))
    pieces: list[tuple[Span, bool]] = []
    prose: list[str] = []
    at = 0
    for block in structured.blocks:
        prose += [text[at : block.start], "\n" * (block.end - block.start)]
        at = block.end
        for r in block.rows:
            if r.text:
                said = denial(r.text) or r.text
                pieces.append((Span(r.start, max(r.end, r.start), said), True))
    prose.append(text[at:])
    for s in split_sentences("".join(prose)):
        pieces.append(_sentence(Span(s.start, s.end, text[s.start : s.end])))
    return tuple(sorted(pieces, key=lambda p: p[0].start))


def _sentence(span: Span) -> tuple[Span, bool]:
    """Return a sentence as a piece, verbalised if it only denies a name."""
    said = denial(span.text) if ":" in span.text else None
    return (span, False) if said is None else (Span(span.start, span.end, said), True)


def _is_split(text: str, block: Block) -> bool:
    """Return True if a block's values are units; lines of names and values must be short."""
    if block.kind != "pairs":
        return True
    return all(len(split_sentences(row.text)) < 2 for row in block.rows)


def _units_of(text: str, block: Block) -> list[AnswerUnit]:
    if block.kind == "pairs":
        return [_whole(text, row) for row in block.rows]
    if len(block.leaves) > MAX_VALUES:
        return [_whole(text, row) for row in block.rows if row.leaves]
    units: list[AnswerUnit] = []
    for row in block.rows:
        stating = [leaf for leaf in row.leaves if leaf.kind != "null" and not is_locator(leaf)]
        others = [leaf for leaf in stating if leaf.subject]
        for leaf in stating:
            if others and not leaf.subject and block.kind == "table":
                continue  # it names the row, and the others are judged with it
            units += _of_leaf(text, leaf)
    return units


def _whole(text: str, row: Row) -> AnswerUnit:
    end = max(row.end, row.start)
    statement = Statement(row.text, 0, 0, "converted")
    leaf = row.leaves[0] if len(row.leaves) == 1 else None
    return AnswerUnit(Span(row.start, end, text[row.start : end]), statement, leaf)


def _of_leaf(text: str, leaf: Leaf) -> list[AnswerUnit]:
    raw = text[leaf.start : leaf.end]
    sentences = split_sentences(_ESCAPE.sub(_blank, raw)) if len(raw) > 1 else []
    if len(sentences) > 1 and leaf.kind == "text":
        return [
            AnswerUnit(
                Span(leaf.start + s.start, leaf.start + s.end, raw[s.start : s.end]),
                Statement(s.text, 0, len(s.text), "answer"),
                leaf,
            )
            for s in sentences
        ]
    statement = Statement(leaf.statement, *leaf.said, "converted")
    return [AnswerUnit(Span(leaf.start, leaf.end, raw), statement, leaf)]


def _blank(escape: re.Match[str]) -> str:
    """Return two characters for an escape of two."""
    return {"n": " \n", "r": " \n", "t": "  "}.get(escape[0][1], " " + escape[0][1])


def is_locator(leaf: Leaf) -> bool:
    """Return True if a value only names the answer's source or certainty.

    >>> found = read_structure('{"answer": "It opens at ten.", "sources": ["guide.pdf"]}')
    >>> [is_locator(leaf) for leaf in found.leaves]
    [False, True]
    """
    name = words_of_name(re.split(r"[.\[\]\"]+", leaf.path.rstrip(']0123456789["'))[-1])
    last = name.split()[-1:] if name else leaf.names.split()[-1:]
    if not last or last[0].lower() not in _ABOUT_SOURCES:
        return False
    return name.lower() in _ABOUT_SOURCES and _LOCATOR.fullmatch(leaf.value) is not None
