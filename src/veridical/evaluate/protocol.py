"""Which items of a suite are judged: parts, splits, the quick protocol's seeded draw, a limit."""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, get_args

from veridical.errors import UsageError
from veridical.evaluate.datasets.suite import BadItem, Item, Labelled, Options, Suite, Task
from veridical.records import Against
from veridical.registry import REGISTRY, BoundScorer, resolve

Scorers = str | Iterable[str | BoundScorer] | None
Protocol = Literal["quick", "full"]
#: The split that stands for the last 20 % of each part, where the suite marks it.
HELDOUT = "heldout"


@dataclass
class Chosen:
    """The items of one suite that a benchmark judges, in record order, and the rows that are none.

    ``taken`` says of each part that was drawn from how many groups were taken of how many.
    """

    items: list[Item]
    bad: list[BadItem]
    taken: dict[str, tuple[int, int]] = field(default_factory=dict)


def choose(
    suite: Suite,
    path: Path,
    *,
    options: Options,
    splits: Sequence[str] = (),
    protocol: Protocol = "quick",
    limit: int | None = None,
    seed: int = 0,
) -> Chosen:
    """Load the data and keep what the protocol asks for.

    The quick protocol takes at most ``suite.quick`` whole groups of a part, drawn by ``seed``.
    ``limit`` keeps the first so many items of each part.

    Raises:
        UsageError: the data holds no valid item, or not what ``splits`` asks for.
    """
    items: list[Item] = []
    bad: list[BadItem] = []
    for found in suite.load(path, options):
        if isinstance(found, Item):
            items.append(found)
        else:
            bad.append(found)
    if not items:
        first = f"; the first of {len(bad)} bad rows: {bad[0].error}" if bad else ""
        raise UsageError(
            f"{path}: no valid item for {suite.name!r}, which needs {suite.needs}{first}"
        )
    if HELDOUT in splits:
        items = [i for i in items if i.facets.get(HELDOUT)]
        if not items:
            raise UsageError(f"suite {suite.name!r} marks no held-out items")
    items, bad = _parts_named(items, bad, splits)
    chosen = Chosen(items, bad)
    if protocol == "quick" and suite.quick is not None:
        chosen = _draw(chosen, suite, seed)
    if limit is not None:
        seen: dict[str, int] = {}
        kept = []
        for item in chosen.items:
            seen[item.part] = seen.get(item.part, 0) + 1
            if seen[item.part] <= limit:
                kept.append(item)
        chosen.items = kept
    return chosen


def pick_tasks(suite: Suite, labelled: Labelled, splits: Sequence[str]) -> list[Task]:
    """The suite's tasks, or those of the named splits and of all splits of named parts.

    Raises:
        UsageError: a name that is neither.
    """
    tasks = suite.tasks(labelled)
    names = [s for s in splits if s != HELDOUT]
    parts = set(labelled.parts.tolist())
    known = {t.split for t in tasks} | parts
    for name in names:
        if name not in known:
            raise UsageError(
                f"suite {suite.name!r} has no split {name!r} in this data; it has: "
                f"{', '.join(sorted(known))}"
            )
    if not names or any(n in parts for n in names):
        return tasks  # items of other parts are gone already, and their tasks with them
    return [t for t in tasks if t.split in names]


def bind(suite: Suite, scorers: Scorers) -> tuple[list[BoundScorer], list[str]]:
    """The scorers to run on a suite, and the keys of those that make the record's one risk.

    Named scorers are set to compare with what the suite has, where their default would not apply
    and nothing else is asked for. By default it is what ``check`` would use, and those scorers
    that can be set so once more; the risk is made as ``check`` makes it, without the latter.
    """
    base = resolve(scorers)
    fitted = [_fitted(b, suite) for b in base]
    if scorers is not None:
        bound = resolve(fitted)
        return bound, [b.key for b in bound]
    extra = [f for f, b in zip(fitted, base, strict=True) if f.key != b.key]
    return base + extra, [b.key for b in base]


def _fitted(bound: BoundScorer, suite: Suite) -> BoundScorer:
    default = bound.scorer.parameters["against"].default if bound.scorer.comparisons else None
    if (
        suite.against is None
        or suite.against not in bound.scorer.comparisons
        or default not in get_args(Against)
        or default == suite.against
        or "against" in bound.arguments
    ):
        return bound
    arguments = {"against": suite.against, **bound.arguments}
    return REGISTRY.bind(bound.scorer.name, arguments)


def _parts_named(
    items: list[Item], bad: list[BadItem], splits: Sequence[str]
) -> tuple[list[Item], list[BadItem]]:
    parts = {i.part for i in items}
    wanted = [s for s in splits if s in parts]
    if not wanted:
        return items, bad
    return (
        [i for i in items if i.part in wanted],
        [b for b in bad if b.part in wanted],
    )


def _draw(chosen: Chosen, suite: Suite, seed: int) -> Chosen:
    assert suite.quick is not None
    groups: dict[str, dict[str, None]] = {}
    for item in chosen.items:
        groups.setdefault(item.part, {})[item.group] = None
    kept: dict[str, set[str]] = {}
    taken: dict[str, tuple[int, int]] = {}
    for part, names in groups.items():
        order = list(names)
        if len(order) > suite.quick:
            taken[part] = (suite.quick, len(order))
            order = random.Random(f"{seed}/{suite.name}/{part}").sample(order, suite.quick)
        kept[part] = set(order)
    return Chosen([i for i in chosen.items if i.group in kept[i.part]], chosen.bad, taken)
