"""How labelled answers were drawn, and what may rest on them.

``veridical review --export`` writes with each label how its answer came to be labelled: ``draw``
is ``random`` (a simple random draw of the run), ``neyman`` (a random draw within strata of the
risk, each with its ``draw_probability``), or ``chosen`` (by its risk, or by a person). A promise
needs labels of answers like those that it will be held against, so it is made on ``random`` alone.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from veridical.arrays import Ints
from veridical.errors import UsageError, option_named
from veridical.text.display import shown

if TYPE_CHECKING:
    from veridical.ensembles.graded import Graded
    from veridical.tuning.nested import Nested

#: Columns of an export, and its kinds of draw.
DRAW, PROBABILITY = "draw", "draw_probability"
KINDS = ("random", "neyman", "chosen")
#: How many times as much a label counts as another, at most.
_MOST = 20


Mask = NDArray[np.bool_]


class Drawn(NamedTuple):
    """How an answer was drawn; ``probability`` is None where it was chosen."""

    kind: str
    probability: float | None

    @property
    def promises(self) -> bool:
        """Whether a promise may rest on it."""
        return self.kind == "random"


def drawn(row: Mapping[str, Any]) -> Drawn | None:
    """What a row of an export, or the ``meta`` of a record read from one, says of its draw; None
    where it is no such row.

    Raises:
        UsageError: the two columns contradict each other or have values that no export has.
    """
    kind, probability = row.get(DRAW), row.get(PROBABILITY)
    if PROBABILITY not in row or kind in (None, ""):
        return None
    if kind not in KINDS:
        raise UsageError(f"{DRAW} must be {', '.join(KINDS)}, got {shown(kind)}")
    if probability in (None, ""):
        if kind != "chosen":
            raise UsageError(f"{DRAW} {kind} needs a {PROBABILITY}")
        return Drawn(kind, None)
    try:
        value = float(probability)
    except (TypeError, ValueError):
        value = math.nan
    if kind == "chosen" or not 0 < value <= 1:
        raise UsageError(
            f"{PROBABILITY} must be above 0 and at most 1, and empty where {DRAW} is chosen, got "
            f"{shown(probability)}"
        )
    return Drawn(str(kind), value)


def no_promise(where: str) -> UsageError:
    """That no promise can rest on labels, and what to do."""
    return UsageError(
        f"{where}: its answers were chosen, or drawn by their risk, so no guarantee "
        f"({option_named('alpha')}) can rest on their labels: label answers drawn at random "
        f"(veridical review RUN, whose order is mixed or random), or leave out "
        f"{option_named('alpha')}"
    )


def parted(graded: Graded, draws: Mapping[int, Drawn], half: Mask) -> tuple[Ints, Ints]:
    """Positions to fit to, and positions to promise on, which were all drawn at random and are of
    other groups. Where enough others are there to fit to, all random ones make the promise; else
    those of ``half``, a mask that parts no group.

    Raises:
        UsageError: none was drawn at random.
    """
    kinds = [draws.get(int(row)) for row in graded.rows]
    random = np.array([kind is None or kind.promises for kind in kinds], dtype=bool)
    if not random.any():
        raise no_promise("labels")
    promising = random if 2 * (~random).sum() >= random.sum() else random & half
    shared = np.isin(graded.groups, graded.groups[promising])
    return np.flatnonzero(~promising & ~shared), np.flatnonzero(promising)


def weighed(graded: Graded, draws: Mapping[int, Drawn]) -> Graded | None:
    """The targets, each as often as the inverse of its draw's probability says, in proportion: a
    fit to them is one to the whole run. Copies are of one group, so no fold or resample parts
    them. None where the probabilities are alike, or some answers were chosen."""
    known = [draws.get(int(row)) for row in graded.rows]
    probabilities = [d.probability for d in known if d is not None and d.probability is not None]
    if len(probabilities) < len(graded) or not probabilities:
        return None
    weights = 1 / np.array(probabilities)
    times = np.clip(np.round(weights / weights.min()), 1, _MOST).astype(np.int64)
    if times.max() == 1:
        return None
    return graded.take(np.repeat(np.arange(len(graded)), times))


def unweighed_counts(honest: Nested, graded: Graded) -> Nested:
    """Figures of weighed targets, with the counts of ``graded``, which has each once."""
    scored = ~np.isnan(graded.risks)
    of = {name: int(scored[:, i].sum()) for i, name in enumerate(graded.scorers)}
    return replace(
        honest,
        n=int(scored.any(axis=1).sum()),
        total=len(graded),
        rows=[replace(row, n=of.get(row.name, row.n)) for row in honest.rows],
    )


def remarks(draws: Mapping[int, Drawn], rows: Ints) -> list[str]:
    """What is to be known of figures on labels that were not drawn at random."""
    chosen = sum(d is not None and d.kind == "chosen" for d in map(draws.get, rows.tolist()))
    if not chosen:
        return []
    return [
        f"{chosen} of {len(rows)} labelled answers were chosen and not drawn: figures are of these "
        "answers, not of all answers of the run"
    ]
