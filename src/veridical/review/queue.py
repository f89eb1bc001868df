"""Which answer a person looks at next.

``random`` goes by one permutation of the answers, drawn from the run's key, the same for everybody
and in every life of the server. Its beginning, as far as all of it is labelled and up to the last
answer that was drawn by it, is a simple random draw: that is what a promise may rest on. What lies
beyond was labelled for its risk or by a person's choice. ``mixed`` goes by it every second time,
and by ``uncertain`` the other times. ``neyman`` draws within strata of the risk, where the next
label tells most.
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
#: Seconds for which an answer is kept for the person who has it before them.
LEASE = 15 * 60.0
#: The risk that ``uncertain`` is nearest to, where no policy says.
THRESHOLD = 0.5


class Chances:
    """What is drawn by chance, the same in every life of the server.

    Attributes:
        permutation: (n,) places in the order of ``random``.
        strata: (n,) stratum of each place.
        sizes: (h,) answers of each.
        within: of each stratum its places, in the order in which they are drawn.
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
    """Hands out answers to the people who label.

    Attributes:
        people: who labels.
        order: by what answers are handed out.
        double: the share of answers that everybody labels; the others are one person's.
        threshold: of ``uncertain``.
        labels: what was said so far, kept up to date by whoever takes the events.
    """

    items: Items
    labels: Labels
    people: tuple[str, ...]
    order: Order = "mixed"
    double: float = 0.0
    threshold: float = THRESHOLD
    clock: Callable[[], float] = time.monotonic
    chances: Chances = field(init=False)
    _leases: dict[int, Lease] = field(default_factory=dict, init=False)
    _handed: dict[str, int] = field(default_factory=dict, init=False)
    _chosen: Ints = field(init=False)
    _starts: dict[str, int] = field(default_factory=dict, init=False)
    _draws: dict[int, Draw] = field(default_factory=dict, init=False)

    def __post_init__(self) -> None:
        self.chances = Chances(self.items)
        self._chosen = self._by_choice("uncertain" if self.order == "mixed" else self.order)

    def is_double(self, place: int) -> bool:
        """Whether everybody labels the answer at this place."""
        if len(self.people) < 2:
            return False
        return int(self.chances.double[place]) < round(self.double * 1_000_000)

    def next(self, who: str, *, after: int | None = None) -> tuple[int, Draw] | None:
        """The place of the next answer for a person, and how it was drawn; None where there is
        none left. It is theirs for :data:`LEASE` seconds.

        Args:
            after: a place that is not wanted now, such as the one before the person.
        """
        for place, draw in self._candidates(who):
            if place != after and self._is_free(place, who):
                self.lease(place, who)
                self._draws[place] = draw
                return place, draw
        return None

    def draw_of(self, place: int) -> Draw:
        """How an answer came before somebody: by the queue, or chosen."""
        return self._draws.get(place, Draw(order="chosen"))

    def lease(self, place: int, who: str) -> bool:
        """Keep an answer for a person, as after each of their labels; False where it is kept for
        somebody else."""
        if self.is_double(place):
            return True
        lease = self._leases.get(place)
        if lease is not None and lease.who != who and lease.until > self.clock():
            return False
        self._leases[place] = Lease(who, self.clock() + LEASE)
        return True

    def handed(self, who: str) -> int:
        """Answers that a person is done with."""
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
        """The places of an order that not everybody is done with, from the first such."""
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
        """From the stratum where a label tells most, its next answers; then from the others."""
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
        """(n,) places by what the run says of them, the first ones worth the most."""
        risks = np.where(np.isnan(self.items.risks), -1.0, self.items.risks)
        keys = {
            "risk": -risks,
            "uncertain": np.where(risks < 0, 2.0, np.abs(risks - self.threshold)),
            "disagree": -self.items.spreads,
        }
        if order not in keys:
            return np.zeros(0, dtype=np.int64)
        return np.argsort(keys[order], kind="stable").astype(np.int64)


def random_prefix(items: Items, labels: Labels, chances: Chances) -> Ints:
    """The places that are a simple random draw of the run: the permutation's beginning, see
    :func:`_beginning`."""
    return _beginning(chances.permutation, "random", items, labels)


def stratified_draw(items: Items, labels: Labels, chances: Chances) -> list[Ints]:
    """The places of each stratum that are a simple random draw of it: the beginning of its own
    order, or what the random order has of it where that is more."""
    prefix = random_prefix(items, labels, chances)
    out = []
    for h, places in enumerate(chances.within):
        own = _beginning(places, "neyman", items, labels)
        of_random = prefix[chances.strata[prefix] == h]
        out.append(own if len(own) >= len(of_random) else of_random)
    return out


def _beginning(places: Ints, order: Order, items: Items, labels: Labels) -> Ints:
    """Of places in the order in which they are drawn, the beginning that is done, up to the last
    one that came by this order: how far it goes must not hang on the answers that lie there. All
    of them, where all are done."""
    end = last = 0
    while end < len(places) and labels.is_done(row := items.rows[int(places[end])]):
        end += 1
        if order in labels.orders(row):
            last = end
    return places if end == len(places) else places[:last]


def counts(
    items: Items, labels: Labels, chances: Chances, which: NDArray[np.bool_] | None = None
) -> tuple[Ints, Ints]:
    """(h,) answers of each stratum that were drawn and labelled, and hallucinated ones of them.

    Args:
        which: (n,) of the places, those that count.
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
    items: Items, labels: Labels, chances: Chances, which: NDArray[np.bool_] | None = None
) -> Estimate:
    """The estimated share of hallucinated answers of the run, or of some of them.

    An answer that states nothing is not hallucinated. One on which people disagree counts as
    hallucinated until that is adjudicated.
    """
    drawn, wrong = counts(items, labels, chances, which)
    sizes = chances.sizes
    if which is not None:
        sizes = np.bincount(chances.strata[which], minlength=len(sizes))
    return estimate(sizes, drawn, wrong)


def undecided(items: Items, labels: Labels, chances: Chances) -> int:
    """How many of the drawn answers people disagree on."""
    return sum(
        outcome(finals(labels, items.rows[place])) == "undecided"
        for places in stratified_draw(items, labels, chances)
        for place in places.tolist()
    )
