"""Aggregation of claim verdicts to one verdict on the response.

Source: Hu et al. 2024 (RefChecker), section 4.3. The published rules are functions of labels. A
rule of the scorer ``claims`` returns a risk, also from probabilities, and agrees with the published
rule on labels. No function modifies its arguments.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple, TypeVar

import numpy as np

from veridical.core.protocols import LABELS
from veridical.errors import UsageError, unknown_name

if TYPE_CHECKING:
    from veridical.arrays import Floats


ABSTAIN = "abstain"
#: Risk weight of each class, in the order of ``LABELS``: 0, 1/2 and 1. Those of the paper
#: (section 4.3) are 1, 0 and -1.
WEIGHTS = (0.0, 0.5, 1.0)

Rule = Callable[["Judged"], float]
_R = TypeVar("_R", bound=Rule)


class Rates(NamedTuple):
    """Shares of the classes among a response's claims, in [0, 1].

    ``abstain`` is 1 for a response without claims, whose other shares are 0.
    """

    entailment: float
    neutral: float
    contradiction: float
    abstain: float

    @property
    def hallucination(self) -> float:
        """Return the share of claims that are not entailed."""
        return self.neutral + self.contradiction


def strict(labels: Sequence[str]) -> str:
    """Return the worst label: contradiction, else neutral, else entailment.

    Without claims it is ``abstain``.

    Raises:
        ValueError: a label is not in :data:`LABELS`.

    >>> strict(["entailment", "contradiction", "neutral"])
    'contradiction'
    """
    return max(_known(labels), key=LABELS.index, default=ABSTAIN)


def major(labels: Sequence[str]) -> str:
    """Return the most common label; in a tie, the worst (as published: the first).

    Without claims it is ``abstain``.

    Raises:
        ValueError: a label is not in :data:`LABELS`.

    >>> major(["neutral", "contradiction"])
    'contradiction'
    """
    counts = Counter(_known(labels))
    most = max(counts.values(), default=0)
    return strict([label for label, n in counts.items() if n == most])


def soft(labels: Sequence[str]) -> Rates:
    """Return the share of each label.

    Raises:
        ValueError: a label is not in :data:`LABELS`.

    >>> soft(["entailment", "neutral"])
    Rates(entailment=0.5, neutral=0.5, contradiction=0.0, abstain=0.0)
    """
    counts, total = Counter(_known(labels)), len(labels)
    e, n, c = (counts[label] / max(total, 1) for label in LABELS)
    return Rates(e, n, c, float(total == 0))


class Judged(NamedTuple):
    """Verdicts on the claims of one response (n of them, at least one).

    Attributes:
        labels: (n,) classes.
        probabilities: (n, 3) in the order of :data:`LABELS`; read-only.
        weights: risk weights of the classes, in the same order.
    """

    labels: tuple[str, ...]
    probabilities: Floats
    weights: tuple[float, float, float] = WEIGHTS

    @property
    def risks(self) -> Floats:
        """Return the (n,) probabilities that the claims are not entailed."""
        risks: Floats = 1 - self.probabilities[:, 0]
        return risks


_RULES: dict[str, Rule] = {}


def rule(name: str) -> Callable[[_R], _R]:
    """Register a custom rule ``Judged -> risk`` in [0, 1], used by ``aggregate=name``.

    Registering another function under the same name is an error; reloading the same one is not.
    """

    def register(function: _R) -> _R:
        old = _RULES.get(name)
        if old is not None and _place(old) != _place(function):
            raise UsageError(f"claim rule {name!r} is registered twice")
        _RULES[name] = function
        return function

    return register


def find_rule(name: str) -> Rule:
    """Return the rule called ``name``.

    Raises:
        UsageError: there is no rule of that name.
    """
    if name not in _RULES:
        raise unknown_name("claim rule", name, _RULES)
    return _RULES[name]


@rule("strict")
def _worst(judged: Judged) -> float:
    return float(judged.risks.max())


@rule("soft")
def _mean(judged: Judged) -> float:
    return float(judged.risks.mean())


@rule("major")
def _median(judged: Judged) -> float:
    """Return the median risk; for an even number, the mean of the middle two."""
    return float(np.median(judged.risks))


@rule("rate")
def _rate(judged: Judged) -> float:
    """Return the published hallucination rate: the share of claims not labelled entailment."""
    return float(np.mean([label != LABELS[0] for label in judged.labels]))


@rule("weighted")
def _weighted(judged: Judged) -> float:
    return float((judged.probabilities @ np.array(judged.weights)).mean())


def risk_of(judged: Judged, name: str) -> float:
    """Compute the response's risk by the rule called ``name``.

    Raises:
        UsageError: there is no such rule, or its result is not a number in [0, 1].
    """
    risk = find_rule(name)(judged)
    try:
        value = float(risk)
    except (TypeError, ValueError):
        value = math.nan
    if not -1e-9 <= value <= 1 + 1e-9:
        raise UsageError(f"the claim rule {name!r} must return a risk from 0 to 1, not {risk!r}")
    return min(1.0, max(0.0, value))


def _place(function: Rule) -> tuple[str, str]:
    return function.__module__, function.__qualname__


def _known(labels: Sequence[str]) -> Sequence[str]:
    for label in labels:
        if label not in LABELS:
            raise ValueError(f"a claim's label must be one of {', '.join(LABELS)}, not {label!r}")
    return labels
