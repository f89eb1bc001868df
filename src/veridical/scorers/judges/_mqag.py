"""Multiple-choice question answering and generation (MQAG): arithmetic and questions.

Source: Manakul et al. 2023, SelfCheckGPT, section 5.2 and appendix B. The distances are those of
MQAG (Manakul et al. 2023, arXiv:2301.12307), by their textbook definitions.
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
_SMOOTHING = 1e-12  # added to probabilities before taking logarithms


@dataclass(frozen=True)
class Question:
    """A question with two to four different options."""

    text: str
    options: tuple[str, ...]

    @classmethod
    def of(cls, text: str, options: Iterable[str]) -> Question | None:
        """Build a question; None if the text is blank or fewer than two options remain.

        Blank, repeated and surplus options beyond the fourth are dropped. The published code fills
        up to four by repeating the last option. Equal options are equally likely, so the choice
        among the others is the same.
        """
        distinct = tuple(dict.fromkeys(o.strip() for o in options if o.strip()))[:OPTIONS]
        text = text.strip()
        return cls(text, distinct) if text and len(distinct) > 1 else None


class QuestionSystem(Protocol):
    """A system that generates questions about sentences and answers them from other texts.

    Attributes:
        parts: models with their revisions, or prompts with their versions.
        troubles: errors of all replies that could not be read.
    """

    parts: list[str]
    troubles: list[LlmError]

    async def questions(
        self, passage: str, sentences: Sequence[str], count: int
    ) -> list[list[Question]]:
        """Generate at most ``count`` questions about each sentence of ``passage``."""
        ...

    async def choose(self, questions: Sequence[tuple[str, Question]]) -> list[Floats]:
        """Return the probabilities of the options of each (passage, question)."""
        ...

    async def answerable(self, questions: Sequence[tuple[str, Question]]) -> list[float]:
        """Return, for each, the probability that the passage answers the question."""
        ...


def counting(matches: float, mismatches: float) -> float:
    """Return ``N_n / (N_m + N_n)``; 0.5 if both are 0, as nothing is known then.

    >>> counting(3, 1)
    0.25
    """
    total = matches + mismatches
    return mismatches / total if total else 0.5


def bayes(matches: float, mismatches: float, beta1: float, beta2: float) -> float:
    """Compute P(non-factual | matches, mismatches) (eq. 5, 19 and 21), in (0, 1).

    The formula is ``g2^N_n / (g1^N_m + g2^N_n)`` with ``g1 = beta2 / (1 - beta1)`` and ``g2 = beta1
    / (1 - beta2)``, in a form that does not overflow.

    Args:
        matches, mismatches: counts, or sums of answerabilities (eq. 20).
        beta1: probability of a different answer if the sentence is non-factual, in (0, 1).
        beta2: probability of the same answer if it is factual, in (0, 1).

    Raises:
        UsageError: ``beta1`` or ``beta2`` is not between 0 and 1.

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
    """Compute ``sum p ln(p / q)`` of smoothed probabilities, at least 0, in nats."""
    p, q = p + _SMOOTHING, q + _SMOOTHING
    p, q = p / p.sum(), q / q.sum()
    return max(0.0, float((p * np.log(p / q)).sum()))


def hellinger(p: Floats, q: Floats) -> float:
    """Compute ``sqrt(sum (sqrt p - sqrt q)^2 / 2)``, in [0, 1].

    The published code omits the root.
    """
    return min(1.0, math.sqrt(float(((np.sqrt(p) - np.sqrt(q)) ** 2).sum()) / 2))


def total_variation(p: Floats, q: Floats) -> float:
    """Compute ``sum |p - q| / 2``, in [0, 1].

    The published code takes the largest difference.
    """
    return min(1.0, float(np.abs(p - q).sum()) / 2)
