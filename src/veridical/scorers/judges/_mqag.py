"""Multiple-choice question answering and generation: the arithmetic, and what a question is.

Manakul et al. 2023, SelfCheckGPT, section 5.2 and appendix B; the distances are those of MQAG
(Manakul et al. 2023, arXiv:2301.12307), by their textbook definitions.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from veridical.arrays import Floats
from veridical.core.messages import LlmError
from veridical.errors import UsageError

OPTIONS = 4
_SMOOTHING = 1e-12  # of probabilities, before their logarithms are taken


@dataclass(frozen=True)
class Question:
    """A question and two to four answers to choose from, all different."""

    text: str
    options: tuple[str, ...]

    @classmethod
    def of(cls, text: str, options: Iterable[str]) -> Question | None:
        """None where there is no question, or nothing to choose between.

        Blank and repeated options are left out: as two that are equal always are equally likely,
        the choice among the rest is the one that the published code makes when it fills up to
        four by repeating the last. Options beyond the fourth are left out too.
        """
        distinct = tuple(dict.fromkeys(o.strip() for o in options if o.strip()))[:OPTIONS]
        text = text.strip()
        return cls(text, distinct) if text and len(distinct) > 1 else None


class QuestionSystem(Protocol):
    """Writes questions about sentences, and answers them by other texts.

    Attributes:
        parts: models with their revisions, or prompts with their versions.
        troubles: of all its replies that could not be read.
    """

    parts: list[str]
    troubles: list[LlmError]

    async def questions(
        self, passage: str, sentences: Sequence[str], count: int
    ) -> list[list[Question]]:
        """At most ``count`` questions about each sentence of ``passage``."""
        ...

    async def choose(self, questions: Sequence[tuple[str, Question]]) -> list[Floats]:
        """Probabilities of the options of each (passage, question)."""
        ...

    async def answerable(self, questions: Sequence[tuple[str, Question]]) -> list[float]:
        """Probability that the passage answers the question, for each."""
        ...


def counting(matches: float, mismatches: float) -> float:
    """``N_n / (N_m + N_n)``; 0.5 where both are 0, as nothing is known then.

    >>> counting(3, 1)
    0.25
    """
    total = matches + mismatches
    return mismatches / total if total else 0.5


def bayes(matches: float, mismatches: float, beta1: float, beta2: float) -> float:
    """P(non-factual | matches, mismatches) (eq. 5, 19 and 21), in (0, 1).

    ``g2^N_n / (g1^N_m + g2^N_n)`` with ``g1 = beta2 / (1 - beta1)``, ``g2 = beta1 / (1 - beta2)``,
    in a form that does not overflow.

    Args:
        matches, mismatches: counts, or sums of answerabilities (eq. 20).
        beta1: probability of another answer where the sentence is non-factual, in (0, 1).
        beta2: probability of the same answer where it is factual, in (0, 1).

    Raises:
        UsageError: a probability is not between 0 and 1.

    >>> round(bayes(1, 2, 0.8, 0.8), 3)  # 16 / (4 + 16)
    0.8
    """
    if not (0 < beta1 < 1 and 0 < beta2 < 1):
        raise UsageError(f"beta1 and beta2 must lie between 0 and 1, not {beta1} and {beta2}")
    gamma1, gamma2 = beta2 / (1 - beta1), beta1 / (1 - beta2)
    odds = mismatches * math.log(gamma2) - matches * math.log(gamma1)
    power = math.exp(-abs(odds))
    return 1 / (1 + power) if odds >= 0 else power / (1 + power)


def kl_divergence(p: Floats, q: Floats) -> float:
    """``sum p ln(p / q)`` of smoothed probabilities, at least 0, in nats."""
    p, q = p + _SMOOTHING, q + _SMOOTHING
    p, q = p / p.sum(), q / q.sum()
    return max(0.0, float((p * np.log(p / q)).sum()))


def hellinger(p: Floats, q: Floats) -> float:
    """``sqrt(sum (sqrt p - sqrt q)^2 / 2)``, in [0, 1]. (The published code takes no root.)"""
    return min(1.0, math.sqrt(float(((np.sqrt(p) - np.sqrt(q)) ** 2).sum()) / 2))


def total_variation(p: Floats, q: Floats) -> float:
    """``sum |p - q| / 2``, in [0, 1]. (The published code takes the largest difference.)"""
    return min(1.0, float(np.abs(p - q).sum()) / 2)
