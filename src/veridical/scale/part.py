"""One shard, scored: a Parquet file of its result lines and a JSON file that says so.

The JSON file is written last: where both are, the shard is done, and doing it again is harmless.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from veridical.engine.engine import Engine
from veridical.engine.results import LEDGER
from veridical.errors import RowError, UsageError, VeridicalError
from veridical.files.atomic import replacing, write_atomic
from veridical.files.rundir import RunFiles, Stored
from veridical.io.source import Source, SourceSlice
from veridical.scale.manifest import Manifest, Shard

PARTS, WORK = "parts", "work"
_BATCH = 4096  # result lines of a row group


class Part(BaseModel):
    """What the JSON file of a part says.

    Attributes:
        identity: of the run, without its input.
        request: what it takes to open the run again, as in its manifest.
        records: how many records have a result line.
        errors: rows that were no valid records.
        more_errors: those beyond the first, by cause.
        ledger: what LLM calls came to; None where there were none.
        parquet: BLAKE2b digest of the Parquet file.
    """

    model_config = ConfigDict(extra="forbid", strict=True)

    shard: Shard
    identity: dict[str, Any]
    request: dict[str, Any]
    records: int
    errors: list[dict[str, Any]]
    more_errors: dict[str, int]
    ledger: dict[str, Any] | None
    parquet: str


def files(dest: Path, shard: Shard) -> tuple[Path, Path]:
    """The Parquet and the JSON file of a shard's part."""
    stem = dest / PARTS / f"part-{shard.name}"
    return stem.with_suffix(".parquet"), stem.with_suffix(".json")


def is_done(dest: Path, shard: Shard) -> bool:
    """Whether the shard has been scored."""
    return all(path.exists() for path in files(dest, shard))


def score_shard(
    dest: Path,
    manifest: Manifest,
    whole: Source,
    shard: Shard,
    options: Mapping[str, Any],
    engine: Engine,
) -> None:
    """Score a shard and write its part. A run that was killed goes on where it was.

    Raises:
        VeridicalError: it cannot be scored, or ``dest`` cannot be written.
    """
    from veridical.api import Job

    folder = dest / WORK / shard.name
    keywords: dict[str, Any] = {k: v for k, v in options.items() if k != "scorers"}
    keywords |= {"mapping": manifest.mapping or None, "reader": manifest.reader}
    job = Job(
        SourceSlice(whole, shard.start, shard.stop),
        options.get("scorers"),
        out=folder,
        engine=engine,
        **keywords,
    )
    try:
        job.wait()
    except BaseException:
        job.cancel()
        raise
    try:
        write_part(dest, shard, RunFiles(folder))
    except OSError as e:
        raise VeridicalError(f"cannot write the part of shard {shard.index}: {e}") from None
    shutil.rmtree(folder, ignore_errors=True)


def write_part(dest: Path, shard: Shard, run: RunFiles) -> None:
    """Write the part of a shard from the run directory that holds its results."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    parquet, about = files(dest, shard)
    parquet.parent.mkdir(parents=True, exist_ok=True)
    schema = pa.schema(
        [
            ("row", pa.int64()),
            ("id", pa.string()),
            ("risk", pa.float64()),
            ("verdict", pa.string()),
            ("record", pa.string()),
            ("line", pa.string()),
        ]
    )
    records = 0
    with (
        replacing(parquet, private=True, binary=True) as file,
        pq.ParquetWriter(file, schema, compression="zstd") as writer,
    ):
        for batch in _batches(run.stored()):
            records += len(batch)
            writer.write_batch(pa.RecordBatch.from_pylist(batch, schema))
    manifest = run.manifest()
    ledger = run.path / LEDGER
    part = Part(
        shard=shard,
        identity={k: v for k, v in manifest["identity"].items() if k != "inputs"},
        request=manifest["request"],
        records=records,
        errors=[error.as_dict() for error in run.errors()],
        more_errors=dict(run.more_errors()),
        ledger=json.loads(ledger.read_text("utf-8")) if ledger.exists() else None,
        parquet=digest(parquet),
    )
    write_atomic(about, part.model_dump_json(indent=1) + "\n", private=True)


def _batches(stored: Iterator[Stored]) -> Iterator[list[dict[str, Any]]]:
    batch: list[dict[str, Any]] = []
    for row, record, line in stored:
        said = json.loads(line)
        batch.append(
            {
                "row": row,
                "id": str(said["id"]),
                "risk": said["risk"],
                "verdict": said["verdict"],
                "record": record,
                "line": line.decode(),
            }
        )
        if len(batch) == _BATCH:
            yield batch
            batch = []
    if batch:
        yield batch


def digest(path: Path) -> str:
    """BLAKE2b of a file, 32 hex digits."""
    h = hashlib.blake2b(digest_size=16)
    with path.open("rb") as file:
        while block := file.read(1 << 20):
            h.update(block)
    return h.hexdigest()


def read_part(dest: Path, shard: Shard) -> Part:
    """What the JSON file of a shard's part says.

    Raises:
        UsageError: it cannot be read, or the Parquet file is not the one it is of.
    """
    parquet, about = files(dest, shard)
    try:
        part = Part.model_validate_json(about.read_bytes())
        if part.shard != shard or digest(parquet) != part.parquet:
            raise UsageError(f"{parquet} is damaged: remove it, and run the shard again")
    except (OSError, ValidationError) as e:
        raise UsageError(f"{about} cannot be read: {type(e).__name__}") from None
    return part


def lines_of(dest: Path, shard: Shard) -> Iterator[Stored]:
    """The result lines of a part, in row order."""
    import pyarrow.parquet as pq

    with pq.ParquetFile(files(dest, shard)[0]) as file:
        for batch in file.iter_batches(columns=["row", "record", "line"]):
            for row in batch.to_pylist():
                yield Stored(row["row"], row["record"], row["line"].encode())


def errors_of(part: Part) -> Iterator[RowError]:
    """The rows of a part that were no valid records."""
    return (RowError(**error) for error in part.errors)
