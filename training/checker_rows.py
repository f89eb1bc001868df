"""Token sequences for ``checker_lora.py``: a document, then each of its statements.

Statements of the same document share its tokens in one sequence, a *tree*. The trunk is the common
beginning of their prompts, and each branch is the rest of one prompt. A branch sees the trunk and
itself, as when llama.cpp reads it with the document cached.
"""

from __future__ import annotations

import json
import random
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from veridical.prompts import load_prompt

#: The template that :mod:`veridical.scorers.judges.statement_judge` asks trained checkers by.
TEMPLATE = "statement_checker"
ANSWERS = ("Yes", "No", "Unknown")
#: The right answers for each label.
RIGHT = {
    "supported": ("Yes",),
    "contradicted": ("No",),
    "not_stated": ("Unknown",),
    "not_supported": ("No", "Unknown"),
}
_BRANCHES = 8  # statements of a tree at most
_HEAVIEST = 4.0  # weight of a row at most; the least is its inverse
_SORTED = 32  # batches whose trees are sorted by length together

Encode = Callable[[str, str], list[int]]


class Branch(NamedTuple):
    """One statement: the end of its prompt, the row's label, weight and place in the data."""

    ids: list[int]
    label: str
    weight: float
    row: int


class Tree(NamedTuple):
    """A sequence of tokens with several statements of a document.

    Training learns to distinguish the trees of a ``group``, so they come in the same batch.
    """

    trunk: list[int]
    branches: list[Branch]
    group: str = ""

    def __len__(self) -> int:
        return len(self.trunk) + sum(len(b.ids) for b in self.branches)


class Batch(NamedTuple):
    """Padded trees.

    Attributes:
        ids, positions: (n, longest).
        seen: (n, longest, longest), whether a token attends to another.
        ends: (statements, 2), tree and place of the token before each verdict.
        branches: the statements, in the order of ``ends``.
        tokens: number of tokens without padding.
    """

    ids: np.ndarray
    positions: np.ndarray
    seen: np.ndarray
    ends: np.ndarray
    branches: list[Branch]
    tokens: int


def read_rows(path: Path) -> list[dict[str, Any]]:
    """Read the rows of a JSON Lines file.

    Raises:
        SystemExit: a row lacks a document, a statement or a known label.
    """
    rows = []
    for number, line in enumerate(path.read_text("utf-8").splitlines(), 1):
        row = json.loads(line)
        if row.get("label") not in RIGHT or not (row.get("document") and row.get("statement")):
            raise SystemExit(f"{path}: line {number} has no document, statement or known label")
        rows.append(row)
    return rows


def part_of(row: dict[str, Any]) -> str:
    """Return the part of the data that a row belongs to: its kind, else its source."""
    return str(row.get("kind") or row.get("source", ""))


def spread(rows: list[dict[str, Any]], most: int, seed: int) -> list[dict[str, Any]]:
    """Choose at most ``most`` rows, as evenly over parts and labels as there are rows."""
    chance = random.Random(seed)
    by_kind: dict[tuple[str, str], list[dict[str, Any]]] = defaultdict(list)
    for row in rows:
        by_kind[part_of(row), row["label"]].append(row)
    for kind in by_kind.values():
        chance.shuffle(kind)
    found: list[dict[str, Any]] = []
    while len(found) < min(most, len(rows)):
        for name in sorted(by_kind):
            if by_kind[name] and len(found) < most:
                found.append(by_kind[name].pop())
    return found


def weights_of(rows: Sequence[dict[str, Any]]) -> list[float]:
    """Compute row weights: in each part, supported rows and the others count alike."""
    counts = Counter((part_of(row), row["label"] == "supported") for row in rows)
    found = []
    for row in rows:
        part, right = part_of(row), row["label"] == "supported"
        other = counts[part, not right]
        even = (counts[part, right] + other) / (2 * counts[part, right]) if other else 1.0
        found.append(min(max(even, 1 / _HEAVIEST), _HEAVIEST))
    return found


def encoder(tokenizer: Any) -> Encode:
    """Return a function that makes the tokens of a prompt from document and statement."""
    prompt = load_prompt(TEMPLATE)

    def encode(document: str, statement: str) -> list[int]:
        messages = list(prompt.messages(document=document, statement=statement))
        text = tokenizer.apply_chat_template(messages, add_generation_prompt=True, tokenize=False)
        ids: list[int] = tokenizer(text, add_special_tokens=False)["input_ids"]
        return ids

    return encode


def trees(rows: Sequence[dict[str, Any]], encode: Encode, longest: int, seed: int) -> list[Tree]:
    """Build the trees of ``rows``. Prompts of more than ``longest`` tokens are left out."""
    chance = random.Random(seed)
    by_document: dict[str, list[tuple[list[int], int]]] = defaultdict(list)
    weights = weights_of(rows)
    for i, row in enumerate(rows):
        ids = encode(row["document"], row["statement"])
        if len(ids) <= longest:
            by_document[row["document"]].append((ids, i))
    found = []
    for prompts in by_document.values():
        chance.shuffle(prompts)
        for some in _parted(prompts, longest):
            shared = _shared([ids for ids, _ in some])
            branches = [Branch(ids[shared:], rows[i]["label"], weights[i], i) for ids, i in some]
            group = str(rows[some[0][1]].get("group") or f"row {some[0][1]}")
            found.append(Tree(some[0][0][:shared], branches, group))
    return found


def _parted(
    prompts: Sequence[tuple[list[int], int]], longest: int
) -> Iterator[list[tuple[list[int], int]]]:
    """Split ``prompts`` into lists whose trees are not longer than ``longest``."""
    some: list[tuple[list[int], int]] = []
    for prompt in prompts:
        more = [*some, prompt]
        shared = _shared([ids for ids, _ in more])
        size = shared + sum(len(ids) - shared for ids, _ in more)
        if some and (size > longest or len(more) > _BRANCHES):
            yield some
            more = [prompt]
        some = more
    if some:
        yield some


def _shared(prompts: Sequence[Sequence[int]]) -> int:
    """Count the tokens that all begin with, at least one of each left."""
    first = prompts[0]
    shared = min(map(len, prompts)) - 1
    for other in prompts[1:]:
        same = next((i for i in range(shared) if first[i] != other[i]), shared)
        shared = min(shared, same)
    return shared


def batches(
    made: Iterable[Tree], tokens: int, seed: int | None, padding: int = 0
) -> Iterator[Batch]:
    """Yield batches of trees of like length, of at most ``tokens`` with padding.

    Args:
        seed: of their order; None sorts all by length.
    """
    units = defaultdict(list)
    for n, tree in enumerate(made):
        units[str(n) if seed is None else tree.group].append(tree)
    order = list(units.values())
    chance = random.Random(seed)
    if seed is not None:
        chance.shuffle(order)
    size = max(1, sum(len(tree) for unit in order for tree in unit))
    window = len(order) if seed is None else max(1, len(order) * _SORTED * tokens // size)
    for start in range(0, len(order), window):
        cut = _cut(sorted(order[start : start + window], key=_longest), tokens)
        if seed is not None:
            chance.shuffle(cut)
        for some in cut:
            yield batch(some, padding)


def _longest(some: Sequence[Tree]) -> int:
    return max(map(len, some))


def _cut(units: Sequence[Sequence[Tree]], tokens: int) -> list[list[Tree]]:
    """Make batches of whole units, except for units too large for one batch."""
    found: list[list[Tree]] = [[]]
    for unit in units:
        whole = len(unit) * _longest(unit) <= tokens
        for some in [unit] if whole else [[tree] for tree in unit]:
            more = [*found[-1], *some]
            if found[-1] and len(more) * _longest(more) > tokens:
                found.append([])
            found[-1] += some
    return [some for some in found if some]


def batch(some: Sequence[Tree], padding: int = 0) -> Batch:
    """Convert trees to arrays."""
    longest = max(map(len, some))
    ids = np.full((len(some), longest), padding, np.int64)
    positions = np.zeros((len(some), longest), np.int64)
    seen = np.zeros((len(some), longest, longest), bool)
    seen[:, range(longest), range(longest)] = True  # padding too: no row of scores is empty
    ends, branches = [], []
    for n, tree in enumerate(some):
        place = trunk = len(tree.trunk)
        ids[n, :trunk] = tree.trunk
        positions[n, :trunk] = range(trunk)
        seen[n, :trunk, :trunk] = np.tri(trunk, dtype=bool)
        for branch in tree.branches:
            size = len(branch.ids)
            here = slice(place, place + size)
            ids[n, here] = branch.ids
            positions[n, here] = range(trunk, trunk + size)
            seen[n, here, :trunk] = True
            seen[n, here, here] = np.tri(size, dtype=bool)
            place += size
            ends.append((n, place - 1))
            branches.append(branch)
    return Batch(ids, positions, seen, np.array(ends), branches, sum(map(len, some)))
