"""The scripts of ``docs``, which are in no package."""

from __future__ import annotations

import importlib
import sys
from types import ModuleType

from places import ROOT


def docs_module(name: str) -> ModuleType:
    """``docs/NAME.py``, imported; its neighbours are found as when it is run."""
    folder = str(ROOT / "docs")
    sys.path.insert(0, folder)
    try:
        return importlib.import_module(name)
    finally:
        sys.path.remove(folder)
