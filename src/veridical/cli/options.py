"""Options that several commands take."""

from __future__ import annotations

from enum import Enum
from typing import Annotated

import typer

from veridical.errors import UsageError


class Preset(str, Enum):
    auto = "auto"
    fast = "fast"


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
    Preset, typer.Option(help="auto: every scorer the fields allow; fast: the model-free ones.")
]
AgainstOption = Annotated[
    Against | None, typer.Option(help="What to compare with, for scorers that can choose.")
]
Samples = Annotated[int | None, typer.Option(min=1, help="Use at most N samples a record.")]
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
Embedder = Annotated[
    str,
    typer.Option(help="minilm, a model folder, a hub id, torch:ID, http://HOST/v1#model, tei:URL."),
]
TokenEncoder = Annotated[
    str | None, typer.Option(help="Encoder of the BERTScore family; the embedder unless named.")
]
Nli = Annotated[
    str, typer.Option(help="veridical-nli-mini, a model folder, a hub id, torch:ID, tei:URL.")
]
Processes = Annotated[
    int | None, typer.Option(min=0, help="Worker processes for model-free scorers.")
]


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
