"""Selection of a suite's items: parts, splits, seeded draw and limit."""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import get_args

from veridical.core.options import Options
from veridical.core.records import Against, Record
from veridical.core.registry import REGISTRY, BoundScorer
from veridical.core.resolving import resolve
from veridical.errors import NotApplicable, UsageError
from veridical_lab.bench.datasets.suite import BadItem, Item, Labelled, Suite, Task
from veridical_lab.bench.options import BenchOptions

Scorers = str | Iterable[str | BoundScorer] | None
#: The split that stands for the last 20 % of each part, where the suite marks it.
HELDOUT = "heldout"


@dataclass
class Chosen:
    """Items of one suite that a benchmark judges, in record order, and the invalid rows.

    ``taken`` has for each part the number of groups (and bad rows) drawn, and of all.
    ``unlabelled`` counts the items of a part without any label; ``notes`` has further remarks.
    """

    items: list[Item]
    bad: list[BadItem]
    taken: dict[str, tuple[int, int]] = field(default_factory=dict)
    unlabelled: dict[str, int] = field(default_factory=dict)
    notes: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))


def choose(
    suite: Suite,
    path: Path,
    bench: BenchOptions,
    options: Options | None = None,
    *,
    labelled: bool = True,
) -> Chosen:
    """Load the data, by the suite's own ``options``, and keep what the protocol asks for.

    Items without any label are left out, unless they need not be ``labelled``. Also left out are
    items without the texts to compute scores ``against``, and with ``multi_sentence`` those of one
    sentence. ``limit`` is the maximum number of items of each part; the first are kept. Of the
    rest, the quick protocol takes at most ``suite.quick`` whole groups of a part, drawn by
    ``seed``. A bad row counts as an item and as a group of its own, so that neither changes the
    share of rows that failed.

    Raises:
        UsageError: the data holds no valid item, or not what ``splits`` asks for.
    """
    splits, against, limit = bench.splits, bench.against, bench.limit
    rows = list(suite.load(path, options))
    _must_have_items(rows, f"{path}: no valid item for {suite.name!r}, which needs {suite.needs}")
    if HELDOUT in splits:
        rows = [r for r in rows if r.facets.get(HELDOUT)]
        _must_have_items(rows, f"suite {suite.name!r} marks no held-out items")
    parts = {r.part for r in rows if isinstance(r, Item)}
    if not parts.isdisjoint(splits):
        rows = [r for r in rows if r.part in splits]
    notes: dict[str, list[str]] = defaultdict(list)
    unusable: Counter[str] = Counter()
    for row in rows:
        if isinstance(row, Item):
            unusable[row.part] += row.unusable
    for part, n in (+unusable).items():
        notes[part].append(f"{suite.unusable}, left out of {part}: {n:,}")
    unlabelled = Counter(
        r.part
        for r in rows
        if labelled and isinstance(r, Item) and not (_labelled(r) or r.unusable)
    )
    rows = [r for r in rows if not labelled or _labelled(r)]
    _must_have_items(rows, f"{path}: no item of {', '.join(sorted(unlabelled))} has a label")
    if against is not None:
        rows = _with(rows, lambda r: has(r.record, against), f"have {against}", notes)
        _must_have_items(rows, f"{path}: no item has {against}")
    if bench.multi_sentence:
        rows = _with(rows, _several_sentences, "have several sentences, and are taken", notes)
        _must_have_items(rows, f"{path}: no item has several sentences")
    if limit is not None:
        rows = _first(rows, limit)
        _must_have_items(rows, f"{path}: no valid item among the first {limit}")
    draws: dict[str, tuple[int, int]] = {}
    if bench.protocol == "quick" and suite.quick is not None:
        rows, draws = _draw(rows, suite.name, suite.quick, bench.seed)
    return Chosen(
        [r for r in rows if isinstance(r, Item)],
        [r for r in rows if isinstance(r, BadItem)],
        draws,
        dict(unlabelled),
        notes,
    )


def has(record: Record, against: Against) -> bool:
    """Return True if the record has the field that scores are computed ``against``."""
    try:
        record.against(against)
    except NotApplicable:
        return False
    return True


def pick_tasks(suite: Suite, labelled: Labelled, splits: Sequence[str]) -> list[Task]:
    """Return the suite's tasks, or those of the named splits and parts.

    Raises:
        UsageError: a name is neither a split nor a part.
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


def bind(
    suite: Suite,
    scorers: Scorers,
    llm: bool = False,
    against: Against | None = None,
    proxy: str | None = None,
    spans: str | None = None,
    answer: str | None = None,
    paper_forms: bool = False,
) -> tuple[list[BoundScorer], list[str]]:
    """Return the scorers to run on a suite, and the keys of those in the combined risk.

    Scorers with a choice are set to ``against``, if given. Otherwise named ones without other
    options compare with the suite's texts if their default would not apply or would vary between
    records. By default the scorers are those of ``check``, plus those that can also
    be set in this way. The combined risk is that of ``check``, without the latter. With ``llm``
    there is an LLM, so that the default may call it.
    """
    base = resolve(
        scorers,
        against=against,
        llm=llm,
        proxy=proxy,
        spans=spans,
        answer=answer,
        paper_forms=paper_forms,
    )
    if against is not None:
        return base, [b.key for b in base]
    fitted = [_fitted(b, suite) for b in base]
    if scorers is not None:
        bound = resolve(fitted)
        return bound, [b.key for b in bound]
    extra = [f for f, b in zip(fitted, base, strict=True) if f.key != b.key]
    return base + extra, [b.key for b in base]


def _fitted(bound: BoundScorer, suite: Suite) -> BoundScorer:
    default = bound.scorer.parameters["against"].default if bound.scorer.comparisons else None
    chooses = default not in get_args(Against)  # by record, contexts before all else
    if (
        suite.against is None
        or suite.against not in bound.scorer.comparisons
        or suite.against == ("contexts" if chooses else default)
        or "against" in bound.arguments
    ):
        return bound
    arguments = {"against": suite.against, **bound.arguments}
    return REGISTRY.bind(bound.scorer.name, arguments)


def _must_have_items(rows: Sequence[Item | BadItem], else_say: str) -> None:
    if not any(isinstance(r, Item) for r in rows):
        bad = [r for r in rows if isinstance(r, BadItem)]
        first = f"; the first of {len(bad)} bad rows: {bad[0].error}" if bad else ""
        raise UsageError(else_say + first)


def _labelled(row: Item | BadItem) -> bool:
    """Return True if there is a label; a bad row might have had one."""
    return isinstance(row, BadItem) or not (
        row.record.label is None and row.record.unit_labels is None
    )


def _several_sentences(item: Item) -> bool:
    return sum(bool(s.text.strip()) for s in item.record.sentences) > 1


def _with(
    rows: Sequence[Item | BadItem],
    keep: Callable[[Item], bool],
    what: str,
    notes: dict[str, list[str]],
) -> list[Item | BadItem]:
    """Bad rows, and the items to ``keep``; how many of each part they are is noted."""
    total = Counter(r.part for r in rows if isinstance(r, Item))
    passing = [r for r in rows if isinstance(r, BadItem) or keep(r)]
    remaining = Counter(r.part for r in passing if isinstance(r, Item))
    for part, n in total.items():
        notes[part].append(f"{remaining[part]:,} of {n:,} items of {part} {what}")
    return passing


def _first(rows: Sequence[Item | BadItem], limit: int) -> list[Item | BadItem]:
    counts: Counter[str] = Counter()
    first = []
    for row in rows:
        counts[row.part] += 1
        if counts[row.part] <= limit:
            first.append(row)
    return first


def _draw(
    rows: Sequence[Item | BadItem], suite: str, most: int, seed: int
) -> tuple[list[Item | BadItem], dict[str, tuple[int, int]]]:
    """Draw at most ``most`` groups of each part; also return the number drawn, and of all."""
    keys = [r.group if isinstance(r, Item) else number for number, r in enumerate(rows)]
    groups: dict[str, dict[str | int, None]] = {}
    for row, key in zip(rows, keys, strict=True):
        groups.setdefault(row.part, {})[key] = None
    chosen: dict[str, set[str | int]] = {}
    draws: dict[str, tuple[int, int]] = {}
    for part, names in groups.items():
        order = list(names)
        if len(order) > most:
            draws[part] = (most, len(order))
            order = random.Random(f"{seed}/{suite}/{part}").sample(order, most)
        chosen[part] = set(order)
    return [r for r, key in zip(rows, keys, strict=True) if key in chosen[r.part]], draws
