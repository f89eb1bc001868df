"""Model weights: known files, cache folder and downloads."""

from __future__ import annotations

import os
import sys
from pathlib import Path

#: Environment variable for another folder of downloaded weights.
CACHE_VARIABLE = "VERIDICAL_CACHE"


def cache_folder() -> Path:
    """Return the folder of weights: ``$VERIDICAL_CACHE``, else the platform's cache folder."""
    named = os.environ.get(CACHE_VARIABLE)
    if named:
        return Path(named).expanduser()
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local"
        return Path(base) / "veridical" / "Cache"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "veridical"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "veridical"
