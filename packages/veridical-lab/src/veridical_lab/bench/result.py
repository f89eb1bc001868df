"""Benchmark result: rows of figures, comparisons, curves.

Every view (terminal, Markdown, HTML, JSON) is made from a :class:`StoredBench`, never from scores.
All figures are fractions; null if undefined.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from pydantic import BaseModel, Field, ValidationError

from veridical.errors import UsageError
from veridical.stats.tables import STORED_MODEL, Bin, Comparison, Histogram, Rank

Point = tuple[float, float]
#: Scorers that need no method, in the order of the tables, below the scorers.
BASELINES = ("constant", "random", "length", "majority", "always_positive")


if TYPE_CHECKING:
    from typing_extensions import Self


class Baselines(BaseModel):
    """Figures of the baselines on the same items and metric.

    ``constant``: one score for all. ``random``: the expected value of a random order. ``length``:
    the response's (or unit's) length in words, longer being riskier. ``majority``: always the most
    frequent class (labels instead of scores).
    """

    model_config = STORED_MODEL
    constant: float | None = None
    random: float | None = None
    length: float | None = None
    majority: float | None = None


class Row(BaseModel):
    """One figure (contract section 6).

    ``value`` is over the ``n_scored`` targets (responses, or labelled units of them). ``best`` and
    ``worst`` are its bounds if the failed ones were scored perfectly, or inversely. ``paper`` is
    the published figure, if the row repeats one.
    """

    model_config = STORED_MODEL
    suite: str
    scorer: str
    split: str
    level: str
    positive: str
    metric: str
    value: float | None
    ci_low: float | None = None
    ci_high: float | None = None
    best: float | None = None
    worst: float | None = None
    n_total: int
    n_scored: int
    n_failed: int = 0
    n_not_applicable: int = 0
    coverage: float | None = None
    failed_reasons: dict[str, int] = {}
    prevalence: float | None = None
    baselines: Baselines = Baselines()
    flags: list[str] = []
    paper: float | None = None
    notes: list[str] = []
    threshold: float | Literal["cross-fitted"] | None = None
    samples: int | None = None


class Curves(BaseModel):
    """The plots of one scorer on one split; at most a few hundred points each."""

    model_config = STORED_MODEL
    scorer: str
    precision_recall: list[Point] = []  # recall, precision
    roc: list[Point] = []  # false positive rate, true positive rate
    risk_coverage: list[Point] = []  # share answered, share wrong among them
    accuracy_at: list[tuple[float, float, float]] = []  # tau, accuracy of risk <= tau, their share
    reliability: list[Bin] = []
    lengths: list[Bin] = []
    histogram: Histogram | None = None
    scatter: list[Point] = []  # of a graded truth: label, score (larger is riskier)


class LabelCounts(BaseModel):
    """Number of labelled targets in each bin; the last bin is closed."""

    model_config = STORED_MODEL
    edges: list[float]
    counts: list[int]


class Confusion(BaseModel):
    """Counts: ``matrix[true][predicted]``."""

    model_config = STORED_MODEL
    scorer: str
    classes: list[str]
    matrix: list[list[int]]


class SampleCurve(BaseModel):
    """A headline figure by the number of samples: (samples, value, low, high)."""

    model_config = STORED_MODEL
    scorer: str
    metric: str
    points: list[tuple[int, float | None, float | None, float | None]]


class Suggested(BaseModel):
    """Threshold for ``check --fail-over``: risks over ``threshold`` are called positive.

    It is fitted to all of the split's targets. Its expected performance was measured by
    cross-fitting. ``caught`` is the share of positive targets over a threshold fitted in the same
    way on other folds, ``false_alarms`` that of the negative ones.
    """

    model_config = STORED_MODEL
    scorer: str
    threshold: float
    caught: float
    false_alarms: float


class Split(BaseModel):
    """All that is not a single figure, for one split."""

    model_config = STORED_MODEL
    suite: str
    split: str
    level: str
    kind: str
    positive: str
    n_total: int
    n_positive: int | None
    n_groups: int
    headline: str
    scorers: list[str]
    spearman: list[list[float | None]] = []
    comparisons: list[Comparison] = []
    ranks: list[Rank] = []
    cliques: list[list[str]] = []
    curves: list[Curves] = []
    labels: LabelCounts | None = None
    confusions: list[Confusion] = []
    samples: list[SampleCurve] = []
    suggested: list[Suggested] = []
    notes: list[str] = []


class Alignment(BaseModel):
    """Agreement of one scorer's labels and scores with human ones on one data set.

    Mirage, tables 1 and 9 to 11. ``area`` is the trapezoid; ``threshold_on`` is the data on which
    the threshold was fitted.
    """

    model_config = STORED_MODEL
    scorer: str
    area: float | None
    area_inverted: float | None
    average_precision: float | None
    precision: float | None  # weighted over classes, like the next two
    recall: float | None
    f1: float | None
    accuracy: float | None
    threshold: float | None
    threshold_on: Literal["test", "cross-fitted"]
    predicted_positive: int
    predicted_negative: int
    flags: list[str] = []


class AlignmentSplit(BaseModel):
    """Mirage's view of one data set. Matrices follow the order of ``scorers``; ``overlap`` is the
    share of items both label correctly; ``lengths[i]`` belongs to ``scorers[i]``."""

    model_config = STORED_MODEL
    suite: str
    split: str
    n: int
    prevalence: float
    majority_f1: float | None
    scorers: list[Alignment]
    spearman: list[list[float | None]]
    overlap: list[list[float | None]]
    length_edges: list[float]
    length_counts: list[int]
    lengths: list[list[float | None]]


class FactorTest(BaseModel):
    """One cell of Mirage table 2: does ``factor`` change ``scorer``?

    Attributes:
        groups: how many values of each level were tested.
        means: and their mean.
    """

    model_config = STORED_MODEL
    dataset: str
    scorer: str
    factor: Literal["tuning", "decoding", "size"]
    test: str
    normal: bool
    normality_p: float | None
    statistic: float | None
    p: float | None
    p_holm: float | None
    effect: str
    effect_size: float | None
    n: int
    groups: dict[str, int]
    means: dict[str, float] = Field(default_factory=dict)
    note: str | None = None


class Pairwise(BaseModel):
    """Post-hoc p-values between the levels of a factor (Mirage figures 4, 11, 12, 15)."""

    model_config = STORED_MODEL
    dataset: str
    scorer: str
    factor: str
    test: str
    levels: list[str]
    p: list[list[float | None]]


class Scaling(BaseModel):
    """One point of a scaling curve (Mirage figures 3, 13, 14); size in billions of parameters."""

    model_config = STORED_MODEL
    dataset: str
    scorer: str
    model: str
    size: float
    tuning: str
    n: int
    mean: float
    ci_low: float | None
    ci_high: float | None


class Box(BaseModel):
    """One box of a decoding plot (Mirage figures 8 to 10)."""

    model_config = STORED_MODEL
    dataset: str
    scorer: str
    decoding: str
    size: str
    n: int
    low: float
    q1: float
    median: float
    q3: float
    high: float


class Agreement(BaseModel):
    """Spearman's rank correlation of scorers over the ``n`` answers of a data set.

    Mirage figure 6; None if undefined. Values are as in the table: for some scorers less is better.
    """

    model_config = STORED_MODEL
    dataset: str
    scorers: list[str]
    n: int
    spearman: list[list[float | None]]


class Study(BaseModel):
    """The meta-evaluation."""

    model_config = STORED_MODEL
    as_published: bool = False
    alignment: list[AlignmentSplit] = []
    tests: list[FactorTest] = []
    pairwise: list[Pairwise] = []
    scaling: list[Scaling] = []
    boxes: list[Box] = []
    agreement: list[Agreement] = []
    notes: list[str] = []


class StoredBench(BaseModel):
    """A whole benchmark run. ``run`` names it by what it is made of; ``signature`` is for print."""

    model_config = STORED_MODEL
    suite: str
    run: str = ""
    signature: str
    created: str
    version: str
    settings: dict[str, Any] = {}
    signatures: dict[str, str] = {}
    rows: list[Row] = []
    splits: list[Split] = []
    study: Study | None = None
    notes: list[str] = []
    row_errors: list[dict[str, Any]] = []
    n_row_errors: int = 0

    @classmethod
    def read(cls, path: str | Path) -> Self:
        """Read the benchmark stored at ``path``.

        Raises:
            UsageError: it does not exist, or is damaged.
        """
        try:
            return cls.model_validate_json(Path(path).read_bytes())
        except OSError as e:
            raise UsageError(f"cannot read the benchmark {path}: {e.strerror}") from None
        except ValidationError as e:
            first = e.errors()[0]
            where = ".".join(map(str, first["loc"]))
            raise UsageError(f"{path} is not a benchmark result: {where}: {first['msg']}") from None
