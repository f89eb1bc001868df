"""Hidden states of labelled pairs, by the road that checking takes: same reader, engine, store."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from veridical.claims.repc.prompt import Template, pieces, template
from veridical.engine import Engine
from veridical.errors import ModelError, UsageError
from veridical.evidence.rundir import Rows
from veridical.io import open_source
from veridical.records import Record
from veridical.registry import BoundScorer, Scorer
from veridical.run import Progress, Task
from veridical.scores import Score

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from veridical.claims.labelled_pairs import LabelledPairs
    from veridical.errors import RowError
    from veridical.evidence import Evidence


@dataclass(frozen=True, eq=False)
class States:
    """Last hidden states of pairs.

    Attributes:
        x: (n, layers + 1, width) float32; rows of pairs that could not be read are zero.
        read: (n,) whether they could.
        missing: reason -> how many could not.
        name, revision: of the language model.
    """

    x: NDArray[np.float32]
    read: NDArray[np.bool_]
    missing: Mapping[str, int]
    name: str
    revision: str

    def take(self, start: int, stop: int) -> States:
        """Those of the pairs from ``start`` to ``stop``."""
        part = slice(start, stop)
        return replace(self, x=self.x[part], read=self.read[part])


class _NoSink:
    """Keeps no results."""

    def __init__(self) -> None:
        self.done = Rows()

    def write(self, row: int, line: bytes) -> None:
        """Nothing: what is wanted is kept as it comes."""

    def write_error(self, error: RowError) -> None:
        raise UsageError(str(error))


def gather(
    data: LabelledPairs,
    proxy: str,
    *,
    store: Path | str | None = None,
    progress: Callable[[int], None] | None = None,
    **options: Any,
) -> States:
    """States after all layers of the language model ``proxy``, of each pair.

    Args:
        store: folder that keeps them for another time.
        progress: told after each pair how many are done.
        options: of the :class:`~veridical.engine.Engine`.

    Raises:
        UsageError: ``proxy`` names no model.
        ModelError: it cannot be loaded, tells no hidden states, or could read no pair.
    """
    n = len(data.pairs)
    kept: dict[int, NDArray[np.float32]] = {}
    missing: Counter[str] = Counter()
    frames: list[Template] = []
    names: list[tuple[str, str]] = []

    async def function(record: Record, evidence: Evidence, *, proxy: str | None = None) -> Score:
        if not frames:
            frames.append(await template(evidence, proxy))
            names.append(await evidence.proxy_identity(proxy))
        try:
            text = pieces(frames[0], record.contexts[0].text, record.response)
            kept[record.row] = (await evidence.hidden([text], proxy))[0]
        except ModelError as e:
            missing[str(e)] += 1
        if progress is not None:
            progress(len(kept) + missing.total())
        return Score.of(0.0)

    scorer = Scorer(
        name="repc_states",
        function=function,
        level="response",
        needs=frozenset(),
        cost="probabilities",
        source="Hu 2024",
        raw_is="risk",
        raw_key=None,
        presets=frozenset(),
        version=1,
    )
    task = Task([BoundScorer(scorer, {"proxy": proxy})])
    records = [Record(response=p.hypothesis, contexts=[p.premise]) for p in data.pairs]
    with Engine(proxy=proxy, store=store, processes=0, **options) as engine:
        engine.models(task)
        services = engine.services(task)
        run = engine.run(open_source(records), task, _NoSink(), Progress(), services)
        engine.submit(run).result()
    if not kept:
        reasons = "; ".join(missing) or "no pairs"
        raise ModelError(f"{proxy} could read no pair: {reasons}")
    first = next(iter(kept.values()))
    x = np.zeros((n, *first.shape), np.float32)
    read = np.zeros(n, np.bool_)
    for row, states in kept.items():
        x[row], read[row] = states, True
    return States(x, read, dict(missing.most_common()), *names[0])
