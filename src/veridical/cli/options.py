"""Options that several commands take."""

from __future__ import annotations

from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from veridical.cli.declared import option_of
from veridical.core.options import Group, Names, Options, names_of
from veridical.engine.options import DEFAULT_STORE, EngineOptions
from veridical.errors import UsageError
from veridical.run.options import RunOptions, SpeedOptions

if TYPE_CHECKING:
    from veridical.core.registry import BoundScorer
    from veridical.core.verdict_cuts import Strictness
    from veridical.run.options import CheckKeywords
    from veridical.sampling.sampling import Sampling


#: Where models' answers are kept unless said otherwise.
STORE = str(DEFAULT_STORE)


class Preset(str, Enum):
    auto = "auto"
    all = "all"
    fast = "fast"


class Precision(str, Enum):
    exact = "exact"
    fast = "fast"


class Select(str, Enum):
    best = "best"
    cluster = "cluster"


class Repair(str, Enum):
    drop = "drop"
    rewrite = "rewrite"


class QueryName(str, Enum):
    sentences = "sentences"
    llm = "llm"


class Against(str, Enum):
    samples = "samples"
    contexts = "contexts"
    reference = "reference"


Inputs = Annotated[
    list[str],
    typer.Argument(help="JSONL, JSON, CSV, TSV, Parquet (.gz too); - is JSONL on stdin."),
]
Scorers = Annotated[
    str | None,
    typer.Option(help='Such as "cosine, ngram(n=2)". Default: the preset\'s.'),
    Group.SCORING,
]
PresetOption = Annotated[Preset, option_of(RunOptions, "preset")]
AgainstOption = Annotated[Against | None, option_of(RunOptions, "against")]
AnswerOption = Annotated[str | None, option_of(RunOptions, "answer", metavar="PART")]
Prior = Annotated[float | None, option_of(RunOptions, "prior")]


class StrictnessOption(str, Enum):
    """Operating points."""

    low = "low"
    balanced = "balanced"
    high = "high"


def strictness_of(chosen: StrictnessOption | None) -> Strictness | None:
    """Return the operating point as Python takes it."""
    return None if chosen is None else chosen.value


StrictnessOf = Annotated[StrictnessOption | None, option_of(RunOptions, "strictness")]
Samples = Annotated[int | None, option_of(RunOptions, "samples")]
Claims = Annotated[bool, option_of(RunOptions, "claims", "--claims")]
CascadeOption = Annotated[
    Path | None,
    typer.Option(
        "--cascade",
        help="Cascade of `veridical tune`, in place of --scorers.",
    ),
    Group.SCORING,
]
PolicyOption = Annotated[Path | None, option_of(RunOptions, "policy", "--policy")]
SelectOption = Annotated[Select | None, option_of(RunOptions, "select", "--select")]
RepairOption = Annotated[Repair | None, option_of(RunOptions, "repair", "--repair")]
Corpus = Annotated[str | None, option_of(RunOptions, "corpus", metavar="PATH")]
CorpusTop = Annotated[int | None, option_of(RunOptions, "corpus_top")]
CorpusQuery = Annotated[QueryName, option_of(RunOptions, "corpus_query")]
CorpusPages = Annotated[int | None, option_of(RunOptions, "corpus_pages")]
Limit = Annotated[int | None, option_of(RunOptions, "limit")]
Store = Annotated[str, option_of(EngineOptions, "store")]
Map = Annotated[list[str] | None, option_of(RunOptions, "mapping", "--map", metavar="FIELD=COLUMN")]
Reader = Annotated[str | None, option_of(RunOptions, "reader")]
Embedder = Annotated[str, option_of(EngineOptions, "embedder")]
TokenEncoder = Annotated[str | None, option_of(EngineOptions, "token_encoder")]
ImageEmbedder = Annotated[str, option_of(EngineOptions, "image_embedder")]
Nli = Annotated[str, option_of(EngineOptions, "nli")]
PrecisionOption = Annotated[Precision | None, option_of(EngineOptions, "precision")]
Llm = Annotated[str | None, option_of(EngineOptions, "llm")]
N = Annotated[
    str | None,
    typer.Option(
        "--n",
        metavar="N|LEAST:MOST",
        help="Samples of a prompt; 3:20 stops early where more would not change the decision. "
        "Default: 10, or --samples; with --grid 0.",
    ),
    Group.ANSWERS,
]
AdaptiveOption = Annotated[
    str | None,
    typer.Option(
        metavar="SCORER:THRESHOLD",
        help="Decision of --n LEAST:MOST. Default: rouge_l:0.5.",
    ),
    Group.ANSWERS,
]
Alpha = Annotated[
    float | None,
    typer.Option(help="Share of wrong early decisions. Default: 0.05."),
    Group.ANSWERS,
]
Proxy = Annotated[str | None, option_of(EngineOptions, "proxy")]
Spans = Annotated[str | None, option_of(EngineOptions, "spans")]
Budget = Annotated[float | None, option_of(EngineOptions, "budget")]
RetryFailed = Annotated[bool, option_of(RunOptions, "retry_failed", "--retry-failed")]
Fresh = Annotated[bool, option_of(RunOptions, "fresh", "--fresh")]
Plan = Annotated[
    bool,
    typer.Option("--plan", help="Count calls, tokens and hours, and ask nothing."),
    Group.RUN,
]
TokensPerSecond = Annotated[float | None, option_of(SpeedOptions, "tokens_per_second", metavar="X")]
Processes = Annotated[int | None, option_of(EngineOptions, "processes")]


JUnit = Annotated[
    str | None,
    typer.Option(
        "--junit", help="Write JUnit XML, one test case a record; - for stdout.", metavar="FILE"
    ),
    Names.OUTPUT,
    Group.OUTPUT,
]
Sarif = Annotated[
    str | None,
    typer.Option(
        "--sarif", help="Write SARIF 2.1.0, for code scanning; - for stdout.", metavar="FILE"
    ),
    Names.OUTPUT,
    Group.OUTPUT,
]
Markdown = Annotated[
    str | None,
    typer.Option("--markdown", help="Write a summary in Markdown; - for stdout.", metavar="FILE"),
    Names.OUTPUT,
    Group.OUTPUT,
]


Temperature = Annotated[
    float,
    typer.Option(min=0, max=10, help="Of the samples; the greedy response is at 0."),
    Group.ANSWERS,
]
DecodingOption = Annotated[
    str | None,
    typer.Option(
        help="greedy or beam:3 for the response; ancestral, top_k:40 or top_p:0.95 for the "
        "draws. Default: as the server draws."
    ),
    Group.ANSWERS,
]
MaxTokens = Annotated[int, typer.Option(min=1, help="Of each answer."), Group.ANSWERS]
System = Annotated[
    str | None, typer.Option(help="System message, for prompts that have none."), Group.ANSWERS
]


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
    if name == "store":
        return None if value == "none" else value
    return value.value if isinstance(value, Enum) else value


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
