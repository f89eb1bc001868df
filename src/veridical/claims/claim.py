"""Claims: the statements an answer makes, each with its place in the answer."""

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
        text: the statement, as a checker reads it.
        start: where its words begin in the response.
        end: where they end.
        sentence: index into ``record.sentences`` of the sentence it comes from; of the first one
            where it comes from several.
        triplet: (head, relation, tail), where it is one.
        parts: where in the response each of its words' runs stand, in the order of the text; empty
            where ``start`` and ``end`` say it all.
    """

    text: str
    start: int
    end: int
    sentence: int
    triplet: Triplet | None = None
    parts: tuple[tuple[int, int], ...] = ()

    def quotes(self, response: str) -> bool:
        """Whether its text is its place in ``response``, word for word."""
        return response[self.start : self.end] == self.text

    def span(self, response: str) -> Span:
        """The claim's place in ``response``."""
        return Span(self.start, self.end, response[self.start : self.end])


@dataclass(frozen=True)
class Extraction:
    """What an extractor found in a response.

    Attributes:
        claims: in the order of the response.
        abstained: the response declines to answer, and claims nothing.
        left_out: why pieces of a model's output were not taken for claims, and which sentences have
            none, one text each.
    """

    claims: tuple[Claim, ...]
    abstained: bool = False
    left_out: tuple[str, ...] = ()


class Extractor(Protocol):
    """Finds the claims of a record's response."""

    async def __call__(self, record: Record, evidence: Evidence) -> Extraction:
        """The claims.

        Raises:
            NotApplicable, LlmError: there can be no claims.
        """
        ...


class Checker(Protocol):
    """Judges claims by passages."""

    async def __call__(
        self,
        pairs: Sequence[tuple[Claim, str]],
        evidence: Evidence,
        alternatives: Sequence[Sequence[int]] = (),
    ) -> NDArray[np.float64]:
        """(n, 3) probabilities of each (claim, passage), as
        :data:`~veridical.core.protocols.LABELS` orders the classes. Ask for all in one call.

        Args:
            alternatives: places of pairs with one claim, of which the passage that entails it best
                counts, the one most about the claim first. A checker may leave unread those that
                cannot be the best, and gives NaN for them; never the first.

        Raises:
            NotApplicable: the checker cannot read these texts.
            LlmError: a verdict could not be had, or not be read. There is no default verdict.
        """
        ...
