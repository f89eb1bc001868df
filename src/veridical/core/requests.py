"""Requests to checkpoints, and their packed answers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

#: Packed answer to any request: (k,) float32.
Packed: TypeAlias = "NDArray[np.float32]"


@dataclass(frozen=True)
class GroundedAnswer:
    """Request for the risk of each word of ``answer`` to ``question`` (empty: none), given
    ``passages``."""

    question: str
    passages: tuple[str, ...]
    answer: str

    def __iter__(self) -> Iterator[str]:
        yield from (self.question, *self.passages, self.answer)
