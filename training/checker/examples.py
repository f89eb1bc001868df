"""Rows of the training data, their groups and their parts."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

Label = Literal["supported", "contradicted", "not_stated", "not_supported"]
Part = Literal["train", "dev"]

TOKENS_PER_WORD = 1.3


@dataclass(frozen=True)
class Example:
    """A document, a statement and whether the document supports it.

    Attributes:
        source: file or generator that the row comes from.
        group: hash of the document before any edit; rows of one group stay in one part.
        paired: the statement occurs under both labels, or is drawn alike under both, by
            construction, so no balancing is needed.
        topic: what a generated document is about; no passage of it lengthens another of it.
    """

    document: str
    statement: str
    label: Label
    kind: str
    source: str
    group: str
    part: Part = "train"
    paired: bool = False
    topic: str = ""

    @property
    def right(self) -> bool:
        return self.label == "supported"

    def row(self) -> dict[str, Any]:
        """Return the row as it is written."""
        names = ("document", "statement", "label", "kind", "source", "group")
        return {name: getattr(self, name) for name in names}

    def with_(self, **changes: Any) -> Example:
        """Return a copy with some fields changed."""
        return replace(self, **changes)


def words(text: str, separator: str = " ") -> list[str]:
    """Return the items of a list that is written as one text."""
    return text.split(separator)


STOP = set(
    words(
        "the a an of in on at to and or is was are were be been by for with from that this it its "
        "as he she they his her their who which has had have not but"
    )
)


def content(text: str) -> set[str]:
    """Return the words of a text that carry meaning."""
    return {w.lower() for w in re.findall(r"\w+", text)} - STOP


def digest(text: str) -> str:
    """Return a short hash of a text, blind to case and white space."""
    return hashlib.sha256(" ".join(text.lower().split()).encode()).hexdigest()[:16]


def part_of(group: str, seed: int, held_out: float) -> Part:
    """Return the part that a group belongs to: "dev" for a share of them."""
    drawn = int(hashlib.sha256(f"{seed}/{group}".encode()).hexdigest()[:8], 16) / 16**8
    return "dev" if drawn < held_out else "train"


def tokens(text: str) -> float:
    """Return the approximate number of tokens of a text."""
    return TOKENS_PER_WORD * len(text.split())


def edge_keys(document: str) -> list[str]:
    """Return keys that a document shares with edited copies of itself: both its ends."""
    words = re.findall(r"\w+", document.lower())
    if len(words) < 24:
        return [digest(" ".join(words))]
    return ["<" + digest(" ".join(words[:12])), ">" + digest(" ".join(words[-12:]))]


def joined_groups(keys: Sequence[Iterable[str]]) -> list[str]:
    """Return a group of each item; items that share a key, even through others, share a group."""
    parent: dict[str, str] = {}

    def root(key: str) -> str:
        parent.setdefault(key, key)
        while parent[key] != key:
            parent[key] = parent[parent[key]]
            key = parent[key]
        return key

    firsts = []
    for own in map(list, keys):
        firsts.append(own[0])
        for key in own[1:]:
            one, other = sorted((root(own[0]), root(key)))
            parent[other] = one
    return [digest(root(first)) for first in firsts]
