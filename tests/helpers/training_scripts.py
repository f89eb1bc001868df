"""The scripts that make the shipped artefacts, as modules."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest
from places import ROOT

FOLDER = ROOT / "training"


@contextmanager
def training_script(name: str) -> Iterator[ModuleType]:
    """A module of ``training/``, forgotten afterwards with those of the folder that it imports."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(FOLDER)
        try:
            yield import_module(name)
        finally:
            for other, module in list(sys.modules.items()):
                file = getattr(module, "__file__", None)
                if file is not None and Path(file).parent == FOLDER:
                    del sys.modules[other]
