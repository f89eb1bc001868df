"""Published figures of the five papers, with the commands to repeat them.

The harness prints them next to its own; ``docs/reproduction.md`` is made from them.
"""

from __future__ import annotations

from veridical_lab.bench.published import (
    checkembed,
    mirage,
    refchecker,
    selfcheckgpt,
    tunable_ensemble,
)
from veridical_lab.bench.published.table import ALL_SAMPLES, Entry, Figure, Note

PAPERS = (selfcheckgpt, checkembed, refchecker, mirage, tunable_ensemble)
ENTRIES: tuple[Entry, ...] = tuple(e for paper in PAPERS for e in paper.ENTRIES)
NOTES: tuple[Note, ...] = tuple(n for paper in PAPERS for n in paper.NOTES)

_FIGURES = {
    (f.suite, f.split, f.metric, f.scorer, f.samples): f.value
    for e in ENTRIES
    for f in e.figures
    if f.model is None
}


def paper_figure(
    suite: str, split: str, metric: str, scorer: str, samples: int | None = None
) -> tuple[float | None, tuple[str, ...]]:
    """Return the published figure of a row, as a fraction, and notes on it.

    Figures that depend on a model are left out, because a scorer's name does not identify its
    model; they are in ``ENTRIES``.

    Args:
        scorer: canonical text of the scorer (``BoundScorer.key``) or name of a baseline.
        samples: maximum number of samples of each item; None for all.

    Returns:
        The figure or None, and notes (also on rows without a figure).
    """
    if samples is not None and samples >= ALL_SAMPLES.get(suite, samples + 1):
        samples = None
    value = _FIGURES.get((suite, split, metric, scorer, samples))
    notes = (n for n in NOTES if n.about(suite, split, metric, scorer))
    return value, tuple(n.text for n in notes if value is not None or not n.beside_figures)


__all__ = ["ALL_SAMPLES", "ENTRIES", "NOTES", "PAPERS", "Entry", "Figure", "Note", "paper_figure"]
