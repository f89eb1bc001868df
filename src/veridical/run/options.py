"""What a run is asked for: the options of ``check``, ``plan`` and all that score records."""

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

#: Tokens a second that models of ``veridical models get`` write, several replies side by side, on
#: two cores that other work shares: on idle ones it is two or three times that.
SPEEDS = {"local:smollm2": 20.0, "local:qwen-0.5b": 6.0, "local:qwen-1.5b": 3.0}
#: Help of the option, in each class that has it.
PAPER_FORMS_HELP = (
    "Use each scorer's published form, where its default differs (docs/scorers.md lists them)."
)


@dataclass(frozen=True, kw_only=True)
class RunOptions(Options):
    """The options of :func:`veridical.check`, which says what they mean, but for the engine's."""

    preset: str = option(
        "auto",
        "auto: the few scorers that make the verdict, with --llm a judge; all: what the fields "
        "allow; fast: those without a model.",
        Group.SCORING,
    )
    prior: float | None = option(
        None,
        "Share of wrong answers to expect, in (0, 1): shifts risks, not verdicts. Default: 0.5.",
        Group.SCORING,
        kind=float,
        between=(0, 1),
    )
    strictness: Strictness | None = option(
        None,
        "Operating point of the verdicts: low flags least, high flags most and makes gates count "
        "unclear ones. Risks stay the same. Default: the policy's, or balanced.",
        Group.SCORING,
        choices=STRICTNESS,
        called="strictness",
    )
    against: Against | Literal["auto"] | None = option(
        None,
        "What scorers that can choose compare with.",
        Group.SCORING,
        choices=("auto", "samples", "contexts", "reference"),
        called="source to compare with",
    )
    answer: str | None = option(
        None,
        "Part of each answer that is compared: regex:PATTERN, number, json:FIELD.",
        Group.SCORING,
        kind=str,
    )
    paper_forms: bool = option(False, PAPER_FORMS_HELP, Group.SCORING)
    samples: int | None = option(
        None, "Use at most N samples of a record.", Group.SCORING, least=1, kind=int
    )
    limit: int | None = option(None, "Stop after N rows.", Group.INPUT, least=1, kind=int)
    out: str | Path | None = option(
        None, "Run directory. Default: .veridical/runs/...", Group.RUN, kind=Path, names=Names.RUN
    )
    mapping: Mapping[str, str] | None = option(
        None, "Read a field from this column; repeatable.", Group.INPUT, kind=dict
    )
    reader: str | None = option(
        None,
        "Reader of a published data set or of logs, such as wikibio or openai-chat.",
        Group.INPUT,
        kind=str,
    )
    strict: bool = option(False, "Stop at the first bad row.", Group.INPUT)
    retry_failed: bool = option(
        False, "Also score failed records and ask failed prompts again.", Group.RUN
    )
    fresh: bool = option(False, "Score all anew: use nothing of an earlier run.", Group.RUN)
    claims: bool = option(False, "Also split answers into claims and check each.", Group.SCORING)
    corpus: str | Path | Retriever | None = option(
        None,
        "Find contexts in your documents: a folder, a JSON lines file, "
        "or search:NAME of veridical.toml.",
        Group.INPUT,
    )
    corpus_top: int | None = option(
        None, "Passages for each query; default 3.", Group.INPUT, least=1, kind=int
    )
    corpus_query: Queries = option(
        "sentences",
        "How it is searched: by each sentence of an answer, or by one question that --llm writes.",
        Group.INPUT,
        choices=("sentences", "llm"),
        called="way to search",
    )
    corpus_pages: int | None = option(
        None,
        "Fetch the pages of the first N results of search:NAME and read them, from public "
        "addresses alone; at most 10. Default: none is fetched.",
        Group.INPUT,
        least=1,
        kind=int,
    )
    notify: Notify | None = option(None)
    sampling: Sampling | None = option(None)
    policy: str | Path | None = option(
        None, "TOML file of rules: accept, review or reject.", Group.DECISIONS, kind=Path
    )
    select: Select | None = option(
        None,
        "best: also judge samples, and name the least risky; cluster: name the answer that stands "
        "for the most probable meaning.",
        Group.DECISIONS,
        choices=("best", "cluster"),
        called="way to select",
    )
    repair: How | None = option(
        None,
        "drop: remove unsupported text; rewrite: let --llm rewrite it. The result is scored too.",
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
                        f"{option_named(name)} is of what finds contexts: name it "
                        f"({option_named('corpus', 'PATH or search:NAME')}) or leave it out"
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
                    f"{option_named('corpus_pages')} is for a search service "
                    f"({option_named('corpus', 'search:NAME')}): a corpus is read anyway"
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
    """All keywords of :func:`veridical.check`: a run's options, and those of the engine that is
    made for it unless a warm ``engine`` is given."""

    engine: Engine | None


@dataclass(frozen=True, kw_only=True)
class SpeedOptions(Options):
    """The option of plans that tell hours.

    Raises:
        UsageError: a value does not fit.
    """

    tokens_per_second: float | None = option(
        None,
        "With --plan: how fast the LLM writes, where that is not known.",
        Group.RUN,
        kind=float,
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        speed = self.tokens_per_second
        if speed is not None and not 0 < speed < math.inf:
            raise UsageError(f"{option_named('tokens_per_second')} is above 0, not {speed:g}")

    def speed_of(self, llms: Sequence[str]) -> float | None:
        """Tokens a second of the slowest of ``llms``, by their names; what was said holds for
        all. None where one's speed is not known."""
        if self.tokens_per_second is not None:
            return self.tokens_per_second
        models = [ModelName.parse(name).head for name in llms]
        known = [SPEEDS[name] for name in models if name in SPEEDS]
        return min(known) if known and len(known) == len(llms) else None


@dataclass(frozen=True, kw_only=True)
class ScaleOptions(Options):
    """The options of :func:`veridical.plan` besides those of a run."""

    records: int | None = option(
        None,
        "Also tell machines, hours and money for N records like these, by preset.",
        Group.SCALE,
        least=1,
        kind=int,
    )
    machines: int | None = option(
        None, "Tell the hours of M machines.", Group.SCALE, least=1, kind=int
    )
    hours: float | None = option(
        None, "Tell the machines for it to take H hours. Default: 24.", Group.SCALE, kind=float
    )
    cores: int | None = option(
        None, "Cores of a machine. Default: those of this one.", Group.SCALE, least=1, kind=int
    )
    price: float | None = option(
        None,
        "Price of an hour of a machine, in the currency of the LLM prices.",
        Group.SCALE,
        least=0,
        kind=float,
    )
    deferral: float | None = option(
        None,
        "Share of records that a model-free first tier leaves to the other scorers, from 0 to 1; "
        "of a --cascade its own. Default: 0.1.",
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
                f"{option_named('machines')} or {option_named('hours')}: give one, the other is "
                "what the plan tells"
            )
        further = [name for name in self.given() if name != "records"]
        if further and self.records is None:
            raise UsageError(f"{option_named(further[0])} goes with {option_named('records', 'N')}")


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
