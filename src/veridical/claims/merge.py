"""Merging of several passages' verdicts on one claim.

``any`` is the published rule: entailed if any passage entails the claim, else contradicted if any
contradicts it, else neutral. Source: Hu et al. 2024 (RefChecker), appendix A.3 and code.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from veridical.core.passage_verdicts import best_and_about
from veridical.core.protocols import LABELS

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from veridical.arrays import Floats


_ENTAILMENT, _NEUTRAL, _CONTRADICTION = range(len(LABELS))


class Merged(NamedTuple):
    """One verdict from m passages.

    Attributes:
        probabilities: (3,) in the order of :data:`LABELS`; the label has the largest.
        label: index into :data:`LABELS`.
        shown: passages that support the verdict, the strongest first: (index of the passage, index
            of the class). If all passages are neutral, one.
        conflict: True if some passages entail the claim and others contradict it.
    """

    probabilities: Floats
    label: int
    shown: tuple[tuple[int, int], ...]
    conflict: bool = False


def merge_any(judged: Floats) -> Merged:
    """Merge as entailed if any passage entails, else contradicted if any contradicts.

    A passage's label is its most probable class; in a tie, the earlier of :data:`LABELS`.
    Probabilities are those of the most certain passage with the label; if all are neutral, of the
    one with the highest P(entailment). In a tie the earliest counts.

    Args:
        judged: (m, 3) probabilities, one row per passage, m at least 1.
    """
    labels = judged.argmax(axis=1)
    by_class = [np.flatnonzero(labels == c) for c in range(len(LABELS))]
    entailing, _, contradicting = by_class
    if entailing.size:
        label, by = _ENTAILMENT, _ENTAILMENT
    elif contradicting.size:
        label, by = _CONTRADICTION, _CONTRADICTION
    else:
        label, by = _NEUTRAL, _ENTAILMENT
    ranked = _ranked(judged[:, by], by_class[label])
    if label == _NEUTRAL:
        del ranked[1:]
    return Merged(
        judged[ranked[0]],
        label,
        tuple((i, label) for i in ranked),
        bool(entailing.size and contradicting.size),
    )


def merge_conflict(judged: Floats) -> Merged:
    """Merge as :func:`merge_any`, but report both sides of a conflict.

    In a conflict the probabilities are the mean of the most certain passage of each side. The label
    is the most probable class of that mean (contradiction in a tie). ``shown`` begins with these
    two, the label's side first.

    Args:
        judged: (m, 3) probabilities, one row per passage, m at least 1.
    """
    merged = merge_any(judged)
    if not merged.conflict:
        return merged
    labels = judged.argmax(axis=1)
    sides = {
        c: _ranked(judged[:, c], np.flatnonzero(labels == c)) for c in (_ENTAILMENT, _CONTRADICTION)
    }
    mean = (judged[sides[_ENTAILMENT][0]] + judged[sides[_CONTRADICTION][0]]) / 2
    label = len(LABELS) - 1 - int(mean[::-1].argmax())
    order = (_ENTAILMENT, _CONTRADICTION) if label == _ENTAILMENT else (_CONTRADICTION, _ENTAILMENT)
    first = [(sides[c][0], c) for c in order]
    others = [(i, c) for c in order for i in sides[c][1:]]
    return Merged(mean, label, (*first, *others), True)


def merge_about(judged: Floats, about: int) -> Merged:
    """Merge by :func:`~veridical.core.passage_verdicts.best_and_about`.

    If the closest passage contradicts the claim and another entails it, both are shown.

    Args:
        judged: (m, 3) probabilities, one row per passage, m at least 1.
        about: the passage closest to the claim, as by :func:`veridical.text.relevance.most_about`.
    """
    probabilities, best = best_and_about(judged, about)
    label = int(probabilities.argmax())
    labels = judged.argmax(axis=1)
    entailing = _ranked(judged[:, _ENTAILMENT], np.flatnonzero(labels == _ENTAILMENT))
    conflict = bool(entailing and labels[about] == _CONTRADICTION)
    shown = [(i, label) for i in entailing or [best]]
    if label != _ENTAILMENT:
        shown = [(about if label == _CONTRADICTION else best, label)]
    if conflict:  # the other side comes second
        other = (about, _CONTRADICTION) if label == _ENTAILMENT else (best, _ENTAILMENT)
        shown.insert(1, other)
    return Merged(probabilities, label, tuple(shown), conflict)


def merge_mean(each: Sequence[Merged]) -> Merged:
    """Merge verdicts of separate sources, such as samples, by their mean.

    ``shown`` has the sources with the label, or else the one closest to it.
    """
    table = np.array([m.probabilities for m in each])
    mean: Floats = table.mean(axis=0)
    label = int(mean.argmax())
    labels = np.array([m.label for m in each])
    ranked = _ranked(table[:, label], np.flatnonzero(labels == label))
    ranked = ranked or [int(table[:, label].argmax())]
    conflict = {_ENTAILMENT, _CONTRADICTION} <= set(labels.tolist())
    return Merged(mean, label, tuple((i, label) for i in ranked), conflict)


def _ranked(values: Floats, among: NDArray[np.int64]) -> list[int]:
    """Return the indices ``among``, by falling value, ties in order."""
    return [int(i) for i in among[np.argsort(-values[among], kind="stable")]]
