"""Scorers in user files: ``--scorers ./file.py:name``.

Only the command line runs files. Scorer names in a request, a run directory or a configuration
are never paths.
"""

from __future__ import annotations

import importlib.util
import re
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from veridical.errors import UsageError
from veridical.text.display import display, reason, shown

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import ModuleType

_FILE = re.compile(r"(?P<before>(?:^|,)\s*)(?P<path>[^,()'\"=]+\.py):(?P<name>\w+)")


def loaded(scorers: str) -> str:
    """Run the files that a list of scorers names, and return the list with the scorers' names.

    Raises:
        UsageError: a file cannot be run, or has no such scorer.
    """
    return _FILE.sub(lambda m: m["before"] + _name(Path(m["path"].strip()), m["name"]), scorers)


def _name(path: Path, wanted: str) -> str:
    """Return the name of the scorer ``wanted`` of a file: its own, or that of its function."""
    found = _declared(_module(path))
    for function, name in found.items():
        if wanted in (function, name):
            return name
    has = f"it has {', '.join(found.values())}" if found else "it declares no scorer"
    raise UsageError(
        f"{display(path)} has no scorer {shown(wanted)}; {has}. A scorer is an async function "
        'under @veridical.scorer("name", ...)'
    )


def _declared(module: ModuleType) -> dict[str, str]:
    """Return the scorers that a module declares: function -> name."""
    from veridical.core.registry import DECLARED

    return {
        function: getattr(value, DECLARED).name
        for function, value in vars(module).items()
        if getattr(value, "__module__", None) == module.__name__ and hasattr(value, DECLARED)
    }


def _module(path: Path) -> ModuleType:
    place = path.resolve()
    name = f"veridical_own_{re.sub(r'[^a-z0-9_]', '_', str(place.with_suffix('')).lower())}"
    if name in sys.modules:
        return sys.modules[name]
    if not place.is_file():
        raise UsageError(f"--scorers: no such file: {display(path)}")
    spec = importlib.util.spec_from_file_location(name, place)
    assert spec is not None and spec.loader is not None
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    try:
        with _beside(place.parent):
            spec.loader.exec_module(module)
    except UsageError:
        del sys.modules[name]
        raise
    except Exception as e:
        del sys.modules[name]
        raise UsageError(f"{display(path)} cannot be run: {type(e).__name__}: {reason(e)}") from e
    return module


@contextmanager
def _beside(folder: Path) -> Iterator[None]:
    """Make the modules of a folder importable within the context."""
    sys.path.insert(0, str(folder))
    try:
        yield
    finally:
        sys.path.remove(str(folder))
