"""Adaptive sampling: a sequential test that stops once the decision is certain.

A model-free scorer compares sample i of a record with its response, with that sample as the only
evidence: a disagreement x_i in [0, 1]. The decision is whether the mean of all ``most`` of them
exceeds the threshold. The samples are exchangeable, so the first k are a sample without replacement
from the ``most``, for any distribution, and

    K+_k = mean over c of prod_{i<=k} (1 + c (x_i - m_i) / m_i)
    K-_k = mean over c of prod_{i<=k} (1 + c (m_i - x_i) / (1 - m_i)),   c = 4/8, 5/8 .. 1,
    m_i  = (most * threshold - (x_1 + .. + x_{i-1})) / (most - i + 1)

are non-negative supermartingales that start at 1 under "mean <= threshold" and "mean >= threshold"
respectively. m_i is the largest (smallest) possible mean of the rest. By Ville's
inequality either reaches 1/alpha with probability at most alpha when its hypothesis is true, at any
time. Sampling stops when one has and the mean so far lies on that side. So with probability at
least 1 - alpha for each record, the decision is that of all ``most`` samples. (Waudby-Smith &
Ramdas 2024, "Estimating means of bounded random variables by betting", JRSS B 86(1), sections 4 and
5: betting, and sampling without replacement.)

For scorers whose risk is a mean over the samples (``exact_match``, ``rouge_l``, ``knowledge_f1``)
that decision is the scorer's own.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Literal

import numpy as np

from veridical.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from veridical.core.records import Record
    from veridical.core.registry import BoundScorer

Side = Literal["over", "under"]

_BETS = np.arange(4, 9) / 8
_ROUNDING = 1e-9


class SequentialTest:
    """The sequential test of one record, sample by sample.

    Args:
        most: maximum number of samples.
        threshold: threshold of the mean disagreement, in (0, 1).
        alpha: probability of a wrong early decision, in (0, 1).
    """

    def __init__(self, most: int, threshold: float, alpha: float) -> None:
        self.most = most
        self.threshold = threshold
        self.alpha = alpha
        self.drawn = 0
        self.total = 0.0
        self._over = np.ones(len(_BETS))
        self._under = np.ones(len(_BETS))

    def copy(self) -> SequentialTest:
        """Return a copy of the state, to test a continuation."""
        other = SequentialTest(self.most, self.threshold, self.alpha)
        other.drawn, other.total = self.drawn, self.total
        other._over, other._under = self._over.copy(), self._under.copy()
        return other

    def add(self, x: float) -> None:
        """Add the next disagreement, in [0, 1]."""
        left = self.most - self.drawn
        middle = (self.most * self.threshold - self.total) / left
        if _ROUNDING < middle < 1 - _ROUNDING:  # otherwise decided() returns a side
            self._over *= 1 + _BETS * (x - middle) / middle
            self._under *= 1 + _BETS * (middle - x) / (1 - middle)
        self.drawn += 1
        self.total += x

    def decided(self) -> Side | None:
        """Return the side of the decision, or None while it is open."""
        if not self.drawn:
            return None
        over = self.total / self.drawn > self.threshold
        if self.drawn == self.most:
            return "over" if over else "under"
        need = self.most * self.threshold - self.total
        # The rest cannot move the mean back.
        if need < -_ROUNDING:
            return "over"
        if need > self.most - self.drawn + _ROUNDING:
            return "under"
        wealth = self._over if over else self._under
        if wealth.mean() >= 1 / self.alpha:
            return "over" if over else "under"
        return None

    def least_more(self) -> int:
        """Return the minimum number of further samples before a decision is possible.

        Samples that all disagree, or all agree, decide soonest, so fewer samples would be useless.
        """
        best = self.most - self.drawn
        for x in (0.0, 1.0):
            trial = self.copy()
            for more in range(1, best):
                trial.add(x)
                if trial.decided() is not None:
                    best = more
                    break
        return best


@dataclass(frozen=True)
class Adaptive:
    """Limits of the number of samples per record, from ``least`` to ``most``.

    Attributes:
        scorer: model-free scorer of the disagreement, ``NAME`` or ``NAME(p=value)``.
        threshold: threshold of that scorer's risk.
        alpha: probability of a wrong early decision, for each record.
    """

    least: int
    most: int
    scorer: str = "rouge_l"
    threshold: float = 0.5
    alpha: float = 0.05

    def __post_init__(self) -> None:
        if not 1 <= self.least <= self.most:
            raise UsageError(
                f"--n takes LEAST:MOST with LEAST at least 1, not {self.least}:{self.most}"
            )
        if not 0 < self.threshold < 1:
            raise UsageError(f"threshold must be between 0 and 1, not {self.threshold}")
        if not 0 < self.alpha < 1:
            raise UsageError(f"alpha must be between 0 and 1, not {self.alpha}")
        _ = self._bound

    @cached_property
    def _bound(self) -> BoundScorer:
        from veridical.core.resolving import resolve

        bound, *others = resolve([self.scorer], against="samples")
        if others:
            raise UsageError(f"adaptive sampling takes one scorer, not {self.scorer!r}")
        if bound.arguments.get("against") != "samples" and "samples" not in bound.needs:
            raise UsageError(f"{bound.key} does not use samples; choose a scorer such as rouge_l")
        if bound.scorer.cost != "free":
            raise UsageError(
                f"{bound.key} needs a model; adaptive sampling takes a model-free "
                "scorer, such as rouge_l or exact_match(normalize=true)"
            )
        return bound

    def race(self) -> SequentialTest:
        """Start a test for one record."""
        return SequentialTest(self.most, self.threshold, self.alpha)

    def disagreements(self, record: Record, texts: Sequence[str]) -> list[float] | None:
        """Return the risk of ``record``'s response by each of ``texts`` as its only sample.

        The result is None if one has no score (a blank answer, for example), so no early decision
        is possible.
        """
        from veridical.core.evidence import score_locally
        from veridical.core.records import Sample

        risks = []
        for text in texts:
            alone = record.model_copy(update={"samples": (Sample(text=text),)})
            (score,) = score_locally(alone, [self._bound])
            if score.risk is None:
                return None
            risks.append(score.risk)
        return risks


def parse_count(text: str) -> tuple[int, int]:
    """Parse ``N`` or ``LEAST:MOST`` as (least, most).

    Raises:
        UsageError: the text is neither.
    """
    low, colon, high = text.partition(":")
    try:
        least = int(low)
        most = int(high) if colon else least
    except ValueError:
        raise UsageError(f"--n takes N, or LEAST:MOST such as 3:20, not {text!r}") from None
    if least < (1 if colon else 0) or most < least or most > LARGEST_N:
        raise UsageError(f"--n takes N, or LEAST:MOST such as 3:20, up to {LARGEST_N}, not {text}")
    return least, most


LARGEST_N = 1000
