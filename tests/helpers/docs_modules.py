"""The scripts of ``docs``, which are in no package."""

from __future__ import annotations

import sys
from functools import cache
from importlib.util import module_from_spec, spec_from_file_location
from types import ModuleType

from places import ROOT


@cache
def docs_module(name: str) -> ModuleType:
    """``docs/NAME.py``, imported under a name of its own: other folders have scripts called the
    same. Its neighbours are found as when it is run."""
    folder = ROOT / "docs"
    spec = spec_from_file_location(f"docs_{name}", folder / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = module_from_spec(spec)
    sys.modules[spec.name] = module  # where dataclasses look for it
    sys.path.insert(0, str(folder))
    try:
        spec.loader.exec_module(module)
    finally:
        sys.path.remove(str(folder))
    return module
