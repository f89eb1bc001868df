"""Thresholds with statistical guarantees on the accepted answers.

Two guarantees hold for answers exchangeable with the graded ones. They assume nothing about the
risk except that it was computed without these labels:

- ``ltt``, learn then test (Angelopoulos 2021): with probability 1 - delta over the graded answers,
  at most alpha **of the accepted answers** are hallucinated.
- ``crc``, conformal risk control (Angelopoulos 2024, theorem 1): on average, at most alpha **of all
  answers** are both accepted and hallucinated.

Learn then test goes up from the least risky answers (fixed sequence testing). Take a threshold
that accepts k graded answers, w of them hallucinated. The hypothesis that more than alpha of its
accepted answers are hallucinated has the exact p-value P(Binomial(k, alpha) <= w). The number of
answers that the first threshold accepts depends on n, alpha and delta only. Each further threshold
is tested while all before it were rejected, at the full level delta.

The thresholds are risks of the same data. This keeps the guarantee valid, even if the share of
hallucinated answers does not rise with the risk. Where the share crosses alpha it equals alpha, so
its average between two crossings is alpha too. The answers below the first bad threshold therefore
have Binomial(k, alpha) errors, however the graded answers fall between the crossings.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np

from veridical.arrays import Floats, Ints
from veridical.errors import UsageError, unknown_name
from veridical.stats.calibration import scored

Method = Literal["ltt", "crc"]

METHODS = ("ltt", "crc")
_DIGITS = 6  # decimals of a risk; smaller differences are ties
# The sequence starts where this many errors are allowed, if that is in the first quarter. A start
# at zero would end at the first error, a late one where the share is already too high.
_MOST_ERRORS = 8
_FIRST = 0.25


@dataclass(frozen=True)
class Guarantee:
    """Guarantee of a threshold, or the reason why there is no guarantee.

    Attributes:
        method: ltt or crc.
        alpha: allowed share of hallucinated answers.
        delta: probability that the guarantee fails; None for ``crc``, which holds on average.
        threshold: answers with ``risk <= threshold`` are accepted; None without a guarantee.
        reason: reason why there is no guarantee; None if there is one.
        n: graded answers used: independent ones that are scored.
        accepted: share of these that are accepted; None without a threshold, as are the next two.
        observed: the share that alpha limits, in these answers: the hallucinated of those accepted
            (``ltt``), or the accepted and hallucinated of all (``crc``).
        bound: upper bound of that share: the upper Clopper-Pearson limit at 1 - delta for this
            threshold alone (``ltt``), or its expected value (``crc``). At most alpha.
    """

    method: Method
    alpha: float
    delta: float | None
    threshold: float | None
    reason: str | None
    n: int
    accepted: float | None = None
    observed: float | None = None
    bound: float | None = None

    @property
    def statement(self) -> str:
        """The guarantee as one sentence for humans."""
        if self.threshold is None:
            return f"No guarantee: {self.reason}."
        of = f"Of answers with a risk up to {self.threshold:.4f},"
        if self.delta is None:
            return f"{of} those hallucinated are on average at most {self.alpha:g} of all."
        return f"{of} at most {self.alpha:g} are hallucinated, with probability {1 - self.delta:g}."

    def as_dict(self) -> dict[str, Any]:
        """Return the attributes in JSON form."""
        return asdict(self)


def guarantee(
    risk: Floats,
    labels: Floats,
    alpha: float,
    delta: float = 0.1,
    *,
    method: str = "ltt",
    groups: Ints | None = None,
    seed: int = 0,
) -> Guarantee:
    """Return the highest threshold with a guarantee, or the reason why there is no such threshold.

    Risks are rounded to 6 decimals. Ties are accepted or not as a whole; only if the sequence of
    tests starts within a tie is its order drawn.

    Args:
        risk: (n,) in [0, 1], of a scorer that was not fitted on these labels. NaN (not scored) is
            left out; such an answer is never accepted.
        labels: (n,) at least 0.5 for hallucinated.
        alpha, delta: between 0 and 1; ``crc`` does not use delta.
        method: ltt or crc, see above.
        groups: (n,) the independent unit of each answer. Answers of one unit are not independent
            evidence: a randomly drawn one counts, and the guarantee is about such answers.
        seed: seed of these draws.

    Raises:
        UsageError: there is no such method, alpha or delta is not between 0 and 1, or a risk,
            label or group is invalid.
    """
    _check(alpha, delta, method)
    values, truth = _independent(risk, labels, groups, seed)
    if method == "crc":
        return _crc(values, truth, alpha)
    return _ltt(values, truth, alpha, delta, seed)


def by_stratum(
    risk: Floats,
    labels: Floats,
    strata: Sequence[str],
    alpha: float,
    delta: float = 0.1,
    *,
    method: str = "ltt",
    groups: Ints | None = None,
    seed: int = 0,
    simultaneous: bool = False,
) -> dict[str, Guarantee]:
    """Compute :func:`guarantee` for each stratum from its own answers, in order of name.

    Args:
        simultaneous: all guarantees hold together with probability 1 - delta, instead of each
            separately: each of m is made at delta / m (Bonferroni). Strata with fewer answers
            than delta itself requires are not among the m; no label affects that.
    """
    if simultaneous and method != "ltt":
        raise UsageError(
            f"{method} holds on average and cannot hold for all strata together; use ltt"
        )
    _check(alpha, delta, method)
    risk, labels = np.asarray(risk), np.asarray(labels)
    names = np.array(strata, dtype=object)
    if len(names) != len(risk) or len(names) != len(labels):
        raise UsageError(f"{len(names)} strata for {len(risk)} risks and {len(labels)} labels")
    _check_groups(groups, len(risk))
    units = np.arange(len(risk)) if groups is None else np.asarray(groups)
    parts = {name: names == name for name in sorted(set(strata))}
    if simultaneous:
        known = ~np.isnan(risk)
        sizes = [len(np.unique(units[mask & known])) for mask in parts.values()]
        delta /= max(1, sum(n >= least_n(alpha, delta) for n in sizes))
    return {
        name: guarantee(
            *(risk[mask], labels[mask], alpha, delta), method=method, groups=units[mask], seed=seed
        )
        for name, mask in parts.items()
    }


def least_n(alpha: float, delta: float = 0.1, *, method: str = "ltt") -> int:
    """Return the number of independent graded answers below which there is no guarantee.

    ``ltt``: the least n with ``(1 - alpha)^n <= delta``, for which all answers must be right;
    ``crc``: the least n with ``alpha (n + 1) >= 1``.
    """
    _check(alpha, delta, method)
    if method == "crc":
        n = max(0, math.ceil(1 / alpha) - 1)
        return n if alpha * (n + 1) >= 1 else n + 1
    n = max(1, math.ceil(math.log(delta) / math.log1p(-alpha)))
    return n - 1 if n > 1 and (1 - alpha) ** (n - 1) <= delta else n


def _ltt(values: Floats, truth: Floats, alpha: float, delta: float, seed: int) -> Guarantee:
    from scipy.special import bdtr, betaincinv

    n, least = len(values), least_n(alpha, delta)
    if n < least:
        return Guarantee("ltt", alpha, delta, None, _too_few(n, least, alpha, delta), n)
    # the order within a tie is drawn, as that of the input may correlate with the labels
    order = np.lexsort((np.random.default_rng(seed).random(n), values))
    ordered, wrong = values[order], np.cumsum(truth[order])
    start, allowed = _start(n, alpha, delta)
    ends = np.flatnonzero(np.append(ordered[1:] > ordered[:-1], True)) + 1
    tested = np.append(start, ends[ends > start])
    safe = bdtr(wrong[tested - 1], tested, alpha) <= delta
    passed = tested if safe.all() else tested[: np.argmin(safe)]
    # the first number may fall within a tie, which cannot be split
    passed = passed[np.isin(passed, ends)]
    if not len(passed):
        errors_at_start = int(wrong[start - 1])
        reason = (
            f"{errors_at_start} of the {start} least risky answers hallucinated, {allowed} allowed"
        )
        if errors_at_start <= allowed:
            tied = int(np.count_nonzero(values == ordered[start - 1]))
            reason = f"{tied} answers share the risk {ordered[start - 1]:g}"
        reason = f"no threshold is safe: {reason}"
        return Guarantee("ltt", alpha, delta, None, reason, n)
    accepted = int(passed[-1])
    errors = float(wrong[accepted - 1])
    return Guarantee(
        "ltt",
        alpha,
        delta,
        _accepting(ordered, accepted),
        None,
        n,
        accepted=accepted / n,
        observed=errors / accepted,
        bound=float(betaincinv(errors + 1, accepted - errors, 1 - delta)),
    )


def _start(n: int, alpha: float, delta: float) -> tuple[int, int]:
    """Return how many of n answers the first threshold accepts, and how many errors it allows."""
    from scipy.special import bdtr

    first = least_n(alpha, delta), 0
    for errors in range(1, _MOST_ERRORS + 1):
        k = np.arange(errors + 1, int(_FIRST * n) + 1)
        enough = bdtr(errors, k, alpha) <= delta
        if not enough.any():
            break
        first = int(k[np.argmax(enough)]), errors
    return first


def _crc(values: Floats, truth: Floats, alpha: float) -> Guarantee:
    n, least = len(values), least_n(alpha, method="crc")
    if n < least:
        return Guarantee("crc", alpha, None, None, _too_few(n, least, alpha, None), n)
    ordered, wrong = np.sort(values), np.sort(values[truth > 0])
    allowed = math.floor(alpha * (n + 1) + 1e-9) - 1
    accepted = n if allowed >= len(wrong) else int(np.searchsorted(ordered, wrong[allowed]))
    if not accepted:
        tied = int(np.count_nonzero(wrong == wrong[0]))
        reason = f"no threshold is safe: {tied} of the answers with the least risk hallucinated"
        return Guarantee("crc", alpha, None, None, reason, n)
    threshold = _accepting(ordered, accepted)
    errors = int(np.count_nonzero(wrong <= threshold))
    return Guarantee(
        "crc",
        alpha,
        None,
        threshold,
        None,
        n,
        accepted=accepted / n,
        observed=errors / n,
        bound=(errors + 1) / (n + 1),
    )


def _accepting(ordered: Floats, k: int) -> float:
    """Return the highest threshold that accepts the first k, k >= 1, of the ascending risks.

    It has 6 decimals. The next risk is above it, whatever its last digits.
    """
    return 1.0 if k == len(ordered) else round(float(ordered[k]) - 10.0**-_DIGITS, _DIGITS)


def _independent(
    risk: Floats, labels: Floats, groups: Ints | None, seed: int
) -> tuple[Floats, Floats]:
    """Return scored risks, to 6 decimals, and labels, one answer per group."""
    values, truth = scored(risk, labels)
    _check_groups(groups, len(np.asarray(risk)))
    if groups is not None:
        units = np.asarray(groups)[~np.isnan(np.asarray(risk, dtype=np.float64))]
        mixed = np.random.default_rng(seed).permutation(len(units))
        one = np.sort(mixed[np.unique(units[mixed], return_index=True)[1]])
        values, truth = values[one], truth[one]
    return values.round(_DIGITS), truth


def _check(alpha: float, delta: float, method: str) -> None:
    if method not in METHODS:
        raise unknown_name("guarantee", method, METHODS)
    for name, value in (("alpha", alpha), ("delta", delta)):
        if not 0 < value < 1:
            raise UsageError(f"{name} must be between 0 and 1, not {value!r}")


def _check_groups(groups: Ints | None, n: int) -> None:
    if groups is not None and np.asarray(groups).shape != (n,):
        raise UsageError(f"groups {np.asarray(groups).shape} must be ({n},), as the risks are")


def _too_few(n: int, least: int, alpha: float, delta: float | None) -> str:
    demand = f"alpha {alpha:g}" if delta is None else f"alpha {alpha:g} and delta {delta:g}"
    return f"{n} independent graded answers are too few: {demand} require at least {least}"
