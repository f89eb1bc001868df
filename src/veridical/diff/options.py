"""Options of a comparison of two runs, validated before any work."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from veridical.core.options import Group, Options, option
from veridical.errors import UsageError

if TYPE_CHECKING:
    from typing_extensions import TypedDict

    class DiffKeywords(TypedDict, total=False):
        """The options of :func:`veridical.diff.diff`."""

        pair_by: Pairing | None
        split_by: str | None
        tolerate: float
        allow_different: bool


Pairing = Literal["id", "prompt", "row"]
PAIRINGS: tuple[Pairing, ...] = ("id", "prompt", "row")


@dataclass(frozen=True, kw_only=True)
class DiffOptions(Options):
    """The options of :func:`veridical.diff.diff`, described there."""

    pair_by: Pairing | None = option(
        None,
        "Field that pairs the answers. Default: the id, or another field that allows pairing.",
        Group.INPUT,
        choices=PAIRINGS,
        called="pairing",
    )
    split_by: str | None = option(
        None, "Field of the records' meta; each of its values is compared too.", Group.INPUT
    )
    allow_different: bool = option(
        False, "Compare runs that were not scored in the same way.", Group.INPUT
    )
    tolerate: float = option(
        0.0, "Rise that is tolerated, as a fraction: 0.02 is two points of a share.", Group.GATES
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if not math.isfinite(self.tolerate) or not 0 <= self.tolerate < 1:
            raise UsageError(
                f"tolerate must be a fraction from 0 to below 1 (0.02 is two points), not "
                f"{self.tolerate:g}"
            )
