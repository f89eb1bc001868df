"""Flags that several commands take."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar, cast

from veridical.cli.declared import argument, flag, flags, output
from veridical.core.options import Group, Options, names_of
from veridical.core.verdict_cuts import Strictness
from veridical.engine.options import DEFAULT_STORE, EngineOptions, Precision
from veridical.errors import UsageError
from veridical.run.options import RunOptions, SpeedOptions

if TYPE_CHECKING:
    from veridical.core.registry import BoundScorer
    from veridical.run.options import CheckKeywords
    from veridical.sampling.sampling import Sampling

T = TypeVar("T")

#: Where models' answers are kept unless said otherwise.
STORE = str(DEFAULT_STORE)

Preset = Literal["auto", "all", "fast"]

# Flags that commands have beside different ones.
INPUTS = argument("JSONL, JSON, CSV, TSV, Parquet (.gz too); - is JSONL on stdin.")
MAP = flag(called="--map", metavar="FIELD=COLUMN")
CORPUS = flag(metavar="PATH")
PART = flag(metavar="PART")
TEMPERATURE = flag(
    "Of the samples; the greedy response is at 0.", Group.ANSWERS, 1.0, least=0, most=10
)
JUNIT = output("Write JUnit XML, one test case a record; - for stdout.")
SARIF = output("Write SARIF 2.1.0, for code scanning; - for stdout.")
MARKDOWN = output("Write a summary in Markdown; - for stdout.")


@flags(RunOptions)
class RecordFlags:
    """The records, and where their contexts are found."""

    inputs: list[str] = INPUTS
    corpus: str | None = CORPUS
    corpus_top: int | None
    corpus_query: str
    corpus_pages: int | None
    limit: int | None
    mapping: list[str] | None = MAP
    reader: str | None


@flags(RunOptions)
class PresetFlags:
    """Scorers, and the operating point of verdicts."""

    scorers: str | None = flag(
        'Such as "cosine, ngram(n=2)". Default: the preset\'s.', Group.SCORING
    )
    preset: Preset
    prior: float | None
    strictness: Strictness | None


@flags(RunOptions)
class ComparedFlags:
    """Fields of a record that are compared, and the scorers' forms."""

    against: Literal["samples", "contexts", "reference"] | None
    answer: str | None = PART
    samples: int | None
    claims: bool
    paper_forms: bool


@flags(EngineOptions)
class EncoderFlags:
    """The models that encode."""

    embedder: str
    token_encoder: str | None
    image_embedder: str


@flags(EngineOptions)
class JudgeFlags:
    """The models that judge."""

    nli: str
    precision: Precision | None
    llm: str | None
    proxy: str | None
    spans: str | None
    budget: float | None


@flags()
class ModelFlags(EncoderFlags, JudgeFlags):
    """All models."""


@flags()
class SampleFlags:
    """Number of samples, and when sampling stops."""

    n: str | None = flag(
        "Samples of a prompt; 3:20 stops early where more would not change the decision. "
        "Default: 10, or --samples; with --grid 0.",
        Group.ANSWERS,
        metavar="N|LEAST:MOST",
    )
    temperature: float = TEMPERATURE
    adaptive: str | None = flag(
        "Decision of --n LEAST:MOST. Default: rouge_l:0.5.",
        Group.ANSWERS,
        metavar="SCORER:THRESHOLD",
    )
    alpha: float | None = flag("Share of wrong early decisions. Default: 0.05.", Group.ANSWERS)


@flags()
class AnswerFlags:
    """Sampling of answers to prompts."""

    decoding: str | None = flag(
        "greedy or beam:3 for the response; ancestral, top_k:40 or top_p:0.95 for the draws. "
        "Default: as the server draws.",
        Group.ANSWERS,
    )
    max_tokens: int = flag("Of each answer.", Group.ANSWERS, 512, least=1)
    system: str | None = flag("System message, for prompts that have none.", Group.ANSWERS)


@flags(SpeedOptions)
class PlanFlags:
    """A plan in the place of the work."""

    plan: bool = flag("Count calls, tokens and hours, and ask nothing.", Group.RUN, False)
    tokens_per_second: float | None = flag(metavar="X")


def cascade_of(path: Path, scorers: str | None) -> list[BoundScorer]:
    """The scorer that ``--cascade`` names.

    Raises:
        UsageError: ``--scorers`` is given too, or the file is none of a cascade.
    """
    from veridical.core.registry import REGISTRY

    if scorers is not None:
        raise UsageError("--cascade takes the place of --scorers: give one of them")
    return [REGISTRY.bind("cascade", {"file": str(path)})]


def run_keywords(options: Any) -> CheckKeywords:
    """The keywords of :func:`veridical.check` that a command has options of."""
    return cast("CheckKeywords", keywords_of(options, RunOptions, EngineOptions))


def keywords_of(options: Any, *classes: type[Options]) -> dict[str, Any]:
    """The options of a command that ``classes`` have too, as keywords of a public function."""
    names = [name for name in names_of(*classes) if hasattr(options, name)]
    return {name: _plain(name, getattr(options, name)) for name in names}


def _plain(name: str, value: Any) -> Any:
    """The value of an option as Python takes it."""
    if name == "mapping":
        return mapping_of(value)
    return store_of(value) if name == "store" else value


def store_of(place: T) -> T | None:
    """The folder that ``--store`` names; None for none."""
    return None if place == "none" else place


def mapping_of(pairs: list[str] | None) -> dict[str, str]:
    """What ``--map`` says: field -> column.

    Raises:
        UsageError: a pair is none, or a field is given twice.
    """
    mapping: dict[str, str] = {}
    for pair in pairs or ():
        field, sep, column = pair.partition("=")
        if not (sep and field and column):
            raise UsageError(f"--map takes field=column, not {pair!r}")
        if field in mapping:
            raise UsageError(f"--map gives {field!r} twice")
        mapping[field] = column
    return mapping


def rows_of(inputs: list[str]) -> str | list[str]:
    """What the inputs of a command name: files, or standard input.

    Raises:
        UsageError: both.
    """
    if "-" in inputs and len(inputs) > 1:
        raise UsageError("- (stdin) cannot be mixed with files")
    return "-" if inputs == ["-"] else inputs


def sampling_of(
    n: str | None,
    temperature: float,
    adaptive: str | None,
    alpha: float | None,
    *,
    default_n: int,
    **settings: Any,
) -> Sampling:
    """What ``--n``, ``--adaptive`` and ``--alpha`` say; None was not given.

    Args:
        default_n: samples where ``--n`` does not say.
        settings: the other fields of :class:`~veridical.sampling.sampling.Sampling`.

    Raises:
        UsageError: one is malformed or out of range, or does not go with the others.
    """
    from veridical.sampling.adaptive import Adaptive, parse_count
    from veridical.sampling.sampling import Sampling

    least, most = parse_count(str(default_n) if n is None else n)
    if n is None or ":" not in n:
        if adaptive is not None or alpha is not None:
            raise UsageError("--adaptive and --alpha go with --n LEAST:MOST, such as --n 3:20")
        return Sampling(n=most, temperature=temperature, **settings)
    rule: dict[str, Any] = {}
    if adaptive is not None:
        rule["scorer"], _, number = adaptive.rpartition(":")
        try:
            rule["threshold"] = float(number)
        except ValueError:
            raise UsageError(f"--adaptive takes SCORER:THRESHOLD, not {adaptive!r}") from None
    if alpha is not None:
        rule["alpha"] = alpha
    decided = Adaptive(least, most, **rule)
    return Sampling(n=least, adaptive=decided, temperature=temperature, **settings)
