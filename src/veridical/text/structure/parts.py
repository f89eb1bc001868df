"""Structured parts of a text: leaves, rows and blocks."""

from __future__ import annotations

from typing import Literal, NamedTuple

BlockKind = Literal["json", "yaml", "xml", "table", "pairs"]


class Leaf(NamedTuple):
    """A value at ``[start:end]`` of a text.

    Attributes:
        path: path of names and indices: ``invoice.total``, ``items[0].name``, ``row[2].Price``.
        value: its text, unescaped and without decoration.
        kind: ``null`` states nothing.
        names: the words of its names or its header.
        subject: its row's first cell, or the name of its object.
        statement: its statement, for a model.
        said: place of ``value`` in ``statement``; both 0 if it is missing.
        row: index of its row in the block.
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
    """A row, object or line at ``[start:end]``, with its leaves' names and values as text."""

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
        """Return the leaves of all rows, in order."""
        return tuple(leaf for row in self.rows for leaf in row.leaves)


class Structured(NamedTuple):
    """The structured parts of a text in order, and True if they cover it."""

    blocks: tuple[Block, ...]
    whole: bool

    @property
    def leaves(self) -> tuple[Leaf, ...]:
        """Return the leaves of all blocks, in order."""
        return tuple(leaf for block in self.blocks for leaf in block.leaves)
