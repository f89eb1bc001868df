"""Claims: checkable statements with their places in the answer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from veridical.text.spans import Span

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

    from veridical.core.evidence import Evidence
    from veridical.core.records import Record

Triplet = tuple[str, str, str]


@dataclass(frozen=True)
class Claim:
    """One checkable statement of a response.

    Attributes:
        text: the statement as shown to a checker.
        start: start of its words in the response.
        end: end of its words in the response.
        sentence: index into ``record.sentences`` of its (first) source sentence.
        triplet: (head, relation, tail), if it is a triplet.
        parts: places in the response of its runs of words, in the order of the text; empty if
            ``start`` and ``end`` suffice.
    """

    text: str
    start: int
    end: int
    sentence: int
    triplet: Triplet | None = None
    parts: tuple[tuple[int, int], ...] = ()

    def quotes(self, response: str) -> bool:
        """Return True if its text occurs verbatim at its place in ``response``."""
        return response[self.start : self.end] == self.text

    def span(self, response: str) -> Span:
        """Return the claim's span in ``response``."""
        return Span(self.start, self.end, response[self.start : self.end])


@dataclass(frozen=True)
class Extraction:
    """The result of an extractor for a response.

    Attributes:
        claims: the claims, in the order of the response.
        abstained: True if the response declines to answer and claims nothing.
        left_out: one text per piece of model output rejected as a claim, and per sentence without a
            claim.
    """

    claims: tuple[Claim, ...]
    abstained: bool = False
    left_out: tuple[str, ...] = ()


class Extractor(Protocol):
    """A callable that finds the claims of a record's response."""

    async def __call__(self, record: Record, evidence: Evidence) -> Extraction:
        """Return the claims of the response.

        Raises:
            NotApplicable, LlmError: claims cannot be extracted.
        """
        ...


class Checker(Protocol):
    """A callable that judges claims by passages."""

    async def __call__(
        self,
        pairs: Sequence[tuple[Claim, str]],
        evidence: Evidence,
        alternatives: Sequence[Sequence[int]] = (),
    ) -> NDArray[np.float64]:
        """Return the (n, 3) probabilities of each (claim, passage), in the order of LABELS.

        All pairs are judged in one call. :data:`~veridical.core.protocols.LABELS` orders the
        classes.

        Args:
            alternatives: groups of indices of pairs with the same claim, the closest passage first;
                only the highest P(entailment) of a group counts. A checker may skip pairs that
                cannot be the highest and return NaN for them, except for the first.

        Raises:
            NotApplicable: the checker does not support these texts.
            LlmError: a verdict is missing or invalid. There is no default verdict.
        """
        ...
