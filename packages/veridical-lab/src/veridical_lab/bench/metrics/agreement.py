"""Agreement of annotators beyond chance, by nltk's implementation.

Items are mappings from annotator to label; an annotator who is absent did not label it. A result is
NaN if no two annotators share an item, or if only one label occurs, because chance would then agree
as well.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from itertools import combinations
from typing import Literal

import numpy as np

Labels = Mapping[str, Hashable]


def cohen_kappa(items: Sequence[Labels]) -> float:
    """Compute Cohen's (1960) kappa, in [-1, 1]; the mean over pairs of annotators.

    Each pair uses the items that both labelled; pairs without a result are left out.
    """
    from nltk.metrics.agreement import AnnotationTask

    values = []
    for a, b in combinations(sorted({name for item in items for name in item}), 2):
        both = [item for item in items if a in item and b in item]
        if len({label for item in both for label in (item[a], item[b])}) < 2:
            continue
        task = AnnotationTask(
            data=[(name, i, item[name]) for i, item in enumerate(both) for name in (a, b)]
        )
        values.append(float(task.kappa_pairwise(a, b)))
    return float(np.mean(values)) if values else float("nan")


def krippendorff_alpha(
    items: Sequence[Labels], level: Literal["nominal", "interval"] = "nominal"
) -> float:
    """Compute Krippendorff's (2011) alpha, at most 1, 0 at chance; labels may be missing.

    Args:
        level: ``nominal`` compares labels for equality, ``interval`` by their squared difference
            (labels are then numbers).
    """
    from nltk.metrics.agreement import AnnotationTask
    from nltk.metrics.distance import binary_distance, interval_distance

    shared = [item for item in items if len(item) > 1]
    if len({label for item in shared for label in item.values()}) < 2:
        return float("nan")
    task = AnnotationTask(
        data=[(name, i, label) for i, item in enumerate(shared) for name, label in item.items()],
        distance=binary_distance if level == "nominal" else interval_distance,
    )
    return float(task.alpha())
