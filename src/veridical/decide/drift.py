"""Whether incoming scores are still those that the ensemble was tuned on.

A threshold holds for answers like the graded ones. The spread of each component's risks, and of
the ensemble's, is kept in the ensemble's file; later risks are compared with it, without labels.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from veridical.decide.ensemble_file import Reference, read
from veridical.errors import UsageError

if TYPE_CHECKING:
    from veridical.results import Results

Floats = NDArray[np.float64]

#: Most quantiles kept of a scorer; up to as many risks are kept as they are.
QUANTILES = 501
#: Adjusted p-value below which a scorer's risks have drifted.
LEVEL = 0.05
_BINS = 10
_DIGITS = 6  # risks that differ by less are ties
_MOST = 10_000  # records of a run that are compared, evenly spaced


@dataclass(frozen=True)
class Drift:
    """How a scorer's incoming risks differ from those of the tuning data.

    Attributes:
        n: incoming records that it scored.
        ks: largest difference of the two distribution functions (Kolmogorov-Smirnov), in [0, 1].
        p, p_holm: that such a difference is chance, for this scorer and adjusted for the number of
            scorers (Holm 1979); too large rather than too small where risks are tied.
        psi: population stability index ``sum_b (q_b - p_b) ln(q_b / p_b)`` over the tenths of the
            tuning data (Siddiqi 2006), 0.5 added to each count. Below 0.1 is commonly taken for no
            shift, above 0.25 for a large one; chance alone gives about ``9 / n``.
        mean, mean_before: mean risk of the incoming records and in the tuning data.
        not_scored, not_scored_before: share of records without a score.

    All but the shares and n are None where one side has no scored record.
    """

    n: int
    ks: float | None
    p: float | None
    p_holm: float | None
    psi: float | None
    mean: float | None
    mean_before: float | None
    not_scored: float
    not_scored_before: float

    @property
    def drifted(self) -> bool:
        """Whether the risks moved by more than chance explains."""
        return self.p_holm is not None and self.p_holm < LEVEL

    def as_dict(self) -> dict[str, Any]:
        """The attributes and ``drifted``, as JSON takes them."""
        return {**asdict(self), "drifted": self.drifted}


def reference(risks: Mapping[str, Floats]) -> Reference:
    """What is kept of the tuning data: all risks of a scorer, to 6 decimals, or 501 quantiles at
    even steps from the least to the largest where there are more (the distribution function is
    then known to 0.001).

    Args:
        risks: scorer -> (n,) in [0, 1] of the same records; NaN is not scored.

    Raises:
        UsageError: there are no records, lengths differ, or a risk is outside [0, 1].
    """
    columns = {name: _risks(name, column) for name, column in risks.items()}
    if len({len(c) for c in columns.values()}) != 1 or not len(next(iter(columns.values()))):
        sizes = ", ".join(f"{name} {len(c)}" for name, c in columns.items())
        raise UsageError(f"drift needs risks of the same records, got {sizes or 'none'}")
    quantiles, not_scored = {}, {}
    for name, column in columns.items():
        known = np.sort(column[~np.isnan(column)])
        if len(known) > QUANTILES:
            at = np.linspace(0, len(known) - 1, QUANTILES).round().astype(np.int64)
            quantiles[name] = tuple(known[at].tolist())
        else:
            quantiles[name] = tuple(known.tolist())
        not_scored[name] = 1 - len(known) / len(column)
    n = len(next(iter(columns.values())))
    return Reference(n=n, quantiles=quantiles, not_scored=not_scored)


def compare(before: Reference, incoming: Mapping[str, Floats]) -> dict[str, Drift]:
    """How each scorer of the tuning data does on incoming records.

    Args:
        before: of :func:`reference`.
        incoming: scorer -> (m,) risks in [0, 1]; NaN is not scored. Other scorers than those of
            ``before`` are ignored.

    Raises:
        UsageError: a scorer of ``before`` is missing, there are no records, or a risk is outside
            [0, 1].
    """
    from veridical.evaluate.comparisons import holm

    found = {}
    for name, quantiles in before.quantiles.items():
        if name not in incoming:
            raise UsageError(
                f"drift: no incoming risks of {name!r}, which the ensemble was tuned on"
            )
        column = _risks(name, incoming[name])
        if not len(column):
            raise UsageError(f"drift: no incoming records of {name!r}")
        missing = before.not_scored.get(name, 0.0)
        size = round(before.n * (1 - missing))
        found[name] = _drift(np.array(quantiles), size, missing, column)
    adjusted = holm([d.p for d in found.values()])
    return {
        name: Drift(**{**asdict(d), "p_holm": p})
        for (name, d), p in zip(found.items(), adjusted, strict=True)
    }


def of_run(results: Results) -> dict[str, dict[str, Drift]]:
    """:func:`compare` for every ensemble of a run that was tuned on responses and keeps its
    reference, by scorer: its components, and itself under ``ensemble``. Of more than 10 000
    records that many are taken, evenly spaced."""
    before = {}
    for bound in results.scorers:
        if bound.scorer.name == "ensemble" and bound.values["file"] is not None:
            tuned = read(bound.values["file"]).ensemble
            if tuned.level == "response" and tuned.reference is not None:
                before[bound.key] = tuned.reference
    count = len(results) if before else 0
    if not count:
        return {}
    columns: dict[str, dict[str, list[float]]]
    columns = {key: {name: [] for name in r.quantiles} for key, r in before.items()}
    step = -(-count // _MOST)
    for i, line in enumerate(results.lines()):
        if i % step == 0:
            scores = json.loads(line)["scores"]
            for key, column in columns.items():
                raw = scores[key]["raw"] or {}
                known = {**raw.get("components", {}), "ensemble": scores[key]["risk"]}
                for name, risks in column.items():
                    risk = known.get(name)
                    risks.append(float("nan") if risk is None else risk)
    return {
        key: compare(r, {name: np.array(risks) for name, risks in columns[key].items()})
        for key, r in before.items()
    }


def _drift(old: Floats, size: int, missing: float, column: Floats) -> Drift:
    new = np.sort(column[~np.isnan(column)])
    absent = 1 - len(new) / len(column)
    if not len(old) or not len(new) or not size:
        return Drift(len(new), None, None, None, None, None, None, absent, missing)
    ks = _ks(old, new)
    return Drift(
        n=len(new),
        ks=ks,
        p=_p_value(ks, size, len(new)),
        p_holm=None,
        psi=_psi(old, size, new),
        mean=float(new.mean()),
        mean_before=float(old.mean()),
        not_scored=absent,
        not_scored_before=missing,
    )


def _ks(a: Floats, b: Floats) -> float:
    """Largest difference of the distribution functions of two ascending samples."""
    at = np.concatenate([a, b])
    below_a = np.searchsorted(a, at, side="right") / len(a)
    below_b = np.searchsorted(b, at, side="right") / len(b)
    return float(np.abs(below_a - below_b).max())


def _p_value(ks: float, n: int, m: int) -> float:
    """Of a two-sided test, by the distribution for one sample of the harmonic size n m / (n + m)
    (Stephens 1970)."""
    from scipy.stats import kstwo

    return float(np.clip(kstwo.sf(ks, max(1, round(n * m / (n + m)))), 0.0, 1.0))


def _psi(old: Floats, size: int, new: Floats) -> float:
    """Bins are cut at the tenths of the old risks; a value that several tenths share is a bin."""
    tenths, times = np.unique(old[np.arange(1, _BINS) * len(old) // _BINS], return_counts=True)
    edges = np.unique(np.concatenate([tenths, np.nextafter(tenths[times > 1], np.inf)]))
    edges = edges[(edges > 0) & (edges <= 1)]
    bins = len(edges) + 1

    def shares(values: Floats, n: int) -> Floats:
        counts = np.bincount(np.searchsorted(edges, values, side="right"), minlength=bins)
        share: Floats = (counts / len(values) * n + 0.5) / (n + 0.5 * bins)
        return share

    p, q = shares(old, size), shares(new, len(new))
    return float(np.sum((q - p) * np.log(q / p)))


def _risks(name: str, column: Floats) -> Floats:
    values: Floats = np.asarray(column, dtype=np.float64).round(_DIGITS)
    if values.ndim != 1:
        raise UsageError(f"drift: risks of {name!r} are {values.shape}, not a vector")
    bad = np.flatnonzero((values < 0) | (values > 1))
    if len(bad):
        raise UsageError(f"drift: risk {bad[0]} of {name!r} is {values[bad[0]]}, not in [0, 1]")
    return values
