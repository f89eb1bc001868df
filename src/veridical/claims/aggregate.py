"""From verdicts on claims to one on the response.

Hu et al. 2024 (RefChecker), section 4.3. The published rules are functions of
labels; a rule of the scorer ``claims`` gives a risk, by probabilities too, and agrees with the
published one as far as labels go. Nothing here alters what it is given.
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
#: What a claim of each class is worth, in the order of ``LABELS``: risk 0, 1/2 and 1. The paper's
#: own (section 4.3) are 1, 0 and -1.
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
        """Share of claims that are not entailed."""
        return self.neutral + self.contradiction


def strict(labels: Sequence[str]) -> str:
    """``contradiction`` if any claim is, else ``neutral`` if any is, else ``entailment``;
    ``abstain`` where there is no claim.

    Raises:
        ValueError: a label is none of :data:`LABELS`.

    >>> strict(["entailment", "contradiction", "neutral"])
    'contradiction'
    """
    return max(_known(labels), key=LABELS.index, default=ABSTAIN)


def major(labels: Sequence[str]) -> str:
    """The most common label, the worst of equally common ones (as published: the first);
    ``abstain`` where there is no claim.

    Raises:
        ValueError: a label is none of :data:`LABELS`.

    >>> major(["neutral", "contradiction"])
    'contradiction'
    """
    counts = Counter(_known(labels))
    most = max(counts.values(), default=0)
    return strict([label for label, n in counts.items() if n == most])


def soft(labels: Sequence[str]) -> Rates:
    """The share of each label.

    Raises:
        ValueError: a label is none of :data:`LABELS`.

    >>> soft(["entailment", "neutral"])
    Rates(entailment=0.5, neutral=0.5, contradiction=0.0, abstain=0.0)
    """
    counts, total = Counter(_known(labels)), len(labels)
    e, n, c = (counts[label] / max(total, 1) for label in LABELS)
    return Rates(e, n, c, float(total == 0))


class Judged(NamedTuple):
    """The claims of one response (n of them, at least one) as they were judged.

    Attributes:
        labels: (n,) classes.
        probabilities: (n, 3) in the order of :data:`LABELS`; read-only.
        weights: what the classes are worth, in the same order.
    """

    labels: tuple[str, ...]
    probabilities: Floats
    weights: tuple[float, float, float] = WEIGHTS

    @property
    def risks(self) -> Floats:
        """(n,) probability that each claim is not entailed."""
        risks: Floats = 1 - self.probabilities[:, 0]
        return risks


_RULES: dict[str, Rule] = {}


def rule(name: str) -> Callable[[_R], _R]:
    """Register a rule of one's own: ``Judged -> risk`` in [0, 1], then ``aggregate=name``.

    A second function under a taken name is an error; a reload of the same is not.
    """

    def register(function: _R) -> _R:
        old = _RULES.get(name)
        if old is not None and _place(old) != _place(function):
            raise UsageError(f"claim rule {name!r} is registered twice")
        _RULES[name] = function
        return function

    return register


def find_rule(name: str) -> Rule:
    """The rule called ``name``.

    Raises:
        UsageError: there is none of that name.
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
    """Over 1/2 where most claims are over 1/2; with an even number, the mean of the middle two."""
    return float(np.median(judged.risks))


@rule("rate")
def _rate(judged: Judged) -> float:
    """The published hallucination rate: the share of claims not labelled entailment."""
    return float(np.mean([label != LABELS[0] for label in judged.labels]))


@rule("weighted")
def _weighted(judged: Judged) -> float:
    return float((judged.probabilities @ np.array(judged.weights)).mean())


def risk_of(judged: Judged, name: str) -> float:
    """The response's risk by the rule called ``name``.

    Raises:
        UsageError: there is no such rule, or it gave no number in [0, 1].
    """
    risk = find_rule(name)(judged)
    try:
        value = float(risk)
    except (TypeError, ValueError):
        value = math.nan
    if not -1e-9 <= value <= 1 + 1e-9:
        raise UsageError(f"the claim rule {name!r} gave {risk!r}, which is no risk from 0 to 1")
    return min(1.0, max(0.0, value))


def _place(function: Rule) -> tuple[str, str]:
    return function.__module__, function.__qualname__


def _known(labels: Sequence[str]) -> Sequence[str]:
    for label in labels:
        if label not in LABELS:
            raise ValueError(f"a claim's label is one of {', '.join(LABELS)}, not {label!r}")
    return labels
