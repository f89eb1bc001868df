"""Sampling designs of labelled answers, and the inferences that they allow.

``veridical review --export`` writes the design of each label as ``draw``. ``random`` is a simple
random draw of the run. ``neyman`` is a random draw within strata of the risk, each with its
``draw_probability``. ``chosen`` was selected by its risk, or by a person. A guarantee requires
labels of answers like those to which it applies, so it uses ``random`` draws only.
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
#: Maximum weight of a label relative to another.
_MOST = 20


Mask = NDArray[np.bool_]


class Drawn(NamedTuple):
    """Sampling design of an answer; ``probability`` is None if it was chosen."""

    kind: str
    probability: float | None

    @property
    def allows_guarantee(self) -> bool:
        """True if a guarantee may rest on it."""
        return self.kind == "random"


def drawn(row: Mapping[str, Any]) -> Drawn | None:
    """Return the draw in a row of an export, or in the ``meta`` of a record read from one; None for
    other rows.

    Raises:
        UsageError: the two columns contradict each other, or have values that no export has.
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


def no_guarantee(where: str) -> UsageError:
    """Return the error that the labels cannot support a guarantee, with advice."""
    return UsageError(
        f"{where}: its answers were chosen, or drawn by their risk, so no guarantee "
        f"({option_named('alpha')}) can rest on their labels: label answers drawn at random "
        f"(veridical review RUN, whose order is mixed or random), or leave out "
        f"{option_named('alpha')}"
    )


def parted(graded: Graded, draws: Mapping[int, Drawn], half: Mask) -> tuple[Ints, Ints]:
    """Split positions into those for the fit and those for the guarantee.

    Those for the guarantee were all drawn at random and belong to other groups. If enough others
    remain for the fit, all random ones are used for the guarantee. Otherwise those of ``half`` are
    used, a mask that splits no group.

    Raises:
        UsageError: no answer was drawn at random.
    """
    kinds = [draws.get(int(row)) for row in graded.rows]
    random = np.array([kind is None or kind.allows_guarantee for kind in kinds], dtype=bool)
    if not random.any():
        raise no_guarantee("labels")
    reserved = random if 2 * (~random).sum() >= random.sum() else random & half
    shared = np.isin(graded.groups, graded.groups[reserved])
    return np.flatnonzero(~reserved & ~shared), np.flatnonzero(reserved)


def weighed(graded: Graded, draws: Mapping[int, Drawn]) -> Graded | None:
    """Return the targets repeated in proportion to the inverse probability of their draw, so that a
    fit represents the whole run.

    Copies belong to one group, so no fold or resample separates them. None if the probabilities are
    equal, or some answers were chosen.
    """
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
    """Return the figures of weighted targets with the counts of ``graded``, which has each once."""
    scored = ~np.isnan(graded.risks)
    of = {name: int(scored[:, i].sum()) for i, name in enumerate(graded.scorers)}
    return replace(
        honest,
        n=int(scored.any(axis=1).sum()),
        total=len(graded),
        rows=[replace(row, n=of.get(row.name, row.n)) for row in honest.rows],
    )


def remarks(draws: Mapping[int, Drawn], rows: Ints) -> list[str]:
    """Return remarks on figures from labels that were not drawn at random."""
    chosen = sum(d is not None and d.kind == "chosen" for d in map(draws.get, rows.tolist()))
    if not chosen:
        return []
    return [
        f"{chosen} of {len(rows)} labelled answers were chosen and not drawn: figures are of these "
        "answers, not of all answers of the run"
    ]
