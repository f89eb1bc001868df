"""The combined risk of a record: frozen and label-free.

Each scorer's risk is converted to its quantile in a shipped table, so that different scales can be
averaged. Scorers are averaged within their family first, then families, so that five variants of
one idea do not outweigh another. No labels are used, and no other records of the run.
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
#: Raised with every change of the tables.
VERSION = 2
#: Scorer whose risk is the record's risk if a run has it.
ENSEMBLE = "ensemble"
#: Scorer that runs others tier by tier; its risk has the same role.
CASCADE = "cascade"


class QuantileTable(NamedTuple):
    """Strictly increasing ``risks`` in [0, 1] and their ``quantiles``."""

    family: str
    risks: list[float]
    quantiles: list[float]

    def __call__(self, risk: float) -> float:
        """Return the quantile of ``risk``, linearly interpolated."""
        i = bisect.bisect_right(self.risks, risk)
        if i == 0:
            return self.quantiles[0]
        if i == len(self.risks):
            return self.quantiles[-1]
        x0, x1 = self.risks[i - 1], self.risks[i]
        y0, y1 = self.quantiles[i - 1], self.quantiles[i]
        return y0 + (y1 - y0) * (risk - x0) / (x1 - x0)


class Tables(NamedTuple):
    """One scorer's tables, each for a number of samples, as the distribution of risks depends on
    it. Scorers that use no samples have a single table."""

    samples: list[int]
    tables: list[QuantileTable]

    def at(self, samples: int) -> QuantileTable:
        """Return the table fitted at the nearest number of samples, by ratio."""
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
    """Return the names of the data sets whose texts, without labels, the tables were fitted on."""
    return list(_shipped()["fitted_on"])


@cache
def tables() -> dict[str, Tables]:
    """Return the shipped tables by scorer key."""
    return {
        name: Tables(
            [int(n) for n in entry["by_samples"]],
            [QuantileTable(entry["family"], *columns) for columns in entry["by_samples"].values()],
        )
        for name, entry in _shipped()["tables"].items()
    }


def table_of(scorer: Identity, samples: int) -> QuantileTable | None:
    """Return the table of a scorer for a record with this number of samples; None without one.

    The table is found by the scorer's key or else its name.
    """
    known = tables()
    entry = known.get(str(scorer)) or known.get(scorer.name)
    return None if entry is None else entry.at(samples)


def combine(
    risks: Mapping[Identity, float | None], samples: int
) -> tuple[float | None, str | None]:
    """Return the record's risk and the name of its source.

    If ``ensemble`` or ``cascade`` is among the scorers, its risk is used. That of a tuned one is
    always used, that of the shipped one if it has a risk. Otherwise a run with one scorer has that
    scorer's risk. Of several scorers, those with a table count; if no scored one has a table, the
    risk is the plain mean.

    Args:
        risks: each scorer's risk; None if it did not score the record.
        samples: number of samples of the record.
    """
    return _combiner(tuple(risks), samples)(tuple(risks.values()))


class _Combiner:
    """:func:`combine` for fixed scorers, applied to each sentence of each record."""

    def __init__(self, scorers: tuple[Identity, ...], samples: int) -> None:
        ensembles = [s for s in scorers if s.name in (ENSEMBLE, CASCADE)]
        tuned = [s for s in ensembles if s.name == CASCADE or s.names("file")]
        self._scorers = scorers
        self._first = scorers.index((tuned or ensembles)[0]) if ensembles else None
        self._tuned = bool(tuned)
        #: Indices of the scorers whose risks are averaged, with their tables.
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
