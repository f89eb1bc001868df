"""Published tables: figures, commands to repeat them, and remarks."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from veridical.core.identity import Identity

#: ``regenerated``: the harness prints the figure from public data, without any model. ``named
#: model``: it requires the public model that the paper used. ``not possible``: a requirement is not
#: available.
Status = Literal["regenerated", "named model", "not possible"]

#: Samples an item has in a suite, so that "all of them" and their number are one question.
ALL_SAMPLES = {"wikibio": 20}


@dataclass(frozen=True)
class Figure:
    """One number as a paper prints it, as a fraction.

    Attributes:
        scorer: canonical text of the scorer (``BoundScorer.key``) or name of a baseline; "" where
            the figure describes the data.
        metric: a metric of the harness (of one of several classes: ``f1:CLASS``), or ``n_total``
            or ``prevalence``.
        samples: how many samples of each item were used; None for all, or if there are no samples.
        model: the public model behind it, if any.
    """

    suite: str
    split: str
    metric: str
    scorer: str
    value: float
    samples: int | None = None
    model: str | None = None


@dataclass(frozen=True)
class Note:
    """A remark on published figures. An empty tuple stands for every split, metric or scorer;
    scorers are named without parameters (all of that name), or by their whole text. Some say
    something only ``beside_figures``."""

    suite: str
    text: str
    splits: tuple[str, ...] = ()
    metrics: tuple[str, ...] = ()
    scorers: tuple[str, ...] = ()
    beside_figures: bool = False

    def about(self, suite: str, split: str, metric: str, scorer: str) -> bool:
        """Return True if it belongs to such a row."""
        return (
            suite == self.suite
            and split in (self.splits or (split,))
            and metric in (self.metrics or (metric,))
            and (
                not self.scorers
                or scorer in self.scorers
                or Identity.read(scorer).name in self.scorers
            )
        )


@dataclass(frozen=True)
class Entry:
    """Published table or figure, or a part of it with the same requirements.

    Attributes:
        command: regenerates it; DATA is a placeholder for the folder of data sets.
        before: a command that produces the input of ``command``.
        reason: why it cannot be repeated here, or what the command leaves out.
        whole: True if ``figures``, or the drawing, are all that the table or figure shows.
        printed: the numbers of a drawn figure that the paper's text states, as "where: what"; ()
            without any, None for a table.
    """

    id: str
    title: str
    data: str
    status: Status
    command: str | None = None
    reason: str | None = None
    figures: tuple[Figure, ...] = ()
    before: str | None = None
    whole: bool = False
    printed: tuple[str, ...] | None = None

    @property
    def remarks(self) -> tuple[str, ...]:
        """The reason, and the numbers that the text states of a drawn figure."""
        stated = ". ".join(text[:1].upper() + text[1:] for text in self.printed or ())
        drawn = f"the paper draws this. {stated or 'Its text states no number'}"
        reason = (self.reason,) if self.reason else ()
        return reason if self.printed is None else (drawn, *reason)


#: The columns of SelfCheckGPT's tables.
WIKIBIO_COLUMNS = (
    ("nonfact", "trapezoid_pr"),
    ("nonfact_star", "trapezoid_pr"),
    ("factual", "trapezoid_pr"),
    ("passage", "pearson"),
    ("passage", "spearman"),
)


def quoted(scorers: Iterable[str]) -> str:
    """Return the scorers as an argument of ``--scorers``."""
    return f'"{", ".join(scorers)}"'


def fraction(percent: str | float) -> float:
    """Convert "85.63" to 0.8563."""
    return round(float(percent) / 100, 6)


def wikibio_row(
    scorer: str, printed: str, *, samples: int | None = None, model: str | None = None
) -> tuple[Figure, ...]:
    """Return the figures of a row of SelfCheckGPT's tables, printed as percentages; "-" is
    empty.
    """
    return tuple(
        Figure("wikibio", split, metric, scorer, fraction(x), samples, model)
        for (split, metric), x in zip(WIKIBIO_COLUMNS, printed.split(), strict=True)
        if x != "-"
    )


def by_split(
    suite: str,
    metric: str,
    scorer: str,
    values: Iterable[tuple[str, float]],
    model: str | None = None,
) -> tuple[Figure, ...]:
    """Return one scorer's figures on several splits."""
    return tuple(
        Figure(suite, split, metric, scorer, value, None, model) for split, value in values
    )
