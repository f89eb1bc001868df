"""The record's one risk: a frozen, label-free combination of whatever scorers applied.

Each scorer's risk becomes its quantile in a shipped table, so that scorers with different
scales can be averaged; scorers are averaged within their family first, then families, so that
five variants of one idea do not outvote another. No labels are used, and nothing depends on the
other records of a run.
"""

from __future__ import annotations

import bisect
import json
from collections.abc import Mapping, Sequence
from functools import cache, lru_cache
from importlib.resources import files
from typing import Any, NamedTuple

from veridical.core.identity import Identity

NAME = "quantile_mean"
#: Raised with every change to the tables.
VERSION = 2
#: The scorer whose risk is the record's where a run has it.
ENSEMBLE = "ensemble"
#: The scorer that asks others tier by tier; the same holds for it.
CASCADE = "cascade"


class QuantileTable(NamedTuple):
    """Strictly increasing ``risks`` in [0, 1] and the ``quantiles`` they stand at."""

    family: str
    risks: list[float]
    quantiles: list[float]

    def __call__(self, risk: float) -> float:
        """The quantile of ``risk``, linear between the table's points."""
        i = bisect.bisect_right(self.risks, risk)
        if i == 0:
            return self.quantiles[0]
        if i == len(self.risks):
            return self.quantiles[-1]
        x0, x1 = self.risks[i - 1], self.risks[i]
        y0, y1 = self.quantiles[i - 1], self.quantiles[i]
        return y0 + (y1 - y0) * (risk - x0) / (x1 - x0)


class Tables(NamedTuple):
    """One scorer's tables, each for a number of samples: with more samples, risks spread
    otherwise. Scorers that use none have a single one."""

    samples: list[int]
    tables: list[QuantileTable]

    def at(self, samples: int) -> QuantileTable:
        """The table fitted at the nearest number of samples, by ratio."""
        i = bisect.bisect_left(self.samples, samples)
        if i == len(self.samples):
            return self.tables[-1]
        nearer_below = i > 0 and samples * samples < self.samples[i - 1] * self.samples[i]
        return self.tables[i - 1 if nearer_below else i]


@cache
def _shipped() -> dict[str, Any]:
    text = files("veridical.engine").joinpath("quantiles.json").read_text("utf-8")
    shipped: dict[str, Any] = json.loads(text)
    return shipped


def fitted_on() -> list[str]:
    """Names of the data whose texts, without labels, the tables were fitted on."""
    return list(_shipped()["fitted_on"])


@cache
def tables() -> dict[str, Tables]:
    """Shipped tables by scorer key."""
    return {
        name: Tables(
            [int(n) for n in entry["by_samples"]],
            [QuantileTable(entry["family"], *columns) for columns in entry["by_samples"].values()],
        )
        for name, entry in _shipped()["tables"].items()
    }


def table_of(scorer: Identity, samples: int) -> QuantileTable | None:
    """The table for a scorer's risks of a record with that many samples: that of its key, else of
    its name; None where it has none."""
    known = tables()
    entry = known.get(str(scorer)) or known.get(scorer.name)
    return None if entry is None else entry.at(samples)


def combine(
    risks: Mapping[Identity, float | None], samples: int
) -> tuple[float | None, str | None]:
    """The record's risk and the name of what made it, from each scorer's risk (None: not scored)
    and the number of samples the record has.

    Where ``ensemble`` or ``cascade`` is among them, the risk is its own: that of a tuned one,
    whatever the others say; that of the shipped one, where it has any. Else a run with one scorer
    has that scorer's own risk. Of several, those with a table count; if none of the scored ones
    has a table, the plain mean of their risks does.
    """
    return _combiner(tuple(risks), samples)(tuple(risks.values()))


class _Combiner:
    """:func:`combine` of the same scorers, time and again: for each sentence of each record."""

    def __init__(self, scorers: tuple[Identity, ...], samples: int) -> None:
        ensembles = [s for s in scorers if s.name in (ENSEMBLE, CASCADE)]
        tuned = [s for s in ensembles if s.name == CASCADE or s.names("file")]
        self._scorers = scorers
        self._first = scorers.index((tuned or ensembles)[0]) if ensembles else None
        self._tuned = bool(tuned)
        #: Places of the scorers whose risks are averaged, with their tables.
        self._tables = [
            (i, table_of(s, samples)) for i, s in enumerate(scorers) if s not in ensembles
        ]

    def __call__(self, risks: Sequence[float | None]) -> tuple[float | None, str | None]:
        if self._first is not None:
            risk = risks[self._first]
            if self._tuned or risk is not None:
                return self._own(self._first, risk)
        if len(self._tables) == 1:
            place = self._tables[0][0]
            return self._own(place, risks[place])
        families: dict[str, list[float]] = {}
        others: list[float] = []
        for place, table in self._tables:
            risk = risks[place]
            if risk is None:
                continue
            if table is None:
                others.append(risk)
            else:
                families.setdefault(table.family, []).append(table(risk))
        groups = list(families.values()) or ([others] if others else [])
        if not groups:
            return None, None
        return sum([sum(g) / len(g) for g in groups]) / len(groups), NAME

    def _own(self, place: int, risk: float | None) -> tuple[float | None, str | None]:
        return risk, None if risk is None else self._scorers[place].name


_combiner = lru_cache(maxsize=1024)(_Combiner)
