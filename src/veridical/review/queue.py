"""Order in which reviewers get answers.

``random`` follows one permutation of the answers, drawn from the run's key: the same for every
reviewer and session of the server. Its completed beginning, up to the last answer drawn from it, is
a simple random sample, on which guarantees may rest. Answers beyond it were labelled for their risk
or by a reviewer's choice. ``mixed`` alternates between it and ``uncertain``. ``neyman`` draws
within strata of the risk, where the next label is most informative.
"""

from __future__ import annotations

import hashlib
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

import numpy as np

from veridical.review.estimate import estimate, next_stratum, strata_of
from veridical.review.events import Draw
from veridical.review.labels import Labels, finals, outcome

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    from veridical.arrays import Ints
    from veridical.review.estimate import Estimate
    from veridical.review.items import Items

Order = Literal["risk", "uncertain", "disagree", "random", "neyman", "mixed"]
ORDERS: tuple[Order, ...] = ("mixed", "random", "neyman", "risk", "uncertain", "disagree")
#: Seconds for which an answer is reserved for the reviewer who has it open.
LEASE = 15 * 60.0
#: Risk that ``uncertain`` is closest to without a policy.
THRESHOLD = 0.5


class RandomOrder:
    """Random order, the same in every session of the server.

    Attributes:
        permutation: (n,) positions in the order of ``random``.
        strata: (n,) stratum of each position.
        sizes: (h,) answers of each.
        within: positions of each stratum, in drawing order.
    """

    def __init__(self, items: Items) -> None:
        key = hashlib.blake2b(items.results.key.encode(), digest_size=8).digest()
        draw = np.random.default_rng(int.from_bytes(key, "big"))
        self.permutation: Ints = draw.permutation(len(items)).astype(np.int64)
        self.strata = strata_of(items.risks)
        self.sizes: Ints = np.bincount(self.strata).astype(np.int64)
        if not len(items):
            self.sizes = np.zeros(0, dtype=np.int64)
        shuffled = draw.permutation(len(items))
        self.within: list[Ints] = [
            shuffled[self.strata[shuffled] == h].astype(np.int64) for h in range(len(self.sizes))
        ]
        self.double: Ints = (draw.random(len(items)) * 1_000_000).astype(np.int64)


@dataclass
class Lease:
    who: str
    until: float


@dataclass
class Queue:
    """Queue of answers for reviewers.

    Attributes:
        people: the reviewers.
        order: of the answers.
        double: share of answers that every reviewer labels; the others get one reviewer.
        threshold: of ``uncertain``.
        labels: current labels, updated by the caller.
    """

    items: Items
    labels: Labels
    people: tuple[str, ...]
    order: Order = "mixed"
    double: float = 0.0
    threshold: float = THRESHOLD
    clock: Callable[[], float] = time.monotonic
    chances: RandomOrder = field(init=False)
    _leases: dict[int, Lease] = field(default_factory=dict, init=False)
    _handed: dict[str, int] = field(default_factory=dict, init=False)
    _chosen: Ints = field(init=False)
    _starts: dict[str, int] = field(default_factory=dict, init=False)
    _draws: dict[int, Draw] = field(default_factory=dict, init=False)

    def __post_init__(self) -> None:
        self.chances = RandomOrder(self.items)
        self._chosen = self._by_choice("uncertain" if self.order == "mixed" else self.order)

    def is_double(self, place: int) -> bool:
        """Return True if every reviewer labels the answer at this position."""
        if len(self.people) < 2:
            return False
        return int(self.chances.double[place]) < round(self.double * 1_000_000)

    def next(self, who: str, *, after: int | None = None) -> tuple[int, Draw] | None:
        """Return the position and selection of the next answer for a reviewer.

        None if none is left. It is reserved for :data:`LEASE` seconds.

        Args:
            after: a position to skip, such as the reviewer's current one.
        """
        for place, draw in self._candidates(who):
            if place != after and self._is_free(place, who):
                self.lease(place, who)
                self._draws[place] = draw
                return place, draw
        return None

    def draw_of(self, place: int) -> Draw:
        """Return the selection of an answer: by the queue, or chosen."""
        return self._draws.get(place, Draw(order="chosen"))

    def lease(self, place: int, who: str) -> bool:
        """Reserve an answer for a reviewer; return False if another has it."""
        if self.is_double(place):
            return True
        lease = self._leases.get(place)
        if lease is not None and lease.who != who and lease.until > self.clock():
            return False
        self._leases[place] = Lease(who, self.clock() + LEASE)
        return True

    def handed(self, who: str) -> int:
        """Return the number of answers that a reviewer has finished."""
        return len(self.labels.done_by(who))

    def _is_free(self, place: int, who: str) -> bool:
        said = self.labels.of.get(self.items.rows[place], {})
        if who in said and said[who].done is not None:
            return False
        if self.is_double(place):
            return True
        if any(one.done is not None for one in said.values()):
            return False
        lease = self._leases.get(place)
        return lease is None or lease.who == who or lease.until <= self.clock()

    def _candidates(self, who: str) -> Iterator[tuple[int, Draw]]:
        if self.order == "neyman":
            yield from self._neyman(who)
            return
        chance = self._walk("random", self.chances.permutation)
        left = len(self.items)
        if self.order == "random":
            yield from ((place, Draw(order="random", p=1 / left)) for place in chance)
            return
        chosen = self._walk("chosen", self._chosen)
        by = "uncertain" if self.order == "mixed" else self.order
        if self.order == "mixed" and self.handed(who) % 2 == 0:
            yield from ((place, Draw(order="random", p=1 / left)) for place in chance)
        yield from ((place, Draw(order=by)) for place in chosen)

    def _walk(self, name: str, order: Ints) -> Iterator[int]:
        """Yield the positions of an order that are not finished by all, from the first."""
        start = self._starts.get(name, 0)
        while start < len(order) and self._all_done(int(order[start])):
            start += 1
        self._starts[name] = start
        for i in range(start, len(order)):
            yield int(order[i])

    def _all_done(self, place: int) -> bool:
        said = self.labels.of.get(self.items.rows[place], {})
        if self.is_double(place):
            return all(p in said and said[p].done is not None for p in self.people)
        return any(one.done is not None for one in said.values())

    def _neyman(self, who: str) -> Iterator[tuple[int, Draw]]:
        """Yield answers of the most informative stratum, then of the others."""
        drawn, wrong = counts(self.items, self.labels, self.chances)
        busy = np.zeros_like(drawn)
        for place, lease in self._leases.items():
            if lease.until > self.clock() and not self._all_done(place):
                busy[self.chances.strata[place]] += lease.who != who
        first = next_stratum(
            self.chances.sizes, np.minimum(drawn + busy, self.chances.sizes), wrong
        )
        strata = [h for h in range(len(self.chances.sizes)) if h != first]
        for h in ([first] if first is not None else []) + strata:
            size = int(self.chances.sizes[h])
            for place in self._walk(f"stratum {h}", self.chances.within[h]):
                yield place, Draw(order="neyman", p=1 / size, stratum=int(h))

    def _by_choice(self, order: str) -> Ints:
        """Return the positions (n,) by the run's own results, the most valuable first."""
        risks = np.where(np.isnan(self.items.risks), -1.0, self.items.risks)
        keys = {
            "risk": -risks,
            "uncertain": np.where(risks < 0, 2.0, np.abs(risks - self.threshold)),
            "disagree": -self.items.spreads,
        }
        if order not in keys:
            return np.zeros(0, dtype=np.int64)
        return np.argsort(keys[order], kind="stable").astype(np.int64)


def random_prefix(items: Items, labels: Labels, chances: RandomOrder) -> Ints:
    """Return the positions that are a simple random sample of the run.

    That is the permutation's beginning, see :func:`_beginning`.
    """
    return _beginning(chances.permutation, "random", items, labels)


def stratified_draw(items: Items, labels: Labels, chances: RandomOrder) -> list[Ints]:
    """Return the positions of each stratum that are a simple random sample of it.

    That is the beginning of its own order, or its part of the random order if larger.
    """
    prefix = random_prefix(items, labels, chances)
    out = []
    for h, places in enumerate(chances.within):
        own = _beginning(places, "neyman", items, labels)
        of_random = prefix[chances.strata[prefix] == h]
        out.append(own if len(own) >= len(of_random) else of_random)
    return out


def _beginning(places: Ints, order: Order, items: Items, labels: Labels) -> Ints:
    """Return the finished beginning of an order, up to the last answer drawn from it.

    Its end must not depend on the answers there. All positions if all are finished.
    """
    end = last = 0
    while end < len(places) and labels.is_done(row := items.rows[int(places[end])]):
        end += 1
        if order in labels.orders(row):
            last = end
    return places if end == len(places) else places[:last]


def counts(
    items: Items, labels: Labels, chances: RandomOrder, which: NDArray[np.bool_] | None = None
) -> tuple[Ints, Ints]:
    """Count the labelled and the hallucinated answers of each stratum, (h,) each.

    Args:
        which: (n,) mask of the positions that count.
    """
    drawn = np.zeros(len(chances.sizes), dtype=np.int64)
    wrong = np.zeros(len(chances.sizes), dtype=np.int64)
    for h, places in enumerate(stratified_draw(items, labels, chances)):
        for place in places.tolist():
            if which is not None and not which[place]:
                continue
            found = outcome(finals(labels, items.rows[place]))
            drawn[h] += 1
            wrong[h] += found in ("hallucinated", "undecided")
    return drawn, wrong


def rate(
    items: Items, labels: Labels, chances: RandomOrder, which: NDArray[np.bool_] | None = None
) -> Estimate:
    """Estimate the share of hallucinated answers of the run, or of a part.

    An answer without statements is not hallucinated. A disagreement counts as hallucinated until it
    is adjudicated.
    """
    drawn, wrong = counts(items, labels, chances, which)
    sizes = chances.sizes
    if which is not None:
        sizes = np.bincount(chances.strata[which], minlength=len(sizes))
    return estimate(sizes, drawn, wrong)


def undecided(items: Items, labels: Labels, chances: RandomOrder) -> int:
    """Count the drawn answers on which reviewers disagree."""
    return sum(
        outcome(finals(labels, items.rows[place])) == "undecided"
        for places in stratified_draw(items, labels, chances)
        for place in places.tolist()
    )
