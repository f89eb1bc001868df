"""Scenarios: documents in two versions, with a statement true in each."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from checker.examples import Example, Label, digest

NOT_STATED_SHARE = 0.35


@dataclass(frozen=True)
class Scenario:
    """Two versions of a document, which differ in what is stated.

    Attributes:
        documents: the two versions.
        statements: the first is true by the first version and false by the second, the second
            the other way round.
        missing: versions that leave out what either statement needs; may be empty.
        wrong: label of a statement by the other version.
    """

    kind: str
    documents: tuple[str, str]
    statements: tuple[str, str]
    missing: tuple[str, ...] = ()
    wrong: Label = "contradicted"


Maker = Callable[[random.Random], Scenario | None]


def rows_of(makers: tuple[Maker, ...], rng: random.Random, most: int) -> Iterator[Example]:
    """Yield a right and a wrong row of each scenario, which of the two is true being drawn."""
    for _ in range(most // 2):
        make = rng.choice(makers)
        one = make(rng)
        if one is None or one.statements[0] == one.statements[1]:
            continue
        true = rng.randrange(2)
        document = one.documents[true]
        right, wrong = one.statements[true], one.statements[1 - true]
        rows: list[tuple[str, str, Label]] = [(document, right, "supported")]
        if one.missing and rng.random() < NOT_STATED_SHARE:
            rows.append((rng.choice(one.missing), right, "not_stated"))
        else:
            rows.append((document, wrong, one.wrong))
        group = digest(document)
        for text, statement, label in rows:
            yield Example(
                text,
                statement,
                label,
                one.kind,
                f"{one.kind}/{make.__name__}",
                group,
                paired=True,
                topic=make.__name__,
            )


def scenarios(*makers: Maker) -> Callable[[random.Random, int], Iterator[Example]]:
    """Return a generator of rows of some scenarios."""

    def make(rng: random.Random, most: int) -> Iterator[Example]:
        yield from rows_of(makers, rng, most)

    make.__name__ = makers[0].__name__
    make.__module__ = makers[0].__module__
    return make
