"""Run options of ``check``, ``plan`` and all commands that score records."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypedDict

from veridical.core.model_names import ModelName
from veridical.core.options import Group, Names, Options, option
from veridical.core.verdict_cuts import STRICTNESS, Strictness
from veridical.engine.options import EngineKeywords
from veridical.errors import UsageError, option_named

if TYPE_CHECKING:
    from veridical.core.records import Against
    from veridical.decide.repair import How
    from veridical.decide.selection import Select
    from veridical.engine.engine import Engine
    from veridical.retrieval.corpus.build import Notify
    from veridical.retrieval.query_writing import Queries
    from veridical.retrieval.search import Retriever
    from veridical.sampling.sampling import Sampling

#: Tokens per second of models of ``veridical models get``, with several concurrent replies, on two
#: cores that are shared with other work. Idle cores are two or three times as fast.
SPEEDS = {"local:smollm2": 20.0, "local:qwen-0.5b": 6.0, "local:qwen-1.5b": 3.0}
#: Help of the option, shared by the classes that have it.
PAPER_FORMS_HELP = (
    "Use the published form of each scorer whose default differs (docs/scorers/index.md)."
)


@dataclass(frozen=True, kw_only=True)
class RunOptions(Options):
    """The options of :func:`veridical.check` except the engine's, described there."""

    preset: str = option(
        "auto",
        "Set of scorers. auto: the default ensemble, with --llm a judge; all: every applicable "
        "scorer; fast: scorers without a model, which give a risk and no verdict.",
        Group.SCORING,
    )
    prior: float | None = option(
        None,
        "Expected share of wrong answers, in (0, 1); shifts risks, not verdicts. Default: 0.5.",
        Group.SCORING,
        kind=float,
        between=(0, 1),
    )
    strictness: Strictness | None = option(
        None,
        "Operating point of verdicts: low flags least, high flags most and gates then count "
        "unclear. Risks do not change. Default: the policy's, or balanced.",
        Group.SCORING,
        choices=STRICTNESS,
        called="strictness",
    )
    against: Against | Literal["auto"] | None = option(
        None,
        "Compare against this field (scorers that support it).",
        Group.SCORING,
        choices=("auto", "samples", "contexts", "reference"),
        called="source to compare with",
    )
    answer: str | None = option(
        None,
        "Part of each answer to compare: regex:PATTERN, number or json:FIELD.",
        Group.SCORING,
        kind=str,
    )
    paper_forms: bool = option(False, PAPER_FORMS_HELP, Group.SCORING)
    samples: int | None = option(
        None, "Maximum samples used per record.", Group.SCORING, least=1, kind=int
    )
    limit: int | None = option(None, "Maximum rows to read.", Group.INPUT, least=1, kind=int)
    out: str | Path | None = option(
        None,
        "Run directory; the same one resumes. Default: .veridical/runs/...",
        Group.RUN,
        kind=Path,
        names=Names.RUN,
    )
    mapping: Mapping[str, str] | None = option(
        None, "Column to read a field from; repeatable.", Group.INPUT, kind=dict
    )
    reader: str | None = option(
        None,
        "Reader of a data set or log format, such as wikibio or openai-chat.",
        Group.INPUT,
        kind=str,
    )
    strict: bool = option(False, "Stop at the first bad row.", Group.INPUT)
    retry_failed: bool = option(False, "Retry failed records and prompts.", Group.RUN)
    fresh: bool = option(
        False, "Ignore results of an earlier run and score every record.", Group.RUN
    )
    claims: bool = option(False, "Also split answers into claims and check each.", Group.SCORING)
    corpus: str | Path | Retriever | None = option(
        None,
        "Documents to retrieve contexts from: a folder, a JSON lines file, "
        "or search:NAME of veridical.toml.",
        Group.INPUT,
    )
    corpus_top: int | None = option(
        None, "Passages per query. Default: 3.", Group.INPUT, least=1, kind=int
    )
    corpus_query: Queries = option(
        "sentences",
        "Queries of the corpus: each sentence of an answer, or one question written by --llm.",
        Group.INPUT,
        choices=("sentences", "llm"),
        called="way to search",
    )
    corpus_pages: int | None = option(
        None,
        "Number of result pages of search:NAME to download and read, at most 10; public addresses "
        "only. Default: 0.",
        Group.INPUT,
        least=1,
        kind=int,
    )
    notify: Notify | None = option(None)
    sampling: Sampling | None = option(None)
    policy: str | Path | None = option(
        None,
        "Policy file (TOML) of rules to accept, review or reject answers.",
        Group.DECISIONS,
        kind=Path,
    )
    select: Select | None = option(
        None,
        "Select an answer. best: the response or sample of lowest risk; cluster: one of the most "
        "probable meaning.",
        Group.DECISIONS,
        choices=("best", "cluster"),
        called="way to select",
    )
    repair: How | None = option(
        None,
        "Repair unsupported text. drop: remove it; rewrite: rewrite it by --llm. The repaired "
        "answer is scored too.",
        Group.DECISIONS,
        choices=("drop", "rewrite"),
        called="way to repair",
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.corpus is None:
            for name in self.given():
                if name.startswith("corpus_"):
                    raise UsageError(
                        f"{option_named(name)} requires "
                        f"{option_named('corpus', 'PATH or search:NAME')}"
                    )
        if self.corpus_pages is not None:
            from veridical.retrieval.search import MOST_PAGES, SEARCH

            if self.corpus_pages > MOST_PAGES:
                raise UsageError(
                    f"{option_named('corpus_pages')} must be at most {MOST_PAGES}, "
                    f"not {self.corpus_pages}"
                )
            if not str(self.corpus).startswith(SEARCH):
                raise UsageError(
                    f"{option_named('corpus_pages')} requires a search service "
                    f"({option_named('corpus', 'search:NAME')}); a local corpus is read as a whole"
                )


class PlainRunKeywords(TypedDict, total=False):
    """:class:`RunOptions` as keywords, without those that the scorer ``claims`` has too."""

    preset: str
    prior: float | None
    strictness: Strictness | None
    answer: str | None
    paper_forms: bool
    samples: int | None
    limit: int | None
    out: str | Path | None
    mapping: Mapping[str, str] | None
    reader: str | None
    strict: bool
    retry_failed: bool
    fresh: bool
    claims: bool
    corpus: str | Path | Retriever | None
    corpus_top: int | None
    corpus_query: Queries
    corpus_pages: int | None
    notify: Notify | None
    sampling: Sampling | None
    policy: str | Path | None
    repair: How | None


class RunKeywords(PlainRunKeywords, total=False):
    """:class:`RunOptions` as keywords of public functions."""

    against: Against | Literal["auto"] | None
    select: Select | None


class CheckKeywords(RunKeywords, EngineKeywords, total=False):
    """All keywords of :func:`veridical.check`: a run's options, and those of the engine made for it
    without a warm ``engine``."""

    engine: Engine | None


@dataclass(frozen=True, kw_only=True)
class SpeedOptions(Options):
    """The option of plans that report hours.

    Raises:
        UsageError: a value is invalid.
    """

    tokens_per_second: float | None = option(
        None,
        "With --plan: generation speed of the LLM, if it is unknown.",
        Group.RUN,
        kind=float,
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        speed = self.tokens_per_second
        if speed is not None and not 0 < speed < math.inf:
            raise UsageError(f"{option_named('tokens_per_second')} must be above 0, not {speed:g}")

    def speed_of(self, llms: Sequence[str]) -> float | None:
        """Return the tokens per second of the slowest of ``llms``, by name; a given speed applies
        to all. None if a speed is unknown."""
        if self.tokens_per_second is not None:
            return self.tokens_per_second
        models = [ModelName.parse(name).head for name in llms]
        known = [SPEEDS[name] for name in models if name in SPEEDS]
        return min(known) if known and len(known) == len(llms) else None


@dataclass(frozen=True, kw_only=True)
class ScaleOptions(Options):
    """The options of :func:`veridical.plan` in addition to those of a run."""

    records: int | None = option(
        None,
        "Estimate machines, hours and cost for N such records, by preset.",
        Group.SCALE,
        least=1,
        kind=int,
    )
    machines: int | None = option(
        None, "Number of machines; the plan reports their hours.", Group.SCALE, least=1, kind=int
    )
    hours: float | None = option(
        None,
        "Hours available; the plan reports the machines required. Default: 24.",
        Group.SCALE,
        kind=float,
    )
    cores: int | None = option(
        None,
        "Cores per machine. Default: the cores of this machine.",
        Group.SCALE,
        least=1,
        kind=int,
    )
    price: float | None = option(
        None,
        "Price of a machine-hour, in the currency of the LLM prices.",
        Group.SCALE,
        least=0,
        kind=float,
    )
    deferral: float | None = option(
        None,
        "Share of records, from 0 to 1, that a model-free first tier passes on. Default: 0.1, or "
        "the share of --cascade.",
        Group.SCALE,
        kind=float,
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("hours", "price", "deferral"):
            value = getattr(self, name)
            if value is not None and not math.isfinite(value):
                raise UsageError(f"{option_named(name)} must be a number, not {value}")
        if self.hours is not None and self.hours <= 0:
            raise UsageError(f"{option_named('hours')} must be more than 0, not {self.hours}")
        if self.deferral is not None and not 0 <= self.deferral <= 1:
            raise UsageError(f"{option_named('deferral')} must be from 0 to 1, not {self.deferral}")
        if self.machines is not None and self.hours is not None:
            raise UsageError(
                f"{option_named('machines')} and {option_named('hours')} exclude each other; "
                "give one, and the plan computes the other"
            )
        further = [name for name in self.given() if name != "records"]
        if further and self.records is None:
            raise UsageError(f"{option_named(further[0])} requires {option_named('records', 'N')}")


class ScaleKeywords(TypedDict, total=False):
    """:class:`ScaleOptions` as keywords."""

    records: int | None
    machines: int | None
    hours: float | None
    cores: int | None
    price: float | None
    deferral: float | None


class PlanKeywords(CheckKeywords, ScaleKeywords, total=False):
    """All keywords of :func:`veridical.plan`."""
