"""Flags of benchmark rows and their explanations, for every view."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from veridical.report.document import Severity, ShownFlag


class Flag(NamedTuple):
    """Short label and explanation of a flag, with its severity.

    ``bad``: the figure must not be used as it is. ``warn``: it requires care. ``note``:
    information.
    """

    label: str
    explanation: str
    severity: Severity


#: Worst first; views keep this order.
FLAGS: dict[str, Flag] = {
    "inverted": Flag(
        "inverted", "The negated score does better than the score: it looks turned round.", "bad"
    ),
    "low_coverage": Flag(
        "low coverage",
        "Fewer targets were scored than the run demands, so the figure represents only a part.",
        "bad",
    ),
    "one_class": Flag(
        "one class",
        "Nearly all predictions are the same class, so this is close to a majority baseline.",
        "bad",
    ),
    "constant": Flag(
        "constant", "All scores are the same: the figure says nothing about the scorer.", "bad"
    ),
    "threshold_fitted_on_test": Flag(
        "threshold fitted on test",
        "The threshold was chosen on the very labels reported on, so the figure is too good.",
        "bad",
    ),
    "not_better_than_constant": Flag(
        "no better than constant",
        "One and the same score for every target does as well on this metric.",
        "bad",
    ),
    "not_better_than_length": Flag(
        "no better than length",
        "It was not shown to do better than the length of the response.",
        "bad",
    ),
    "ties_inflate_trapezoid": Flag(
        "ties inflate trapezoid",
        "Tied scores lift the trapezoid PR area above average precision: "
        "read average precision instead.",
        "warn",
    ),
    "length_proxy": Flag(
        "follows length", "The score is closely correlated with the length of the response.", "warn"
    ),
    "in_domain": Flag(
        "in-domain",
        "The scorer was trained or tuned on this data set: expect less on unseen data.",
        "warn",
    ),
    "failures": Flag(
        "failures",
        "Some targets could not be scored; best and worst say what they could have changed.",
        "warn",
    ),
    "small_n": Flag("small n", "There are too few targets for a reliable figure.", "warn"),
    "few_groups": Flag(
        "few groups", "There are too few independent units for the interval to be reliable.", "warn"
    ),
}


def shown(flag: str) -> ShownFlag:
    """Format a flag. A value after a colon is kept; an unknown flag is shown as it is."""
    name, _, value = flag.partition(":")
    known = FLAGS.get(name)
    if known is None:
        return ShownFlag(flag, flag, "", "warn")
    label = f"{known.label} ({value.strip()})" if value.strip() else known.label
    return ShownFlag(name, label, known.explanation, known.severity)


def ordered(flags: Iterable[str]) -> list[ShownFlag]:
    """Sort flags without duplicates, worst first, unknown ones last."""
    places = {name: i for i, name in enumerate(FLAGS)}
    unique = {s.name: s for s in map(shown, dict.fromkeys(flags))}
    return sorted(unique.values(), key=lambda s: places.get(s.name, len(places)))


def explained(flags: Iterable[str]) -> list[Flag]:
    """Return each kind of known flag that occurs, worst first."""
    return [FLAGS[s.name] for s in ordered(flags) if s.name in FLAGS]
