"""Results as data frames: every input row with added columns."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from veridical.core.records import Record
from veridical.core.scores import Result
from veridical.errors import RowError, UsageError
from veridical.text.display import shown

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow

    from veridical.core.registry import BoundScorer
    from veridical.engine.results import RunResults

#: Columns added to those of the input; all are text except the risk.
ADDED = ("verdict", "risk", "worst_sentence", "evidence", "error")
#: Prefix of an added column if the input has a column with its name.
PREFIX = "veridical_"

Columns = dict[str, list[Any]]


def to_arrow(results: RunResults, wide: bool) -> pyarrow.Table:
    """Implement :meth:`veridical.Results.to_arrow`."""
    import pyarrow as pa

    frame = results.given.frame
    count = 0 if frame is None else len(frame)
    if frame is None:
        columns, count = _originals(results)
        table = pa.table({name: _arrow(values) for name, values in columns.items()})
    elif frame.implementation.is_pandas():
        table = pa.table({name: _arrow(frame[name].to_list()) for name in frame.columns})
    else:
        table = frame.to_arrow()
    for name, added in _named(results, wide, count, table.column_names).items():
        kind = pa.string() if added.is_text else pa.float64()
        table = table.append_column(name, pa.array(added.values, kind))
    return table


def frame_of(rows: Sequence[Mapping[str, Any]]) -> pandas.DataFrame:
    """Make a data frame of rows.

    Raises:
        UsageError: pandas is not installed.
    """
    try:
        import pandas as pd
    except ImportError:
        raise _absent("pandas") from None
    return pd.DataFrame([dict(row) for row in rows])


def to_pandas(results: RunResults, wide: bool) -> pandas.DataFrame:
    """Implement :meth:`veridical.Results.to_pandas`."""
    try:
        import pandas as pd
    except ImportError:
        raise _absent("pandas") from None
    given = results.given.frame
    if given is None:
        columns, count = _originals(results)
        frame = pd.DataFrame(columns, index=pd.RangeIndex(count))
    elif given.implementation.is_pandas():
        frame = given.to_native().copy(deep=False)
    else:
        frame = given.to_pandas()
    for name, added in _named(results, wide, len(frame), frame.columns).items():
        frame[name] = pd.Series(added.values, dtype=added.dtype).array
    return frame


def to_polars(results: RunResults, wide: bool) -> polars.DataFrame:
    """Implement :meth:`veridical.Results.to_polars`."""
    try:
        import polars as pl
    except ImportError:
        raise _absent("polars") from None
    given = results.given.frame
    if given is None or not given.implementation.is_polars():
        frame = pl.from_arrow(to_arrow(results, wide))
        assert isinstance(frame, pl.DataFrame)
        return frame
    native: pl.DataFrame = given.to_native()
    added = _named(results, wide, len(native), native.columns)
    return native.with_columns(
        pl.Series(n, a.values, pl.String if a.is_text else pl.Float64) for n, a in added.items()
    )


def _absent(library: str) -> UsageError:
    return UsageError(f"to_{library}() needs {library}: pip install {library}")


def _named(results: RunResults, wide: bool, count: int, present: Iterable[Any]) -> dict[str, Added]:
    """Return the added columns, under names that the input does not have.

    Raises:
        UsageError: the input has a name with and without :data:`PREFIX`.
    """
    there = {str(name) for name in present}
    columns = {}
    for name, values in _added(results, wide, count).items():
        free = PREFIX + name if name in there else name
        if free in there:
            raise UsageError(
                f"the input has the columns {shown(name)} and {shown(free)}; rename one, "
                "so that the result column has a free name"
            )
        columns[free] = Added(name, values)
    return columns


def _added(results: RunResults, wide: bool, count: int) -> Columns:
    """Return the added values, one for each of the ``count`` rows of the input."""
    names = [*ADDED, "decision"]
    if wide:
        names.append("by")
        for scorer in results.scorers:
            names += (scorer.key + part for part in ("", ".raw", ".status", ".reason"))
    columns: Columns = {name: [None] * count for name in names}
    for result in results:
        for name, value in _values(result, results.scorers if wide else ()).items():
            columns[name][result.row] = value
    for error in _row_errors(results):
        columns["verdict"][error.row] = "unchecked"
        columns["error"][error.row] = str(error)
    if not wide and not any(columns["decision"]):  # no decisions were made
        del columns["decision"]
    return columns


def _values(result: Result, scorers: Iterable[BoundScorer]) -> dict[str, Any]:
    worst = result.worst
    values: dict[str, Any] = {
        "verdict": result.verdict,
        "risk": result.risk,
        "worst_sentence": None if worst is None else worst.text,
        "evidence": worst.evidence[0].text if worst is not None and worst.evidence else None,
        "error": None if result.reason == "no_statement" else result.why_unchecked,
        "decision": result.decision,
    }
    for scorer in scorers:
        score = result.scores[scorer.key]
        signed = scorer.scorer.signed_raw(score)
        flip = -1.0 if scorer.scorer.raw_is == "confidence" else 1.0
        values["by"] = result.by
        values[scorer.key] = score.risk
        values[scorer.key + ".raw"] = None if signed is None else flip * signed
        values[scorer.key + ".status"] = score.status
        values[scorer.key + ".reason"] = score.reason
    return values


def _row_errors(results: RunResults) -> Iterable[RowError]:
    """Return all row errors; reads the input again if the run has stored only the first."""
    if not results.counted_errors:
        return results.errors()
    limit = results.limit
    return (
        row
        for row in results.rows()
        if isinstance(row, RowError) and (limit is None or row.row < limit)
    )


def _originals(results: RunResults) -> tuple[Columns, int]:
    """Return the input's own columns, with sampled answers of prompts, and the number of rows."""
    columns: Columns = {}
    count = 0
    for count, row in enumerate(results.given.originals(), 1):
        for name, value in row.items():
            values = columns.setdefault(name, [])
            values += [None] * (count - 1 - len(values))
            values.append(value)
    for values in columns.values():
        values += [None] * (count - len(values))
    if results.sampled:
        answers = columns.setdefault("response", [None] * count)
        for record in results.rows():
            if isinstance(record, Record):
                answers[record.row] = record.response
    return columns, count


class Added(NamedTuple):
    """An added column, named after a field or a part of a score."""

    field: str
    values: list[Any]

    @property
    def is_text(self) -> bool:
        if self.field in (*ADDED, "decision", "by"):
            return self.field != "risk"
        return self.field.endswith((".status", ".reason"))

    @property
    def dtype(self) -> Any:
        """The pandas type of the column; texts have the library's default."""
        if not self.is_text:
            return "float64"
        return None if any(v is not None for v in self.values) else "object"


def _arrow(values: list[Any]) -> pyarrow.Array:
    """Return a column of the input; values of several types become JSON text."""
    import pyarrow as pa

    try:
        return pa.array(values, from_pandas=True)
    except (pa.ArrowException, TypeError, ValueError, OverflowError):
        return pa.array([None if v is None else _text(v) for v in values], pa.string())


def _text(value: Any) -> str:
    if isinstance(value, str):
        return value
    return json.dumps(_keyed(value), ensure_ascii=False, default=str)


def _keyed(value: Any) -> Any:
    return {str(k): v for k, v in value.items()} if isinstance(value, Mapping) else value
