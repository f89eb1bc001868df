"""Shard store named by a text."""

from __future__ import annotations

from pathlib import Path

from veridical.files.s3 import is_address
from veridical.scale.place import Folder, ShardStore

#: Seconds without a heartbeat after which the owner of a shard in an object store has lost it.
LEASE = 60.0


def place_of(text: str, lease: float = LEASE) -> ShardStore:
    """Open the store that ``text`` names: a folder, or ``s3://BUCKET/PREFIX``.

    Args:
        lease: seconds, see :data:`LEASE`.

    Raises:
        UsageError: the address is not usable.
    """
    if is_address(text):
        from veridical.scale.objects import ObjectPlace

        return ObjectPlace(text, lease)
    return Folder(Path(text))
