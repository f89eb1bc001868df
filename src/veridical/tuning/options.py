"""Options of tuning, validated before any work."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from veridical.core.options import Group, Names, Options, names_of, option, split
from veridical.engine.options import EngineKeywords, EngineOptions
from veridical.errors import UsageError, option_named, unknown_name
from veridical.run.options import RunOptions

if TYPE_CHECKING:
    from pathlib import Path

    from veridical.core.records import Against
    from veridical.ensembles.cascade_search import Goal
    from veridical.ensembles.ensemble_file import Method
    from veridical.ensembles.fitting import Recipe
    from veridical.ensembles.graded import Level
    from veridical.retrieval.corpus.build import Notify
    from veridical.retrieval.query_writing import Queries
    from veridical.retrieval.search import Retriever
    from veridical.sampling.sampling import Sampling
    from veridical.stats.objectives import Positive

#: Run options that do not apply to tuning: records are scored once, and not decided on.
_NOT_OF_SCORING = ("fresh", "policy", "prior", "strictness", "select", "repair")


@dataclass(frozen=True, kw_only=True)
class TuneOptions(Options):
    """The options of :func:`veridical.tune` except those of the scoring run and its engine,
    described there."""

    objective: str = option("auroc", "Objective of the weights and thresholds.", Group.FITTING)
    positive: Positive = option(
        "hallucinated",
        "Positive class of precision and recall; UQLM and its paper use correct.",
        Group.FITTING,
    )
    min_precision: float | None = option(
        None,
        "Minimum precision; the threshold maximises recall under it.",
        Group.FITTING,
        kind=float,
    )
    joint: bool = option(
        False,
        "Optimise weights and threshold together, for f1, f_beta and accuracies.",
        Group.FITTING,
    )
    beta: float = option(1.0, "Weight of recall relative to precision, for f_beta.", Group.FITTING)
    method: Method = option(
        "weighted",
        "Combination: weighted mean, logistic regression, boosted trees (monotone in each risk), "
        "or famd, which requires no labels.",
        Group.FITTING,
    )
    calibrate: str | None = option(
        None, "Calibration method that makes the risk a probability.", Group.FITTING, kind=str
    )
    alpha: float | None = option(
        None,
        "Maximum share of hallucinated answers among accepted ones; half of the prompts are used "
        "for this guarantee.",
        Group.GUARANTEES,
        kind=float,
    )
    delta: float = option(0.1, "Probability that the guarantee of --alpha fails.", Group.GUARANTEES)
    by: str | None = option(
        None,
        "Column of groups, such as task; each group is fitted separately.",
        Group.GUARANTEES,
        kind=str,
    )
    simultaneous: bool = option(
        False,
        "With --by and --alpha: guarantee all groups simultaneously, each at delta / groups.",
        Group.GUARANTEES,
    )
    level: Level = option(
        "response", "Unit of evaluation: response (label) or sentence (unit_labels).", Group.LABELS
    )
    labels: str | Path | None = option(
        None, "File of reviewers' labels, with columns label and row or id.", Group.LABELS
    )
    grader: str | None = option(
        None,
        "Grader that labels answers by references: exact, contains, numeric, choice, or llm.",
        Group.LABELS,
        kind=str,
    )
    cv: int = option(5, "Number of cross-validation folds.", Group.FIGURES, least=2)
    bootstrap: int = option(
        1000, "Bootstrap resamples per interval and test; 0 for none.", Group.FIGURES, least=0
    )
    seed: int = option(0, "Seed of folds, search and resamples.", Group.FIGURES, least=0)
    out: str | Path | None = option(
        None,
        "Ensemble file to write (JSON). Default: the ensemble is not saved.",
        Group.OUTPUT,
        names=Names.OUTPUT,
    )
    cascade: str | Path | None = option(
        None,
        "Cascade file to fit and write; expensive scorers then run only on uncertain answers.",
        Group.CASCADE,
        names=Names.OUTPUT,
    )
    keep: float = option(
        0.99, "Minimum share of the full ensemble's AUROC for the cascade.", Group.CASCADE
    )
    hour: float = option(
        1.0, "Price of a model-hour, in the currency of the LLM prices.", Group.CASCADE
    )
    run: str | Path | None = option(
        None,
        "Run directory for the scores. Default: .veridical/runs/...",
        Group.RUN,
        names=Names.RUN,
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        self.recipe.check()
        for name, value in (("alpha", self.alpha), ("delta", self.delta)):
            if value is not None and not 0 < value < 1:
                raise UsageError(f"{name} must be between 0 and 1, not {value}")
        if self.level not in ("response", "sentence"):
            raise UsageError(f"level must be response or sentence, not {self.level!r}")
        if self.grader is not None and self.labels is not None:
            sources = f"{option_named('labels')} and {option_named('grader')}"
            raise UsageError(f"{sources} exclude each other; give one of them")
        if self.labels is not None and self.level == "sentence":
            raise UsageError(f"{option_named('labels')} label whole responses; use level response")
        if self.grader is not None and self.level == "sentence":
            raise UsageError("graders judge whole responses; use level response")
        if self.simultaneous and (self.alpha is None or self.by is None):
            raise UsageError(
                f"{option_named('simultaneous')} requires "
                f"{option_named('alpha')} and {option_named('by')}"
            )
        self.goal.check()
        if self.cascade is not None and self.level != "response":
            raise UsageError("a cascade stops whole records; use level response")

    @property
    def recipe(self) -> Recipe:
        """The fit that the options describe."""
        from veridical.ensembles.fitting import Recipe

        return Recipe(
            *(self.method, self.objective, self.joint, self.beta, self.calibrate, self.seed),
            positive=self.positive,
            min_precision=self.min_precision,
        )

    @property
    def goal(self) -> Goal:
        """The goal of the cascade."""
        from veridical.ensembles.cascade_search import Goal

        return Goal(keep=self.keep, hour=self.hour)


def split_options(
    keywords: Mapping[str, Any],
) -> tuple[TuneOptions, dict[str, Any], EngineOptions]:
    """Split keywords into options of tuning, keywords of its scoring run, and options of its
    engine.

    Raises:
        UsageError: there is no such option, or a value is invalid.
    """
    known = names_of(TuneOptions, RunOptions, EngineOptions)
    for name in keywords:
        if name in _NOT_OF_SCORING:
            raise unknown_name("option", name, set(known).difference(_NOT_OF_SCORING))
    tuning, scoring, engine = split(keywords, TuneOptions, RunOptions, EngineOptions)
    options = TuneOptions(**tuning)
    scoring["out"] = options.run
    return options, scoring, EngineOptions(**engine)


class TuneKeywords(EngineKeywords, total=False):
    """All keywords of :func:`veridical.tune`: :class:`TuneOptions`, those of the scoring run, and
    those of its engine."""

    objective: str
    positive: Positive
    min_precision: float | None
    joint: bool
    beta: float
    method: Method
    calibrate: str | None
    alpha: float | None
    delta: float
    by: str | None
    simultaneous: bool
    level: Level
    labels: str | Path | None
    grader: str | None
    cv: int
    bootstrap: int
    seed: int
    out: str | Path | None
    cascade: str | Path | None
    keep: float
    hour: float
    run: str | Path | None
    preset: str
    against: Against | Literal["auto"] | None
    answer: str | None
    paper_forms: bool
    samples: int | None
    limit: int | None
    mapping: Mapping[str, str] | None
    reader: str | None
    strict: bool
    retry_failed: bool
    claims: bool
    corpus: str | Path | Retriever | None
    corpus_top: int | None
    corpus_query: Queries
    corpus_pages: int | None
    notify: Notify | None
    sampling: Sampling | None
