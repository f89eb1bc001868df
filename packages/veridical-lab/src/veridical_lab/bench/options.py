"""Options of a benchmark and a ranking, validated before any work."""

from __future__ import annotations

import importlib.util
import math
import numbers
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from veridical.core.options import Group, Names, Options, option, split
from veridical.engine.options import EngineKeywords, EngineOptions
from veridical.errors import UsageError, option_named
from veridical.run.options import PAPER_FORMS_HELP
from veridical_lab.bench.suite_options import OF_SUITES, QaOptions
from veridical_lab.sampling.levels import bin_names

if TYPE_CHECKING:
    from veridical.core.records import Against
    from veridical.core.verdict_cuts import Strictness
    from veridical.sampling.sampling import Sampling
    from veridical_lab.bench.datasets.suite import Suite

Protocol = Literal["quick", "full"]
Order = Literal["hallucination", "contradiction", "abstain"]
Pairing = Literal["prompt", "id"]


@dataclass(frozen=True, kw_only=True)
class BenchOptions(Options):
    """The options of :func:`veridical.bench` that any suite has; it says what they mean."""

    split: str | Sequence[str] | None = option(
        None, "Splits or parts, separated by commas; heldout: HaluEval's last 20 %.", Group.INPUT
    )
    samples: int | Sequence[int] | None = option(
        None, "Maximum samples per record; 2,4,10 gives a curve from one run.", Group.SCORING
    )
    protocol: Protocol = option(
        "quick",
        "Items to score. quick: at most 1 000 seeded items per part; full: all items.",
        Group.INPUT,
    )
    against: Against | None = option(
        None,
        "Compare against this field (scorers that support it). Default: the suite's field.",
        Group.SCORING,
    )
    answer: str | None = option(
        None,
        "Part of each answer to compare: regex:PATTERN, number or json:FIELD.",
        Group.SCORING,
        kind=str,
    )
    paper_forms: bool = option(False, PAPER_FORMS_HELP, Group.SCORING)
    multi_sentence: bool = option(
        False, "Include only responses of several sentences.", Group.INPUT
    )
    as_published: bool = option(
        False,
        "Fit thresholds on the test targets, as in the papers; results are flagged.",
        Group.FIGURES,
    )
    threshold: float | None = option(
        None,
        "Risk at or above which an item counts as wrong. Default: fitted on other folds.",
        Group.FIGURES,
        kind=float,
    )
    tuned: bool = option(
        False,
        "Add the row 'tuned': a weighted mean of the scorers, weights fitted on other folds.",
        Group.FIGURES,
    )
    beta: float | None = option(
        None, "Also report F-beta, for this beta (above 0).", Group.FIGURES, kind=float
    )
    out: str | Path | None = option(
        None,
        "Benchmark directory; the same one resumes. Default: .veridical/bench/...",
        Group.RUN,
        kind=Path,
        names=Names.RUN,
    )
    seed: int = option(0, "Seed of draw, folds and resamples.", Group.FIGURES, least=0)
    bootstrap: int = option(
        1000, "Bootstrap resamples per interval and test; 0 for none.", Group.FIGURES, least=0
    )
    limit: int | None = option(
        None,
        "Maximum items per part, taken before any sampling.",
        Group.INPUT,
        least=1,
        kind=int,
    )
    retry_failed: bool = option(False)
    fresh: bool = option(False)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.protocol not in ("quick", "full"):
            raise UsageError(f"protocol is quick or full, not {self.protocol!r}")
        samples = (self.samples or ()) if isinstance(self.samples, Sequence) else [self.samples]
        if any(not isinstance(n, numbers.Integral) for n in samples if n is not None):
            raise UsageError(f"samples must be whole numbers, not {self.samples!r}")
        if self.counts and self.counts[0] < 1:
            raise UsageError(f"samples must be at least 1, not {self.counts[0]}")
        sources = ("samples", "contexts", "reference")
        if self.against not in (None, *sources):
            raise UsageError(f"against is {', '.join(sources)}, not {self.against!r}")
        if self.beta is not None and not 0 < self.beta < math.inf:
            raise UsageError(f"beta must be a number above 0, not {self.beta:g}")
        if self.threshold is not None:
            if not 0 < self.threshold <= 1:
                raise UsageError(f"threshold must be above 0 and at most 1, not {self.threshold:g}")
            if self.as_published:
                fits, given = option_named("as_published"), option_named("threshold")
                raise UsageError(f"{fits} fits the thresholds that {given} gives: leave one out")

    @property
    def splits(self) -> list[str]:
        """The names of splits and parts; none stands for all."""
        names = self.split.split(",") if isinstance(self.split, str) else self.split or ()
        return [name.strip() for name in names if name.strip()]

    @property
    def counts(self) -> list[int]:
        """Numbers of samples to judge with, rising; none stands for all there are."""
        samples = [self.samples] if isinstance(self.samples, int) else self.samples or ()
        return sorted(set(samples))


@dataclass(frozen=True, kw_only=True)
class StudyOptions(Options):
    """Options of the meta-evaluation of Kulkarni 2025 ("Mirage")."""

    study: bool = option(False, "Add the meta-evaluation of metrics (Kulkarni 2025).", Group.STUDY)
    table: str | Path | None = option(
        None,
        "Rows of model, size, tuning, decoding, item, scorer, value to test for effects (CSV, "
        "JSONL, Parquet).",
        Group.STUDY,
    )
    size_bins: Sequence[float] | None = option(
        None,
        "With --table: lower edges of the bins of model sizes, in billions of parameters. Default: "
        "0.5,4,20,70, the paper's.",
        Group.STUDY,
    )
    famd: Sequence[str] = option((), "Scorers to combine by factor analysis.", Group.STUDY)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.size_bins is not None:
            if self.table is None:
                raise UsageError("--size-bins requires --table")
            bin_names(self.size_bins)
        if self.famd and not self.study:
            raise UsageError("factor analysis belongs to the study (--famd to --study)")
        if len(self.famd) == 1:
            raise UsageError("factor analysis needs at least two scorers (--famd)")
        if self.famd and importlib.util.find_spec("prince") is None:
            raise UsageError("factor analysis needs prince: pip install prince")


@dataclass(frozen=True)
class Request:
    """Request of a benchmark, without its data and scorers.

    It has the options of any suite, of the study, and of each suite by its name.
    """

    bench: BenchOptions
    study: StudyOptions
    suites: Mapping[str, Options] = field(default_factory=dict)

    @classmethod
    def of(
        cls, suites: Sequence[Suite], keywords: Mapping[str, Any]
    ) -> tuple[Request, EngineOptions]:
        """Build the request for ``suites``, and the options of its engine.

        Raises:
            UsageError: an option is unknown, belongs to none of the suites, or has an invalid
                value.
        """
        bench, study, engine, *of_suites = split(
            keywords, BenchOptions, StudyOptions, EngineOptions, *OF_SUITES
        )
        by_class = {c: c(**values) for c, values in zip(OF_SUITES, of_suites, strict=True)}
        for options_class, options in by_class.items():
            values = _values_set(options)
            if values and all(suite.options is not options_class for suite in suites):
                names = ", ".join(repr(suite.name) for suite in suites)
                option = next(iter(values))
                hint = " (set by --n and what goes with it)" if option == "sampling" else ""
                which = f"suite {names} has" if len(suites) == 1 else f"suites {names} have"
                raise UsageError(
                    f"{which} no option {option_named(option)!r}: it is of "
                    f"{' and '.join(_suites_with(options_class))}{hint}"
                )
        request = cls(
            BenchOptions(**bench),
            StudyOptions(**study),
            {suite.name: by_class.get(suite.options, Options()) for suite in suites},
        )
        if request.bench.threshold is not None and request.study.study:
            given, fits = option_named("threshold"), option_named("study")
            raise UsageError(f"{fits} fits thresholds of its own: leave {given} out")
        for options in request.suites.values():
            if isinstance(options, QaOptions):
                options.check_counts(request.bench.counts)
        return request, EngineOptions(**engine)

    def settings(self, has_data: bool) -> dict[str, Any]:
        """Return the request in printable form, also used for the identity of its results."""
        bench, study = self.bench, self.study
        settings: dict[str, Any] = {}
        if study.size_bins is not None:
            settings["size_bins"] = list(study.size_bins)
        if not has_data:
            return {"as_published": bench.as_published, **settings}
        for options in self.suites.values():
            settings |= _values_set(options)
        if "sampling" in settings:
            settings["sampling"] = settings["sampling"].parameters()
        if "mapping" in settings:
            settings["map"] = dict(settings.pop("mapping"))
        for name in ("against", "answer", "paper_forms", "multi_sentence", "threshold", "tuned"):
            if getattr(bench, name):
                settings[name] = getattr(bench, name)
        return {
            "protocol": bench.protocol,
            "seed": bench.seed,
            "bootstrap": bench.bootstrap,
            "samples": bench.counts or None,
            "split": bench.splits or None,
            "limit": bench.limit,
            "keep_generic": False,
            "as_published": bench.as_published,
            "beta": bench.beta,
            "study": study.study,
            "famd": list(study.famd) or None,
            **settings,
        }


def _values_set(options: Options) -> dict[str, Any]:
    """Return the options that are set: an empty mapping is not."""
    return {name: value for name, value in options.given().items() if value}


def _suites_with(options_class: type[Options]) -> list[str]:
    from veridical_lab.bench.datasets import all_suites

    return [suite.name for suite in all_suites() if suite.options is options_class]


@dataclass(frozen=True, kw_only=True)
class RankOptions(Options):
    """The options of :func:`veridical_lab.rank.rank`, which says what they mean."""

    by: str = option(
        "model", "Column that names the model; without it each file is a model.", Group.INPUT
    )
    split_by: str | None = option(
        None, "Column of parts; each part is also ranked separately.", Group.INPUT, kind=str
    )
    scorer: str | None = option(
        None,
        'Scorer "claims" with parameters, or the key of a scorer in a run; people: human '
        "unit_labels, without a model.",
        Group.SCORING,
        kind=str,
    )
    suite: str | None = option(None, "Benchmark suite of the inputs.", Group.INPUT, kind=str)
    limit: int | None = option(None, "Maximum rows to read.", Group.INPUT, least=1, kind=int)
    mapping: Mapping[str, str] | None = option(
        None, "Column to read a field from; repeatable.", Group.INPUT, kind=dict
    )
    reader: str | None = option(
        None, "Reader of a published data set, such as wikibio.", Group.INPUT, kind=str
    )
    three_way: bool = option(
        False, "Read unit_labels as 0 entailed, 0.5 neutral, 1 contradicted.", Group.INPUT
    )
    order: Order = option("hallucination", "Rate that sorts the models.", Group.FIGURES)
    pair_by: Pairing | None = option(
        None, "Field that pairs answers to one prompt. Default: prompt, or id.", Group.FIGURES
    )
    every_prompt: bool = option(
        False,
        "Include prompts that some models did not answer.",
        Group.FIGURES,
    )
    seed: int = option(0, "Seed of the resamples.", Group.FIGURES, least=0)
    bootstrap: int = option(
        1000, "Bootstrap resamples per interval and test; 0 for none.", Group.FIGURES, least=0
    )
    out: str | Path | None = option(None, names=Names.RUN)
    retry_failed: bool = option(False)

    def __post_init__(self) -> None:
        super().__post_init__()
        orders = ("hallucination", "contradiction", "abstain")
        if self.order not in orders:
            raise UsageError(f"order is {', '.join(orders)}, not {self.order!r}")
        if self.pair_by not in (None, "prompt", "id"):
            raise UsageError(f"answers are paired by prompt or id, not by {self.pair_by!r}")

    def settings(self) -> dict[str, Any]:
        """Return the options in printable form."""
        reading = ["by", "split_by", "scorer", "suite", "limit", "mapping", "reader", "three_way"]
        return {
            **{name: value for name in reading if (value := getattr(self, name))},
            "order": self.order,
            "every_prompt": self.every_prompt,
            "seed": self.seed,
            "bootstrap": self.bootstrap,
        }


class BenchKeywords(EngineKeywords, total=False):
    """Keywords of :func:`veridical.bench`.

    These are the options of any benchmark, of its suites and of the study, and those of the engine.
    """

    split: str | Sequence[str] | None
    samples: int | Sequence[int] | None
    protocol: Protocol
    against: Against | None
    answer: str | None
    paper_forms: bool
    multi_sentence: bool
    as_published: bool
    threshold: float | None
    tuned: bool
    beta: float | None
    out: str | Path | None
    seed: int
    bootstrap: int
    limit: int | None
    retry_failed: bool
    fresh: bool
    study: bool
    table: str | Path | None
    size_bins: Sequence[float] | None
    famd: Sequence[str]
    keep_generic: bool
    mapping: Mapping[str, str] | None
    by: Literal["set"] | None
    reader: str | None
    strictness: Strictness
    grader: str | None
    sampling: Sampling | None
    judge: str | None


class RankKeywords(EngineKeywords, total=False):
    """All keywords of :func:`veridical_lab.rank.rank`, with those of the engine."""

    by: str
    split_by: str | None
    scorer: str | None
    suite: str | None
    limit: int | None
    mapping: Mapping[str, str] | None
    reader: str | None
    three_way: bool
    order: Order
    pair_by: Pairing | None
    every_prompt: bool
    seed: int
    bootstrap: int
    out: str | Path | None
    retry_failed: bool
