"""Parts of a text that are structured: leaves, rows, and blocks of them."""

from __future__ import annotations

from typing import Literal, NamedTuple

BlockKind = Literal["json", "yaml", "xml", "table", "pairs"]


class Leaf(NamedTuple):
    """A value at ``[start:end]`` of a text.

    Attributes:
        path: names and places down to it: ``invoice.total``, ``items[0].name``, ``row[2].Price``.
        value: its text, unescaped and without decoration.
        kind: of what ``null`` is nothing is stated.
        names: the words of its names or its header.
        subject: what it belongs to: the row's first cell, or the name of its object.
        statement: what it states, as a model should read it.
        said: where ``value`` stands in ``statement``; both 0 where it does not.
        row: which row of the block it is in.
    """

    path: str
    value: str
    start: int
    end: int
    kind: Literal["text", "number", "boolean", "null"]
    names: str
    subject: str
    statement: str
    said: tuple[int, int]
    row: int


class Row(NamedTuple):
    """A row, object or line at ``[start:end]``, and its leaves' names and values as a text."""

    start: int
    end: int
    text: str
    leaves: tuple[Leaf, ...] = ()


class Block(NamedTuple):
    """A structured part of a text at ``[start:end]``, which may be a whole code fence."""

    kind: BlockKind
    start: int
    end: int
    rows: tuple[Row, ...]

    @property
    def leaves(self) -> tuple[Leaf, ...]:
        """The leaves of all rows, in order."""
        return tuple(leaf for row in self.rows for leaf in row.leaves)


class Structured(NamedTuple):
    """The structured parts of a text in order, and whether they are all of it."""

    blocks: tuple[Block, ...]
    whole: bool

    @property
    def leaves(self) -> tuple[Leaf, ...]:
        """The leaves of all blocks, in order."""
        return tuple(leaf for block in self.blocks for leaf in block.leaves)
