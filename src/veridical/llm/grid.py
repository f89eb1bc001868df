"""Many models, each by several decodings: the table of the Mirage study (Kulkarni 2025).

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
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from veridical.errors import UsageError, unknown_name
from veridical.evaluate.study.levels import billions, family_of, is_instruct
from veridical.io.problems import RowProblem
from veridical.llm.decoding import MIRAGE, Decoding, parse_decoding
from veridical.records import Record

if TYPE_CHECKING:
    from veridical.results import Results

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

COLUMNS = ("dataset", "model", "family", "size", "tuning", "decoding", "item")
_TOP = ("dataset", "decodings", "model")
_MODEL = ("name", "llm", "size", "tuning", "family", "decodings")
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


@dataclass(frozen=True)
class Cell:
    """One model by one decoding.

    Attributes:
        llm: as ``--llm`` takes it.
        columns: what its records say of it.
    """

    llm: str
    decoding: Decoding
    columns: dict[str, Any]

    def __str__(self) -> str:
        return f"{self.columns['model']}, {self.decoding}"


def read_grid(path: Path) -> list[Cell]:
    """The cells of the grid in ``path``, model by model.

    Raises:
        UsageError: it is not TOML, or something in it is missing, unknown or twice there.
    """
    try:
        grid = tomllib.loads(path.read_text("utf-8"))
    except (OSError, ValueError) as e:
        raise UsageError(f"{path}: {e}") from None
    _known(grid, _TOP, str(path))
    models = grid.get("model")
    if not isinstance(models, list) or not models or not all(isinstance(m, dict) for m in models):
        raise UsageError(f"{path}: name models in sections [[model]]")
    dataset = _word(grid, "dataset", str(path)) if "dataset" in grid else "all"
    shared = grid.get("decodings", list(MIRAGE))
    cells = []
    for number, model in enumerate(models, 1):
        where = f"{path}: model {number}"
        _known(model, _MODEL, where)
        name = _word(model, "name", where)
        try:
            columns = {
                "dataset": dataset,
                "model": name,
                "family": _word(model, "family", where) if "family" in model else family_of(name),
                "size": billions(model.get("size")),
                "tuning": "instruct" if is_instruct(model.get("tuning")) else "pretrained",
            }
        except RowProblem as e:
            raise UsageError(f"{where}: {e.field} {e.error}") from None
        llm = _word(model, "llm", where)
        for decoding in _decodings(model.get("decodings", shared), where):
            cells.append(Cell(llm, decoding, {**columns, "decoding": str(decoding)}))
    seen: set[str] = set()
    for cell in cells:
        if str(cell) in seen:
            raise UsageError(f"{path}: {cell} is there twice")
        seen.add(str(cell))
    return cells


def _known(section: dict[str, Any], names: Iterable[str], where: str) -> None:
    for key in section:
        if key not in names:
            raise unknown_name(f"setting in {where}:", key, names)


def _word(section: dict[str, Any], key: str, where: str) -> str:
    value = section.get(key)
    if not isinstance(value, str) or not value.strip():
        raise UsageError(f"{where}: {key} must be there, and be text")
    return value.strip()


def _decodings(given: Any, where: str) -> Iterator[Decoding]:
    if not isinstance(given, list) or not given or not all(isinstance(d, str) for d in given):
        raise UsageError(f"{where}: decodings is a list of texts, such as {list(MIRAGE)}")
    for text in given:
        try:
            yield parse_decoding(text)
        except UsageError as e:
            raise UsageError(f"{where}: {e}") from None


def table_rows(results: Results, answers: Iterable[Any]) -> Iterator[dict[str, Any]]:
    """Rows of the study's long table: the columns, ``scorer`` and ``value``.

    ``value`` is the scorer's own number where it has one, as the study reports metrics, else the
    risk. Scores that are none are left out.

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
    draft = path.with_name(path.name + ".tmp")
    with draft.open("w", encoding="utf-8", newline="") as f:
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
    draft.replace(path)
    return count


def _cell(value: Any) -> Any:
    if isinstance(value, str) and value.startswith(_FORMULA):
        return "'" + value
    return value
