"""Two runs compared, with pages of pairs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

from veridical.diff.comparing import Texts, compared, direction_of, pair_of, rank_of
from veridical.diff.options import DiffOptions
from veridical.diff.pairing import paired
from veridical.diff.reading import ComparedAnswer, Side
from veridical.diff.result import Diff, Direction, FlipSide

#: ``changed``: another verdict or decision; ``risk``: another risk.
Only = Literal["all", "changed", "worse", "better", "other", "risk"]


class AnswerPair(NamedTuple):
    """Two paired answers.

    Attributes:
        direction: direction of the changed verdict or decision; None if neither changed.
        scores: risk of each scorer in A and in B, if both have one and they differ.
    """

    id: str
    question: str | None
    direction: Direction | None
    a: FlipSide
    b: FlipSide
    scores: list[tuple[str, float, float]]


class PairsPage(NamedTuple):
    """The pairs of page ``number`` (from 0) of ``pages``; there are ``total`` pairs."""

    number: int
    pages: int
    total: int
    pairs: list[AnswerPair]


class SideBySide:
    """Two runs, compared as by ``veridical diff --allow-different``.

    Args:
        texts: functions that return the shown texts of each side. Default: those of the sides,
            which read their whole input.

    Attributes:
        diff: the comparison.

    Raises:
        UsageError: a run cannot be read or has not ended, or they have no record in common.
    """

    def __init__(self, a: Side, b: Side, texts: tuple[Texts, Texts] | None = None) -> None:
        options = DiffOptions(allow_different=True)
        self._texts = texts or (a.texts, b.texts)
        pairs = paired(a, b, options.pair_by)
        self._pairs = pairs.pairs
        self.diff: Diff = compared(a, b, options, pairs, self._texts)
        directions = [direction_of(*pair) for pair in self._pairs]
        changed = [i for i, direction in enumerate(directions) if direction is not None]
        changed.sort(key=lambda i: rank_of(*self._pairs[i], directions[i], i))
        self._directions = directions
        self._places: dict[str, Sequence[int]] = {
            "all": range(len(self._pairs)),
            "changed": changed,
        }

    def page(self, number: int, size: int, only: Only = "changed") -> PairsPage:
        """Return a page of pairs.

        ``only`` selects all pairs in the order of B, the changed ones worst first, or those with a
        changed risk, highest rise first.
        """
        places = self._of(only)
        pages = max(1, -(-len(places) // size))
        number = min(max(number, 0), pages - 1)
        chosen = [(i, *self._pairs[i]) for i in places[number * size : (number + 1) * size]]
        texts_a = self._texts[0]({x.place for _, x, _ in chosen})
        texts_b = self._texts[1]({y.place for _, _, y in chosen})
        shown = []
        for i, x, y in chosen:
            pair = pair_of(x, y, texts_a, texts_b)
            shown.append(AnswerPair(*pair[:2], self._directions[i], *pair[2:], _moved(x, y)))
        return PairsPage(number, pages, len(places), shown)

    def _of(self, only: Only) -> Sequence[int]:
        found = self._places.get(only)
        if found is None:
            if only == "risk":
                found = [i for i, (x, y) in enumerate(self._pairs) if x.risk != y.risk]
                found.sort(key=lambda i: rank_of(*self._pairs[i], None, i))
            else:
                found = [i for i in self._places["changed"] if self._directions[i] == only]
            self._places[only] = found
        return found


def _moved(x: ComparedAnswer, y: ComparedAnswer) -> list[tuple[str, float, float]]:
    found = []
    for key, part in x.scores.items():
        other = y.scores.get(key)
        if other is None or part.risk is None or other.risk is None or part.risk == other.risk:
            continue
        found.append((key, part.risk, other.risk))
    return sorted(found, key=lambda moved: -abs(moved[2] - moved[1]))
