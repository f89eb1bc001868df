"""Hidden states of labelled pairs, computed as at inference."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from veridical.claims.engine_work import run_work
from veridical.core.records import Record
from veridical.engine.engine import Engine
from veridical.errors import ModelError
from veridical_lab.repc.prompt import Template, pieces, template

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from veridical.core.evidence import Evidence
    from veridical_lab.training.labelled_pairs import LabelledPairs


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
        """Return the states of the pairs from ``start`` to ``stop``."""
        part = slice(start, stop)
        return replace(self, x=self.x[part], read=self.read[part])


def gather(
    data: LabelledPairs,
    proxy: str,
    *,
    store: Path | str | None = None,
    progress: Callable[[int], None] | None = None,
    **options: Any,
) -> States:
    """Compute the states of each pair after all layers of the language model ``proxy``.

    Args:
        store: folder that caches them.
        progress: called after each pair with the number done.
        options: of the :class:`~veridical.engine.engine.Engine`.

    Raises:
        UsageError: ``proxy`` names no model.
        ModelError: it cannot be loaded, returns no hidden states, or could read no pair.
    """
    hidden: dict[int, NDArray[np.float32]] = {}
    missing: Counter[str] = Counter()
    frames: list[Template] = []
    names: list[tuple[str, str]] = []

    async def work(record: Record, evidence: Evidence) -> None:
        if not frames:
            frames.append(await template(evidence, proxy))
            names.append(await evidence.proxy_identity(proxy))
        try:
            text = pieces(frames[0], record.contexts[0].text, record.response)
            hidden[record.row] = (await evidence.hidden([text], proxy))[0]
        except ModelError as e:
            missing[str(e)] += 1
        if progress is not None:
            progress(len(hidden) + missing.total())

    records = [Record(response=p.hypothesis, contexts=[p.premise]) for p in data.pairs]
    with Engine(proxy=proxy, store=store, processes=0, **options) as engine:
        run_work(engine, records, work, {"probabilities"}, {"proxy": [proxy]})
    if not hidden:
        reasons = "; ".join(missing) or "no pairs"
        raise ModelError(f"{proxy} could read no pair: {reasons}")
    x = np.zeros((len(records), *next(iter(hidden.values())).shape), np.float32)
    read = np.zeros(len(records), np.bool_)
    for row, states in hidden.items():
        x[row], read[row] = states, True
    return States(x, read, dict(missing.most_common()), *names[0])
