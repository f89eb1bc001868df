"""Location of ``--data``: a path, or a hub data set."""

from __future__ import annotations

import re
from pathlib import Path

from veridical.errors import UsageError
from veridical.io.formats import EXTENSIONS
from veridical.text.display import display, reason
from veridical_lab.bench.datasets.suite import Suite

_ID = re.compile(r"[A-Za-z0-9][\w.-]*/[\w.-]+")


def locate(suite: Suite, data: str | Path) -> Path:
    """Return the file or folder of ``data``; a hub id is fetched or found in the local cache.

    Raises:
        UsageError: it does not exist, or cannot be fetched; the message states the suite's needs.
    """
    path = Path(data)
    try:
        if path.exists():
            return path
    except (OSError, ValueError) as e:  # too long, a NUL character
        raise UsageError(f"--data {display(path)[:80]}: {reason(e)}") from None
    name = data if isinstance(data, str) else display(path)
    if not isinstance(data, str) or not _ID.fullmatch(data):
        hub = f", or the hub id {suite.hub}" if suite.hub else ""
        raise UsageError(
            f"--data {display(name)}: no such file or folder. {suite.name} needs {suite.needs}{hub}"
        )
    return _fetch(suite, data)


def _fetch(suite: Suite, identity: str) -> Path:
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import (
        GatedRepoError,
        LocalEntryNotFoundError,
        OfflineModeIsEnabled,
        RepositoryNotFoundError,
    )

    is_published = suite.hub is not None and identity.lower() == suite.hub.lower()
    patterns = [f"*{e}{gz}" for e in EXTENSIONS for gz in ("", ".gz")]
    nowhere = f"--data {identity}: no such file or folder"
    needs = f". {suite.name} needs {suite.needs}"
    if suite.hub and not is_published:
        needs += f", or the hub id {suite.hub}"
    try:
        return Path(
            snapshot_download(
                identity,
                repo_type="dataset",
                allow_patterns=list(suite.hub_files) if is_published else patterns,
            )
        )
    except GatedRepoError:
        why = "the hub's data set of that name asks for a login (hf auth login)"
    except RepositoryNotFoundError:
        why = "the hub has no public data set of that name"
    except OfflineModeIsEnabled:
        why = "the hub may not be asked (HF_HUB_OFFLINE is set)"
    except LocalEntryNotFoundError as e:
        why = f"the hub's data set of that name is not in its local cache: {_why_not(e)}"
    except (OSError, ValueError) as e:
        why = f"the hub's data set of that name cannot be fetched: {reason(e)}"
    raise UsageError(f"{nowhere}, and {why}{needs}")


def _why_not(error: Exception) -> str:
    from huggingface_hub.constants import HF_HUB_OFFLINE

    if HF_HUB_OFFLINE:
        return "HF_HUB_OFFLINE is set, so it is not asked"
    cause = error.__cause__
    return reason(cause) if isinstance(cause, Exception) else "it cannot be reached"
