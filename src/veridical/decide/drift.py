"""Drift: comparison of incoming risks with those of tuning.

A threshold is valid for answers like the graded ones. The distribution of each component's risks,
and of the ensemble's, is stored in the ensemble's file; later risks are compared with it, without
labels.

Sentences of one record, and answers to one prompt, are not independent: a test that assumed so
would find false drift. Each sample therefore counts for its effective size only: ``n`` divided by
the design effect (Kish 1965). The design effect is the variance of its distribution function
relative to that of n independent risks. It is estimated from the units' totals and averaged over
the tenths (as Rao and Scott 1981 correct chi-squared). The effective size is at least
``n^2 / sum m_u^2``, with m_u the size of unit u. This bound is exact if all risks of a unit are
equal, and is used for fewer than 20 units.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from veridical.arrays import Floats, Ints
from veridical.core.dependence import unit_of
from veridical.ensembles.ensemble_file import Ensemble, Reference, read
from veridical.ensembles.graded import numbered
from veridical.errors import UsageError

if TYPE_CHECKING:
    from veridical.core.records import Record
    from veridical.engine.results import RunResults


#: Maximum quantiles stored per scorer; fewer risks are stored individually.
QUANTILES = 501
#: Adjusted p-value below which a scorer's risks have drifted.
LEVEL = 0.05
_BINS = 10
_FEWEST_UNITS = 20  # minimum units for the estimate of a design effect
_DIGITS = 6  # decimals of a risk; smaller differences are ties
_MOST = 10_000  # maximum records of a run that are compared, evenly spaced


@dataclass(frozen=True)
class Drift:
    """Difference between a scorer's incoming risks and those of the tuning data.

    All attributes except the shares and counts are None if one side has no score.

    Attributes:
        n: incoming records, or sentences, that it scored.
        effective: number of independent ones for which these count, at most n.
        ks: largest difference of the two distribution functions (Kolmogorov-Smirnov), in [0, 1].
        p, p_holm: p-value of the difference, for this scorer and adjusted for the number of
            scorers (Holm 1979); conservative for tied risks.
        psi: population stability index ``sum_b (q_b - p_b) ln(q_b / p_b)`` over the tenths of the
            tuning data (Siddiqi 2006), 0.5 added to each count. A value below 0.1 is commonly
            taken as no shift, above 0.25 as a large one. Chance alone gives about
            ``9 / effective``.
        mean, mean_before: mean risk of incoming records, and in the tuning data.
        not_scored, not_scored_before: share without a score.
    """

    n: int
    effective: float
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
        """True if the risks changed by more than chance explains."""
        return self.p_holm is not None and self.p_holm < LEVEL

    def as_dict(self) -> dict[str, Any]:
        """Return the attributes and ``drifted`` in JSON form."""
        return {**asdict(self), "drifted": self.drifted}


def reference(risks: Mapping[str, Floats], groups: Ints | None = None) -> Reference:
    """Summarise the risks of the tuning data.

    Up to 501 risks of a scorer are stored to 6 decimals. More are stored as 501 quantiles at even
    steps from the least to the largest: the distribution function is then known to 0.001.

    Args:
        risks: scorer -> (n,) in [0, 1] of the same records or sentences; NaN is not scored.
        groups: (n,) the independent unit of each; None if all are independent.

    Raises:
        UsageError: there are no records, lengths differ, or a risk is outside [0, 1].
    """
    columns = {name: _risks(name, column, groups) for name, column in risks.items()}
    if len({len(c) for c in columns.values()}) != 1 or not len(next(iter(columns.values()))):
        sizes = ", ".join(f"{name} {len(c)}" for name, c in columns.items())
        raise UsageError(f"drift needs risks of the same records, got {sizes or 'none'}")
    quantiles, not_scored, effective = {}, {}, {}
    for name, column in columns.items():
        scored = np.sort(column[~np.isnan(column)])
        if len(scored) > QUANTILES:
            at = np.linspace(0, len(scored) - 1, QUANTILES).round().astype(np.int64)
            quantiles[name] = tuple(scored[at].tolist())
        else:
            quantiles[name] = tuple(scored.tolist())
        not_scored[name] = 1 - len(scored) / len(column)
        if groups is not None and len(scored):
            effective[name] = effective_size(column, groups)
    n = len(next(iter(columns.values())))
    return Reference(n=n, quantiles=quantiles, not_scored=not_scored, effective=effective)


def compare(
    before: Reference, incoming: Mapping[str, Floats], groups: Ints | None = None
) -> dict[str, Drift]:
    """Compare each scorer's incoming risks with the tuning data.

    Args:
        before: result of :func:`reference`.
        incoming: scorer -> (m,) risks in [0, 1]; NaN is not scored. Scorers that are not in
            ``before`` are ignored.
        groups: (m,) the independent unit of each; None if all are independent.

    Raises:
        UsageError: a scorer of ``before`` is missing, there are no records, or a risk is outside
            [0, 1].
    """
    from veridical.stats.comparisons import holm

    drifts = {}
    for name, quantiles in before.quantiles.items():
        if name not in incoming:
            raise UsageError(
                f"drift: no incoming risks of {name!r}, which the ensemble was tuned on"
            )
        column = _risks(name, incoming[name], groups)
        if not len(column):
            raise UsageError(f"drift: no incoming records of {name!r}")
        drifts[name] = _drift(name, np.array(quantiles), before, column, groups)
    adjusted = holm([d.p for d in drifts.values()])
    return {
        name: Drift(**{**asdict(d), "p_holm": p})
        for (name, d), p in zip(drifts.items(), adjusted, strict=True)
    }


def effective_size(risks: Floats, groups: Ints) -> float:
    """Return the number of independent risks that dependent ones count for.

    Args:
        risks: (n,); NaN is left out.
        groups: (n,) the independent unit of each.

    Returns:
        n divided by the design effect (see above), from ``n^2 / sum m_u^2`` to n; 0 if n is 0.
    """
    scored = ~np.isnan(risks)
    values = risks[scored]
    n = len(values)
    _, member, sizes = np.unique(groups[scored], return_inverse=True, return_counts=True)
    units = len(sizes)
    if units == n:
        return float(n)
    least = n**2 / float(np.sum(sizes.astype(np.float64) ** 2))
    cuts = np.unique(np.sort(values)[np.arange(1, _BINS) * n // _BINS])
    cuts = cuts[cuts < values.max()]
    if units < _FEWEST_UNITS or not len(cuts):
        return least
    clustered = independent = 0.0
    for cut in cuts:
        below = (values <= cut).astype(np.float64)
        share = float(below.mean())
        totals = np.bincount(member, weights=below - share)
        clustered += units / (units - 1) * float(totals @ totals)
        independent += n * share * (1 - share)
    return float(np.clip(n * independent / max(clustered, 1e-12), least, n))


def of_run(results: RunResults) -> dict[str, dict[str, Drift]]:
    """Run :func:`compare` for every tuned ensemble of a run with a stored reference.

    The result is by scorer: its components, and itself under ``ensemble``; by sentences for
    ensembles tuned on sentences. Of more than 10 000 records, 10 000 evenly spaced ones are used.
    """
    tuned = {}
    for bound in results.scorers:
        if bound.scorer.name in ("ensemble", "famd") and bound.values["file"] is not None:
            ensemble = read(bound.values["file"])[0]
            if ensemble.reference is not None:
                tuned[bound.key] = ensemble
    count = len(results) if tuned else 0
    if not count:
        return {}
    incoming = {key: _Incoming(ensemble) for key, ensemble in tuned.items()}
    step = -(-count // _MOST)
    lines = ((record, line) for record, line in results.records() if line is not None)
    units: list[str] = []
    for record, line in itertools.islice(lines, 0, None, step):
        scores = json.loads(line)["scores"]
        for key, risks in incoming.items():
            risks.add(len(units), record, scores[key])
        units.append(unit_of(record))
    groups = numbered(units)
    if not groups.any():  # a single prompt for all, without contexts, distinguishes nothing
        groups = np.arange(len(groups))
    return {key: risks.drift(groups) for key, risks in incoming.items()}


class _Incoming:
    """Risks of a run's records, or of their sentences, as an ensemble received them."""

    def __init__(self, ensemble: Ensemble) -> None:
        assert ensemble.reference is not None
        self._before = ensemble.reference
        self._of_sentences = ensemble.level == "sentence"
        self._columns: dict[str, list[float]] = {name: [] for name in self._before.quantiles}
        self._records: list[int] = []  # of each target

    def add(self, at: int, record: Record, score: Mapping[str, Any]) -> None:
        """Add the score of the record at index ``at``."""
        raw = score["raw"] or {}
        whole = {**raw.get("components", {}), "ensemble": score["risk"]}
        count = len(record.sentences) if self._of_sentences else 1
        each: Mapping[str, Sequence[float | None]] = {}
        if self._of_sentences:
            each = {**raw.get("sentences", {}), "ensemble": [u["risk"] for u in score["units"]]}
        for name, column in self._columns.items():
            risks = each.get(name, [whole.get(name)] * count)
            scored = [r for r in risks if r is not None]
            column += [*scored, *[float("nan")] * (count - len(scored))]
        self._records += [at] * count

    def drift(self, groups: Ints) -> dict[str, Drift]:
        """Return drift by scorer; ``groups`` (records,) has the independent unit of each."""
        columns = {name: np.array(column) for name, column in self._columns.items()}
        return compare(self._before, columns, groups[self._records])


def _drift(name: str, old: Floats, before: Reference, column: Floats, groups: Ints | None) -> Drift:
    missing = before.not_scored.get(name, 0.0)
    size = round(before.n * (1 - missing))
    new = np.sort(column[~np.isnan(column)])
    effective = float(len(new)) if groups is None else effective_size(column, groups)
    absent = 1 - len(new) / len(column)
    if not len(old) or not len(new) or not size:
        return Drift(len(new), effective, None, None, None, None, None, None, absent, missing)
    ks = ks_distance(old, new)
    return Drift(
        n=len(new),
        effective=effective,
        ks=ks,
        p=_p_value(ks, before.effective.get(name, size), effective),
        p_holm=None,
        psi=_psi(old, size, new),
        mean=float(new.mean()),
        mean_before=float(old.mean()),
        not_scored=absent,
        not_scored_before=missing,
    )


def ks_distance(a: Floats, b: Floats) -> float:
    """Return the largest difference of the distribution functions of two ascending samples."""
    at = np.concatenate([a, b])
    below_a = np.searchsorted(a, at, side="right") / len(a)
    below_b = np.searchsorted(b, at, side="right") / len(b)
    return float(np.abs(below_a - below_b).max())


def _p_value(ks: float, n: float, m: float) -> float:
    """Return the two-sided p-value, by the distribution for one sample of the harmonic size n m /
    (n + m) (Stephens 1970)."""
    from scipy.stats import kstwo

    return float(np.clip(kstwo.sf(ks, max(1, round(n * m / (n + m)))), 0.0, 1.0))


def _psi(old: Floats, size: int, new: Floats) -> float:
    """Return the population stability index. Bins are cut at the tenths of the old risks; a value
    shared by several tenths is a bin."""
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


def _risks(name: str, column: Floats, groups: Ints | None) -> Floats:
    values: Floats = np.asarray(column, dtype=np.float64).round(_DIGITS)
    if values.ndim != 1:
        raise UsageError(f"drift: risks of {name!r} are {values.shape}, not a vector")
    if groups is not None and groups.shape != values.shape:
        raise UsageError(f"drift: {len(groups)} groups for {len(values)} risks of {name!r}")
    bad = np.flatnonzero((values < 0) | (values > 1))
    if len(bad):
        raise UsageError(f"drift: risk {bad[0]} of {name!r} is {values[bad[0]]}, not in [0, 1]")
    return values
