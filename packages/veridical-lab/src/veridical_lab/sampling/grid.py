"""Grid of models and decodings, as in the Mirage study (Kulkarni 2025).

The grid is a TOML file::

    dataset = "truthfulqa"
    decodings = ["greedy", "beam:3", "ancestral", "top_k:40", "top_p:0.95"]

    [[model]]
    name = "OPT-125M"
    llm = "torch:facebook/opt-125m"
    size = "125M"
    tuning = "pretrained"

    [[model]]
    name = "Llama-3.1-8B-Instruct"
    llm = "http://127.0.0.1:8000/v1#meta-llama/Llama-3.1-8B-Instruct"
    size = "8B"
    tuning = "instruct"
    decodings = ["greedy", "ancestral"]

``dataset`` and a model's ``family`` and ``decodings`` are optional; ``decodings`` are the study's
five unless given. Every record gets the columns of the study's table: dataset, model, family,
size (billions of parameters), tuning, decoding and item.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from veridical.core.records import Record
from veridical.errors import UsageError
from veridical.files.outputs import writing
from veridical.files.settings import settings
from veridical.files.toml import read_toml
from veridical.io.problems import RowProblem
from veridical.llm.decoding import MIRAGE, Decoding, parse_decoding
from veridical.text.display import display, reason
from veridical_lab.sampling.levels import billions, family_of, is_instruct

if TYPE_CHECKING:
    from veridical.report.results import Results

COLUMNS = ("dataset", "model", "family", "size", "tuning", "decoding", "item")
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


@dataclass(frozen=True)
class GridCell:
    """One model with one decoding.

    Attributes:
        llm: as ``--llm`` takes it.
        columns: metadata of its records.
    """

    llm: str
    decoding: Decoding
    columns: dict[str, Any]

    def __str__(self) -> str:
        return f"{self.columns['model']}, {self.decoding}"


@dataclass(frozen=True)
class _Grid:
    """A grid's file."""

    model: tuple[dict[str, Any], ...] = ()
    dataset: str = "all"
    decodings: tuple[str, ...] = MIRAGE


@dataclass(frozen=True)
class _Model:
    """A section ``[[model]]``."""

    name: str
    llm: str
    size: Any = None
    tuning: Any = None
    family: str | None = None
    decodings: tuple[str, ...] | None = None


def read_grid(path: Path) -> list[GridCell]:
    """Read the cells of the grid in ``path``, model by model.

    Raises:
        UsageError: it is not TOML, or a setting is missing, unknown or duplicated.
    """
    try:
        grid = read_toml(path)
    except (OSError, ValueError) as e:
        raise UsageError(f"{display(path)}: {reason(e)}") from None
    top = settings(_Grid, grid, str(path))
    if not top.model:
        raise UsageError(f"{path}: name models in sections [[model]]")
    cells = []
    for number, table in enumerate(top.model, 1):
        where = f"{path}: model {number}"
        model = settings(_Model, table, where)
        for name in ("name", "llm"):
            if not getattr(model, name).strip():
                raise UsageError(f"{where}: {name} is blank")
        try:
            columns = {
                "dataset": top.dataset.strip(),
                "model": model.name.strip(),
                "family": (model.family or family_of(model.name)).strip(),
                "size": billions(model.size),
                "tuning": "instruct" if is_instruct(model.tuning) else "pretrained",
            }
            decodings = top.decodings if model.decodings is None else model.decodings
            if not decodings:
                raise UsageError(f"decodings is a list of texts, such as {list(MIRAGE)}")
            for decoding in map(parse_decoding, decodings):
                columns_of_it = {**columns, "decoding": str(decoding)}
                cells.append(GridCell(model.llm.strip(), decoding, columns_of_it))
        except RowProblem as e:
            raise UsageError(f"{where}: {e.field} {e.error}") from None
        except UsageError as e:
            raise UsageError(f"{where}: {e}") from None
    seen: set[str] = set()
    for cell in cells:
        if str(cell) in seen:
            raise UsageError(f"{path}: {cell} is defined twice; remove one")
        seen.add(str(cell))
    return cells


def table_rows(results: Results, answers: Iterable[Any]) -> Iterator[dict[str, Any]]:
    """Yield rows of the study's long table: the columns, ``scorer`` and ``value``.

    ``value`` is the scorer's own number if it has one, as the study reports metrics, else the risk.
    Scores without a value are left out.

    Args:
        results: of scoring the records of a grid.
        answers: those records (and row errors), in the same order.
    """
    records = (a for a in answers if isinstance(a, Record))
    for result in results:
        record = next(r for r in records if r.row == result.row)
        columns = {name: record.meta.get(name) for name in COLUMNS}
        if columns["model"] is None or columns["decoding"] is None:
            raise UsageError(f"row {record.row} was not sampled by a grid")
        for s in results.scorers:
            score = result.scores[s.key]
            if score.risk is None:
                continue
            signed = s.scorer.signed_raw(score)
            flip = -1.0 if s.scorer.raw_is == "confidence" else 1.0
            value = score.risk if signed is None else flip * signed
            yield {**columns, "scorer": s.key, "value": value}


def write_table(rows: Iterable[dict[str, Any]], path: Path) -> int:
    """Write ``rows`` as CSV, or as JSON lines if ``path`` ends so; how many there were.

    In CSV, texts that a spreadsheet would take for a formula get an apostrophe before them.
    """
    count = 0
    with writing(path) as f:
        lines = csv.DictWriter(f, [*COLUMNS, "scorer", "value"])
        as_csv = path.suffix.lower() not in (".jsonl", ".ndjson")
        if as_csv:
            lines.writeheader()
        for row in rows:
            count += 1
            if as_csv:
                lines.writerow({k: _cell(v) for k, v in row.items()})
            else:
                f.write(json.dumps(row) + "\n")
    return count


def _cell(value: Any) -> Any:
    if isinstance(value, str) and value.startswith(_FORMULA):
        return "'" + value
    return value
