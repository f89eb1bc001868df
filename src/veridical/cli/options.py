"""Flags shared by several commands."""

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

#: Default folder of stored model outputs.
STORE = str(DEFAULT_STORE)

Preset = Literal["auto", "all", "fast"]

# Flags that commands combine with their own.
INPUTS = argument(
    "Input files: JSONL, JSON, CSV, TSV or Parquet, also gzipped; - reads JSONL from stdin."
)
MAP = flag(called="--map", metavar="FIELD=COLUMN")
CORPUS = flag(metavar="PATH")
PART = flag(metavar="PART")
TEMPERATURE = flag(
    "Sampling temperature (the greedy response uses 0).", Group.ANSWERS, 1.0, least=0, most=10
)
JUNIT = output("Write JUnit XML with one test case per record; - for stdout.")
SARIF = output("Write SARIF 2.1.0 for code scanning; - for stdout.")
MARKDOWN = output("Write a Markdown summary; - for stdout.")


@flags(RunOptions)
class RecordFlags:
    """Options of the records and the sources of their contexts."""

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
    """Options of scorers and the operating point of verdicts."""

    scorers: str | None = flag(
        'Scorers to run, such as "cosine, ngram(n=2)". Default: those of --preset.', Group.SCORING
    )
    preset: Preset
    prior: float | None
    strictness: Strictness | None


@flags(RunOptions)
class ComparedFlags:
    """Options of the compared fields and the forms of scorers."""

    against: Literal["samples", "contexts", "reference"] | None
    answer: str | None = PART
    samples: int | None
    claims: bool
    paper_forms: bool


@flags(EngineOptions)
class EncoderFlags:
    """Options of encoder models."""

    embedder: str
    token_encoder: str | None
    image_embedder: str


@flags(EngineOptions)
class JudgeFlags:
    """Options of judging models."""

    nli: str
    precision: Precision | None
    llm: str | None
    proxy: str | None
    spans: str | None
    budget: float | None


@flags()
class ModelFlags(EncoderFlags, JudgeFlags):
    """Options of all models."""


@flags()
class SampleFlags:
    """Options of the number of samples and adaptive sampling."""

    n: str | None = flag(
        "Samples per prompt; 3:20 stops early when more would not change the decision. "
        "Default: --samples, or 10 (0 with --grid).",
        Group.ANSWERS,
        metavar="N|LEAST:MOST",
    )
    temperature: float = TEMPERATURE
    adaptive: str | None = flag(
        "Decision that --n LEAST:MOST samples for. Default: rouge_l:0.5.",
        Group.ANSWERS,
        metavar="SCORER:THRESHOLD",
    )
    alpha: float | None = flag(
        "Maximum share of wrong decisions from early stopping. Default: 0.05.", Group.ANSWERS
    )


@flags()
class AnswerFlags:
    """Options of the sampling of answers."""

    decoding: str | None = flag(
        "Decoding: greedy or beam:3 for the response; ancestral, top_k:40 or top_p:0.95 for the "
        "samples. Default: the server's.",
        Group.ANSWERS,
    )
    max_tokens: int = flag("Maximum tokens per answer.", Group.ANSWERS, 512, least=1)
    system: str | None = flag("System message for prompts without one.", Group.ANSWERS)


@flags(SpeedOptions)
class PlanFlags:
    """Options of an estimate instead of the work."""

    plan: bool = flag(
        "Estimate calls, tokens and hours, without calling the LLM.", Group.RUN, False
    )
    tokens_per_second: float | None = flag(metavar="X")


def cascade_of(path: Path, scorers: str | None) -> list[BoundScorer]:
    """Bind the scorer of ``--cascade``.

    Raises:
        UsageError: ``--scorers`` is also given, or the file is not a cascade.
    """
    from veridical.core.registry import REGISTRY

    if scorers is not None:
        raise UsageError("--cascade cannot be combined with --scorers: give one of them")
    return [REGISTRY.bind("cascade", {"file": str(path)})]


def run_keywords(options: Any) -> CheckKeywords:
    """Return the keywords of :func:`veridical.check` among a command's options."""
    return cast("CheckKeywords", keywords_of(options, RunOptions, EngineOptions))


def keywords_of(options: Any, *classes: type[Options]) -> dict[str, Any]:
    """Return the options that ``classes`` also declare, as keywords of a public function."""
    names = [name for name in names_of(*classes) if hasattr(options, name)]
    return {name: _plain(name, getattr(options, name)) for name in names}


def _plain(name: str, value: Any) -> Any:
    """Convert the value of an option for Python."""
    if name == "mapping":
        return mapping_of(value)
    return store_of(value) if name == "store" else value


def store_of(place: T) -> T | None:
    """Return the folder of ``--store``; None for ``none``."""
    return None if str(place) == "none" else place


def mapping_of(pairs: list[str] | None) -> dict[str, str]:
    """Parse ``--map`` into field -> column.

    Raises:
        UsageError: a value is not FIELD=COLUMN, or a field is given twice.
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
    """Return the inputs of a command: files, or ``-`` for standard input.

    Raises:
        UsageError: files and standard input are mixed.
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
    """Make the sampling of ``--n``, ``--adaptive`` and ``--alpha``; None is not given.

    Args:
        default_n: samples without ``--n``.
        settings: other fields of :class:`~veridical.sampling.sampling.Sampling`.

    Raises:
        UsageError: a value is malformed, out of range, or conflicts with another.
    """
    from veridical.sampling.adaptive import Adaptive, parse_count
    from veridical.sampling.sampling import Sampling

    least, most = parse_count(str(default_n) if n is None else n)
    if n is None or ":" not in n:
        if adaptive is not None or alpha is not None:
            raise UsageError("--adaptive and --alpha require --n LEAST:MOST, such as --n 3:20")
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
