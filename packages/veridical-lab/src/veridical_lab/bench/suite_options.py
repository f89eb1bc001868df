"""Options that a suite has of its own. They are apart from the suites, which load numpy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from veridical.core.options import Group, Options, option
from veridical.core.verdict_cuts import STRICTNESS, Strictness
from veridical.errors import UsageError

if TYPE_CHECKING:
    from veridical.sampling.sampling import Sampling


@dataclass(frozen=True, kw_only=True)
class GenericOptions(Options):
    """Options of the suites ``begin`` and ``faithdial``, in which some responses are generic: they
    state nothing."""

    keep_generic: bool = option(False, "Keep BEGIN's generic responses.", Group.INPUT)


@dataclass(frozen=True, kw_only=True)
class GradedOptions(Options):
    """Options of the suite ``graded``. ``mapping``: record field -> column."""

    mapping: Mapping[str, str] | None = option(
        None, "For graded: column to read a field from; repeatable.", Group.INPUT, kind=dict
    )


@dataclass(frozen=True, kw_only=True)
class GroundedOptions(Options):
    """Options of the suite ``grounded``.

    Attributes:
        by: ``set`` gives a split for each set: the column ``dataset``, else the file.
        reader: of files in a published format; None reads the project's own records.
        strictness: operating point of the verdicts.
    """

    by: Literal["set"] | None = option(
        None,
        "For grounded: set, a split for each data set (column dataset, else file).",
        Group.INPUT,
        choices=("set",),
        called="way to split",
    )
    reader: str | None = option(
        None,
        "For grounded: aggrefact reads doc, claim, label and dataset.",
        Group.INPUT,
        kind=str,
    )
    strictness: Strictness = option(
        "balanced",
        "For grounded: operating point of the verdicts.",
        Group.FIGURES,
        choices=STRICTNESS,
        called="strictness",
    )


@dataclass(frozen=True, kw_only=True)
class QaOptions(Options):
    """Options of the suite ``qa``: how questions are answered and answers graded.

    Attributes:
        grader: of all answers, one of :data:`veridical.tuning.graders.GRADERS`; None takes each
            data set's own rule, where an answer has no label.
        sampling: how the language model answers; None for its usual way.
    """

    grader: str | None = option(
        None,
        "For qa: choice, numeric, exact, contains, llm, llm:FILE.toml. Default: each data set's "
        "own rule where there is no label.",
        Group.INPUT,
        kind=str,
    )
    sampling: Sampling | None = option(None)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.sampling is not None and self.sampling.adaptive is not None:
            raise UsageError("a benchmark draws as many samples of every answer: n is one number")
        if self.sampling is not None and self.sampling.response == "given":
            raise UsageError("questions come without a response: it is greedy, or the first draw")

    def check_counts(self, counts: Sequence[int]) -> None:
        """Check the numbers of samples.

        Raises:
            UsageError: a number is larger than the number of samples drawn.
        """
        if self.sampling is not None and counts and counts[-1] > self.sampling.n:
            raise UsageError(
                f"--samples {counts[-1]} exceeds the number of samples drawn: "
                f"{self.sampling.n} (--n)"
            )


@dataclass(frozen=True, kw_only=True)
class ExtractionOptions(Options):
    """Options of the suite ``extraction``. ``judge``: the checker of claims, None for ``nli``."""

    judge: str | None = option(
        None,
        "For extraction: the checker that judges claims: nli, llm, llm_joint.",
        Group.SCORING,
        kind=str,
    )


#: The classes of options that are of some suites only.
OF_SUITES: tuple[type[Options], ...] = (
    GenericOptions,
    GradedOptions,
    GroundedOptions,
    QaOptions,
    ExtractionOptions,
)
