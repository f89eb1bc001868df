"""Part of a scored shard: result lines in Parquet, and JSON.

The JSON file is written last: if both exist, the shard is done, and scoring it again is harmless.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from veridical.engine.engine import Engine
from veridical.engine.results import LEDGER
from veridical.errors import RowError, UsageError, VeridicalError
from veridical.files.atomic import replacing
from veridical.files.rundir import RunFiles, Stored
from veridical.io.source import InputSource, SourceSlice
from veridical.scale.manifest import Manifest, Shard
from veridical.scale.place import PARTS, JournalStore, OwnedShard, ShardStore, digest, remove
from veridical.scale.spending import added

_BATCH = 4096  # result lines of a row group
_LOOK = 1.0  # seconds between two checks that the shard still belongs to this process


class PartFile(BaseModel):
    """Content of the JSON file of a part.

    Attributes:
        identity: of the run, without its input.
        request: what is needed to reopen the run, as in its manifest.
        records: number of records with a result line.
        errors: invalid rows.
        more_errors: counts of those beyond the first, by cause.
        ledger: totals of LLM calls; None without any.
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


def files(shard: Shard) -> tuple[str, str]:
    """Return the names of the Parquet and the JSON file of a shard's part."""
    return f"{PARTS}/part-{shard.name}.parquet", f"{PARTS}/part-{shard.name}.json"


def left(place: ShardStore, manifest: Manifest) -> list[Shard]:
    """Return the shards that are not done."""
    there = place.names(PARTS)
    return [
        shard
        for shard in manifest.shards
        if any(name.removeprefix(f"{PARTS}/") not in there for name in files(shard))
    ]


def score_shard(
    place: ShardStore,
    manifest: Manifest,
    whole: InputSource,
    shard: Shard,
    options: Mapping[str, Any],
    engine: Engine,
    held: OwnedShard,
) -> bool:
    """Score a shard and write its part. A killed run is resumed.

    Args:
        held: the shard, owned by this process.

    Returns:
        True if it was scored; False if another process has taken it meanwhile.

    Raises:
        VeridicalError: it cannot be scored, or the place is not writable.
    """
    from veridical.api import Job

    folder = place.work_folder(shard.name)
    journal = place.journal(shard.name)
    if journal is not None:
        journal.fetch()
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
        while not held.lost:
            try:
                job.wait(_LOOK)
                break
            except TimeoutError:
                if journal is not None:
                    journal.copy()
        else:
            job.cancel()
            return False
    except BaseException:
        job.cancel()
        if journal is not None:
            journal.copy(now=True)
        raise
    whole.verify()
    try:
        write_part(place, shard, RunFiles(folder), journal)
    except OSError as e:
        raise VeridicalError(f"cannot write the part of shard {shard.index}: {e}") from None
    remove(folder)
    if journal is not None:
        journal.discard()
    return True


def write_part(
    place: ShardStore, shard: Shard, run: RunFiles, journal: JournalStore | None = None
) -> None:
    """Write the part of a shard from the run directory with its results.

    Args:
        journal: may contain calls of other computers.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    parquet, about = files(shard)
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
    draft = run.path.with_name(f"{run.path.name}.parquet")
    with (
        replacing(draft, private=True, binary=True) as file,
        pq.ParquetWriter(file, schema, compression="zstd") as writer,
    ):
        for batch in _batches(run.stored()):
            records += len(batch)
            writer.write_batch(pa.RecordBatch.from_pylist(batch, schema))
    manifest = run.manifest()
    ledger = run.path / LEDGER
    bills = [json.loads(ledger.read_text("utf-8"))] if ledger.exists() else []
    if journal is not None:
        bills += journal.totals(manifest["request"]["run"])
    part = PartFile(
        shard=shard,
        identity={k: v for k, v in manifest["identity"].items() if k != "inputs"},
        request=manifest["request"],
        records=records,
        errors=[error.as_dict() for error in run.errors()],
        more_errors=dict(run.more_errors()),
        ledger=added(bills) if bills else None,
        parquet="",
    )

    def said(mark: str) -> str:
        return part.model_copy(update={"parquet": mark}).model_dump_json(indent=1) + "\n"

    place.commit(parquet, draft, about, said)


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


def read_part(place: ShardStore, shard: Shard) -> PartFile:
    """Read the JSON file of a shard's part.

    Raises:
        UsageError: it is unreadable, or the Parquet file does not match it.
    """
    parquet, about = files(shard)
    try:
        part = PartFile.model_validate_json(place.read(about))
        with place.local(parquet) as there:
            if part.shard != shard or digest(there) != part.parquet:
                raise UsageError(
                    f"{place.name}/{parquet} is damaged; remove it, and run the shard again"
                )
    except (OSError, ValidationError) as e:
        raise UsageError(f"{place.name}/{about} cannot be read: {type(e).__name__}") from None
    return part


def lines_of(place: ShardStore, shard: Shard) -> Iterator[Stored]:
    """Yield the result lines of a part, in row order."""
    import pyarrow.parquet as pq

    with place.local(files(shard)[0]) as there, pq.ParquetFile(there) as file:
        for batch in file.iter_batches(columns=["row", "record", "line"]):
            for row in batch.to_pylist():
                yield Stored(row["row"], row["record"], row["line"].encode())


def errors_of(part: PartFile) -> Iterator[RowError]:
    """Yield the invalid rows of a part."""
    return (RowError(**error) for error in part.errors)
