"""Options that several commands take."""

from __future__ import annotations

from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape

from veridical.errors import UsageError

if TYPE_CHECKING:
    from veridical.llm.sampling import Sampling
    from veridical.registry import BoundScorer


class Preset(str, Enum):
    auto = "auto"
    fast = "fast"


class Select(str, Enum):
    best = "best"


class Repair(str, Enum):
    drop = "drop"
    rewrite = "rewrite"


class Against(str, Enum):
    samples = "samples"
    contexts = "contexts"
    reference = "reference"


Inputs = Annotated[
    list[str],
    typer.Argument(
        help="JSONL, JSON, CSV, TSV or Parquet files (.gz too), or - for JSONL on stdin."
    ),
]
Scorers = Annotated[
    str | None,
    typer.Option(help='Scorers, such as "cosine, ngram(n=2, stat=avg)". Default: the preset\'s.'),
]
PresetOption = Annotated[
    Preset,
    typer.Option(
        help="auto: every scorer the fields allow, with --llm those too that call an LLM; fast: "
        "the model-free ones."
    ),
]
AgainstOption = Annotated[
    Against | None, typer.Option(help="What to compare with, for scorers that can choose.")
]
Samples = Annotated[int | None, typer.Option(min=1, help="Use at most N samples a record.")]
Claims = Annotated[
    bool,
    typer.Option(
        "--claims",
        help="Take answers apart into claims too, and check each against contexts, reference or "
        "samples. For other extractors and checkers name the scorer: claims(extractor=...).",
    ),
]
CascadeOption = Annotated[
    Path | None,
    typer.Option(
        "--cascade",
        help="Ask the scorers of a file of `veridical tune --cascade` tier by tier, the dear ones "
        "only where the cheap ones leave doubt. In place of --scorers.",
    ),
]
PolicyOption = Annotated[
    Path | None,
    typer.Option(
        "--policy", help="TOML file that decides accept, review or reject for every record."
    ),
]
SelectOption = Annotated[
    Select | None,
    typer.Option(
        "--select",
        help="best: judge each of a response and its samples by the others, and tell the least "
        "risky.",
    ),
]
RepairOption = Annotated[
    Repair | None,
    typer.Option(
        "--repair",
        help="drop: take out what is unsupported; rewrite: have --llm write its sentences anew. "
        "What comes of it is scored too.",
    ),
]
Corpus = Annotated[
    str | None,
    typer.Option(
        metavar="PATH",
        help=escape(
            "Give records without contexts passages of your own documents: a folder of text, "
            "Markdown, HTML and PDF files, or JSON lines; or search:NAME, a [search.NAME] of "
            "veridical.toml."
        ),
    ),
]
CorpusTop = Annotated[
    int | None,
    typer.Option(min=1, help="Passages of --corpus for each sentence of an answer; default 3."),
]
Limit = Annotated[int | None, typer.Option(min=1, help="Stop after N rows.")]
Store = Annotated[
    str, typer.Option(help="Folder that keeps what models said, for every later run; or 'none'.")
]
Map = Annotated[
    list[str] | None,
    typer.Option("--map", help="field=column, where the usual column names do not serve."),
]
Reader = Annotated[
    str | None, typer.Option(help="Reader of a published data set's own format, such as wikibio.")
]
# escape(): a section in brackets would pass for markup and be left out.
Embedder = Annotated[
    str,
    typer.Option(
        help=escape(
            "minilm, a model folder, a hub id, torch:ID, http://HOST/v1#model, tei:URL, a "
            "[llm.NAME] of veridical.toml."
        )
    ),
]
TokenEncoder = Annotated[
    str | None, typer.Option(help="Encoder of the BERTScore family; the embedder unless named.")
]
Nli = Annotated[
    str,
    typer.Option(help="veridical-nli-mini, a model folder, a hub id, torch:ID, tei:URL, llm:NAME."),
]
Llm = Annotated[
    str | None,
    typer.Option(
        help=escape(
            "LLM of judges and of prompts without a response: a [llm.NAME] of veridical.toml, "
            "openai:MODEL, anthropic:MODEL, gemini:MODEL, ollama:MODEL, http://HOST/v1#MODEL, "
            "local."
        )
    ),
]
N = Annotated[
    str | None,
    typer.Option(
        "--n",
        metavar="N|LEAST:MOST",
        help="Samples of a prompt besides the response; 3:20 stops early where more would not "
        "change the decision (see --adaptive). Default: 10; --samples, where there is one; with "
        "--grid 0.",
    ),
]
AdaptiveOption = Annotated[
    str | None,
    typer.Option(
        metavar="SCORER:THRESHOLD",
        help="For --n LEAST:MOST: model-free scorer of the disagreement, and the threshold of "
        "the decision. Default: rouge_l:0.5.",
    ),
]
Alpha = Annotated[
    float | None,
    typer.Option(help="For --n LEAST:MOST: probability of a wrong early decision. Default: 0.05."),
]
Proxy = Annotated[
    str | None,
    typer.Option(
        help="Language model that reads texts for their token probabilities: smollm2, a folder, "
        "a .gguf file, a hub id, http://HOST/v1#MODEL."
    ),
]
Budget = Annotated[
    float | None,
    typer.Option(min=0, help="Most that LLM calls may cost, in the currency of their prices."),
]
RetryFailed = Annotated[
    bool,
    typer.Option(
        "--retry-failed",
        help="Run records with a failed score again, and ask prompts again whose answers failed; "
        "LLM replies that were of no use are asked for anew.",
    ),
]
Processes = Annotated[
    int | None, typer.Option(min=0, help="Worker processes for model-free scorers.")
]


Temperature = Annotated[
    float, typer.Option(min=0, max=10, help="Of the samples; the greedy response is at 0.")
]
DecodingOption = Annotated[
    str | None,
    typer.Option(
        help="greedy or beam:3 for the response; ancestral, top_k:40 or top_p:0.95 for the "
        "draws. Default: as the server draws."
    ),
]
MaxTokens = Annotated[int, typer.Option(min=1, help="Of each answer.")]
System = Annotated[str | None, typer.Option(help="System message, for prompts that have none.")]


def cascade_of(path: Path, scorers: str | None) -> list[BoundScorer]:
    """The scorer that ``--cascade`` names.

    Raises:
        UsageError: ``--scorers`` is given too, or the file is none of a cascade.
    """
    from veridical.registry import REGISTRY

    if scorers is not None:
        raise UsageError("--cascade takes the place of --scorers: give one of them")
    return [REGISTRY.bind("cascade", {"file": str(path)})]


def mapping_of(pairs: list[str] | None) -> dict[str, str]:
    """What ``--map`` says: field -> column.

    Raises:
        UsageError: a pair is none, or a field is given twice.
    """
    found = {}
    for pair in pairs or ():
        field, sep, column = pair.partition("=")
        if not (sep and field and column):
            raise UsageError(f"--map takes field=column, not {pair!r}")
        if field in found:
            raise UsageError(f"--map gives {field!r} twice")
        found[field] = column
    return found


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
        settings: the other fields of :class:`~veridical.llm.sampling.Sampling`.

    Raises:
        UsageError: one is malformed or out of range, or does not go with the others.
    """
    from veridical.llm.adaptive import Adaptive, parse_count
    from veridical.llm.sampling import Sampling

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
