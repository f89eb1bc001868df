"""NLI class probabilities of text pairs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from veridical.core.protocols import LABELS
from veridical.errors import NotApplicable

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class Verdicts:
    """Class probabilities of n pairs, rounded to 1e-6 so that no threshold depends on noise.

    Attributes:
        probabilities: (n, 3) float64 in the order of :data:`LABELS`, rows summing to 1. A model
            with the classes entailment and contradiction only has 0 for neutral.
        contradicts: False if the model distinguishes entailment from the rest only; the rest is
            then in the neutral column.
        by_rules: (n,) True for a pair that needed no model; None if this is not known.
    """

    probabilities: NDArray[np.float64]
    contradicts: bool = True
    by_rules: NDArray[np.bool_] | None = None

    def __len__(self) -> int:
        return len(self.probabilities)

    def __getitem__(self, part: slice | NDArray[np.int64] | list[int]) -> Verdicts:
        """Return the verdicts on some of the pairs."""
        by_rules = None if self.by_rules is None else self.by_rules[part]
        return Verdicts(self.probabilities[part], self.contradicts, by_rules)

    @property
    def entailment(self) -> NDArray[np.float64]:
        """(n,) probability that the premise entails the hypothesis."""
        column: NDArray[np.float64] = self.probabilities[:, 0]
        return column

    @property
    def neutral(self) -> NDArray[np.float64]:
        """(n,) probability of neither.

        Raises:
            NotApplicable: the model has no such class.
        """
        self._need_contradiction()
        column: NDArray[np.float64] = self.probabilities[:, 1]
        return column

    @property
    def contradiction(self) -> NDArray[np.float64]:
        """(n,) probability that the two cannot both be true.

        Raises:
            NotApplicable: the model has no such class.
        """
        self._need_contradiction()
        column: NDArray[np.float64] = self.probabilities[:, 2]
        return column

    def contradiction_vs_entailment(self) -> NDArray[np.float64]:
        """Return (n,) P(contradiction) relative to entailment (Manakul 2023, eq. 9); 0.5 if both
        are 0.

        Raises:
            NotApplicable: the model has no such class.
        """
        return _share(self.contradiction, self.entailment)

    def entailment_vs_contradiction(self) -> NDArray[np.float64]:
        """Return (n,) P(entailment) relative to contradiction; 0.5 if both are 0.

        Raises:
            NotApplicable: the model has no such class.
        """
        return _share(self.entailment, self.contradiction)

    def labels(self) -> list[str]:
        """Return the most probable class of each pair; the earlier of :data:`LABELS` in a tie."""
        return [LABELS[i] for i in self.probabilities.argmax(axis=1)]

    def as_dict(self, index: int) -> dict[str, float]:
        """Return the probabilities of one pair by class name, as in result lines."""
        return dict(zip(LABELS, self.probabilities[index].tolist(), strict=True))

    def _need_contradiction(self) -> None:
        if not self.contradicts:
            raise NotApplicable("the NLI model has no class for contradiction")


def _share(part: NDArray[np.float64], other: NDArray[np.float64]) -> NDArray[np.float64]:
    total = part + other
    return np.divide(part, total, out=np.full_like(total, 0.5), where=total > 0)
