"""Pairing of the answers of two sides."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from veridical.diff.options import Pairing
from veridical.diff.reading import ComparedAnswer, Side
from veridical.errors import UsageError, option_named
from veridical.text.display import shown

#: Names of the keys in notes and messages.
NAMES: dict[str, str] = {"id": "id", "prompt": "prompt", "row": "row"}
_KEYS: dict[str, Callable[[ComparedAnswer], str | int | None]] = {
    "id": lambda a: a.id,
    "prompt": lambda a: a.prompt,
    "row": lambda a: a.row,
}


class Pairs(NamedTuple):
    """Answers in pairs, in the order of the second side.

    Attributes:
        by: key of the pairs.
        only_a, only_b: number of unpaired answers.
    """

    by: Pairing
    pairs: list[tuple[ComparedAnswer, ComparedAnswer]]
    only_a: int
    only_b: int
    notes: list[str]


def paired(a: Side, b: Side, by: Pairing | None) -> Pairs:
    """Pair the answers of two sides.

    The default key is the id. If ids are row numbers on both sides, as for an input without ids,
    the prompts may be used instead. These must be known, differ at some row and not repeat.
    Repeated ids are paired by row if both sides have the same id in every row, and are
    refused otherwise.

    Raises:
        UsageError: there is no key, or no pair.
    """
    notes: list[str] = []
    if by is None:
        by, why = _chosen(a, b)
        notes += why
    first, second = (_indexed(side, by) for side in (a, b))
    pairs = [(first[key], answer) for key, answer in second.items() if key in first]
    if not pairs:
        hint = "give each question the same id in both inputs"
        if by != "row":
            by_row = option_named("pair_by", "row")
            hint += f", or pass {by_row} if their rows are in the same order"
        raise UsageError(f"{a.name} and {b.name} have no {NAMES[by]} in common; {hint}")
    notes += _doubts(pairs, by)
    return Pairs(by, pairs, len(first) - len(pairs), len(second) - len(pairs), notes)


def _chosen(a: Side, b: Side) -> tuple[Pairing, list[str]]:
    twice = next((t for side in (a, b) if (t := _twice(side.answers, "id"))), None)
    rows_a, rows_b = ({x.row: x for x in side.answers} for side in (a, b))
    common = rows_a.keys() & rows_b.keys()
    if twice is not None:
        rows_tell = len(rows_a) == len(a.answers) and len(rows_b) == len(b.answers)
        if rows_tell and all(rows_a[row].id == rows_b[row].id for row in common):
            return "row", [f"ids repeat, such as {shown(twice)}; both sides have the same id in "
                           "every row, so rows are paired"]  # fmt: skip
        raise UsageError(
            f"ids repeat, such as {shown(twice)}, and differ by row: answers cannot be paired by "
            f"them ({option_named('pair_by', 'row')} pairs equal row numbers, "
            f"{option_named('pair_by', 'prompt')} equal prompts)"
        )
    numbered = all(x.id == str(x.row) for side in (a, b) for x in side.answers)
    if numbered and _can(a, "prompt") and _can(b, "prompt"):
        moved = any(rows_a[row].prompt != rows_b[row].prompt for row in common)
        if moved or rows_a.keys() != rows_b.keys():
            return "prompt", ["the input has no ids and rows have moved, so prompts are paired"]
    return "id", []


def _can(side: Side, by: Pairing) -> bool:
    key = _KEYS[by]
    return all(key(x) is not None for x in side.answers) and _twice(side.answers, by) is None


def _twice(answers: Sequence[ComparedAnswer], by: Pairing) -> str | None:
    """Return a key that occurs twice."""
    key, seen = _KEYS[by], set()
    for answer in answers:
        if (name := key(answer)) in seen:
            return str(name)
        seen.add(name)
    return None


def _indexed(side: Side, by: Pairing) -> dict[str | int, ComparedAnswer]:
    key = _KEYS[by]
    found: dict[str | int, ComparedAnswer] = {}
    for answer in side.answers:
        name = key(answer)
        if name is None:
            raise UsageError(
                f"{side.name}: row {answer.row} has no prompt to pair by, or its records are not "
                f"known; pair by id ({option_named('pair_by', 'id')})"
            )
        if name in found:
            what = f"row {answer.row} has that of row {found[name].row}"
            raise UsageError(
                f"{side.name}: answers cannot be paired by {NAMES[by]}: "
                + (f"{shown(name)} occurs twice" if by != "prompt" else what)
                + (f" ({option_named('pair_by', 'row')} pairs rows)" if by != "row" else "")
            )
        found[name] = answer
    return found


def _doubts(pairs: Sequence[tuple[ComparedAnswer, ComparedAnswer]], by: Pairing) -> list[str]:
    """Return remarks that question the pairing."""
    notes = []
    known = [(x, y) for x, y in pairs if x.prompt is not None and y.prompt is not None]
    if other := sum(x.prompt != y.prompt for x, y in known):
        notes.append(f"{other} of {len(pairs)} pairs have different prompts")
    if by == "row" and (other := sum(x.id != y.id for x, y in pairs)):
        notes.append(f"{other} of {len(pairs)} pairs have different ids")
    return notes
