"""Row reader for Arrow batches; a bad cell affects one row."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from veridical.io.problems import RowProblem
from veridical.text.display import reason

if TYPE_CHECKING:
    from collections.abc import Iterator


def batch_rows(batch: Any, start: int = 0) -> Iterator[dict[str, Any] | RowProblem]:
    """Yield the rows of a ``pyarrow.RecordBatch`` from ``start``.

    Dates and times are converted to text: Python's own types support neither nanoseconds nor all
    years.
    """
    import pyarrow as pa

    columns = [
        column.cast(pa.string()) if pa.types.is_temporal(column.type) else column
        for column in batch.columns
    ]
    batch = pa.RecordBatch.from_arrays(columns, names=batch.schema.names)
    for i in range(start, batch.num_rows):
        try:
            yield batch.slice(i, 1).to_pylist()[0]
        except UnicodeDecodeError as e:
            yield RowProblem(f"invalid UTF-8 at byte {e.start} of a text")
        except (pa.ArrowException, ValueError, OverflowError) as e:
            yield RowProblem(f"cannot be read: {reason(e)}")
