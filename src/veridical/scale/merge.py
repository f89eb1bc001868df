"""Merge of all shards' parts into one run.

The result equals that of a single process.
"""

from __future__ import annotations

import hashlib
import json
import uuid
from pathlib import Path

from veridical.api import RUNS, reopen
from veridical.engine.results import LEDGER
from veridical.errors import UsageError
from veridical.files.atomic import write_atomic
from veridical.files.rundir import RunDirectory
from veridical.report.results import Results
from veridical.scale import manifest as manifests
from veridical.scale.part import errors_of, left, lines_of, read_part
from veridical.scale.place import Folder, ShardStore
from veridical.scale.spending import added

RUN = "run"
_NAMED = 10


def run_folder(place: ShardStore) -> Path:
    """Return the folder of the merged run.

    It is in the folder of the shards, or for an object store below the current folder.
    """
    if isinstance(place, Folder):
        return place.path / RUN
    which = hashlib.blake2b(place.name.encode(), digest_size=8).hexdigest()
    return RUNS / which


def merge(place: ShardStore) -> Results:
    """Create the run directory of the whole input; repeated calls replace it.

    Raises:
        UsageError: shards are missing, damaged or scored differently, or the input has changed.
    """
    out = run_folder(place)
    manifest = manifests.read(place)
    missing = left(place, manifest)
    if missing:
        some = ", ".join(str(shard.index) for shard in missing[:_NAMED])
        more = ", ..." if len(missing) > _NAMED else ""
        raise UsageError(
            f"{len(missing)} of {len(manifest.shards)} shards are not done ({some}{more}); run "
            f"veridical shard run {place.name}"
        )
    source = manifest.open()
    parts = [read_part(place, shard) for shard in manifest.shards]
    first = parts[0]
    for part in parts:
        for name, value in part.identity.items():
            if value != first.identity.get(name):
                raise UsageError(
                    f"shards {first.shard.index} and {part.shard.index} were scored by different "
                    f"{name}; remove the part of one in {place.name} and run it again"
                )
    request = first.request | {"inputs": source.describe(), "run": uuid.uuid4().hex}
    identity = first.identity | {"inputs": source.fingerprint()}
    directory = RunDirectory(out, identity, request, fresh=True)
    try:
        for part in parts:
            for stored in lines_of(place, part.shard):
                directory.adopt(stored)
            for error in errors_of(part):
                directory.write_error(error)
            directory.add_errors(part.more_errors)
        ledgers = [part.ledger for part in parts if part.ledger is not None]
        if ledgers:
            write_atomic(out / LEDGER, json.dumps(added(ledgers)) + "\n", private=True)
    finally:
        directory.close()
    return reopen(out)
