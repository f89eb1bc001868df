"""veridical: checks how far an LLM's answer can be trusted.

The names below are imported on first use, so that importing the package costs little.
"""

from __future__ import annotations

import sys

from veridical import moved, plugins, telemetry
from veridical.version import __version__

telemetry.switch_off()
sys.meta_path.insert(0, moved.Moved())

TYPE_CHECKING = False  # typing's own would dominate the import time
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from veridical import claims
    from veridical.api import acheck, check, plan
    from veridical.core.evidence import Evidence
    from veridical.core.records import Context, Record, Sample
    from veridical.core.registry import scorer
    from veridical.core.scores import EvidenceItem, Result, Score, Unit
    from veridical.engine.engine import Engine
    from veridical.errors import ModelError, NotApplicable, RowError, UsageError, VeridicalError
    from veridical.report.results import Results
    from veridical.serve.client import AClient, Client
    from veridical.single import acheck_one, check_one
    from veridical.text.spans import Span
    from veridical.tuning.tuning import tune

    bench: Callable[..., Any]

_PLACES = {
    "veridical.serve.client": ("AClient", "Client"),
    "veridical.api": ("acheck", "check", "plan"),
    "veridical.single": ("acheck_one", "check_one"),
    "veridical.tuning.tuning": ("tune",),
    "veridical.engine.engine": ("Engine",),
    "veridical.errors": ("ModelError", "NotApplicable", "RowError", "UsageError", "VeridicalError"),
    "veridical.core.evidence": ("Evidence",),
    "veridical.core.records": ("Context", "Record", "Sample"),
    "veridical.core.registry": ("scorer",),
    "veridical.report.results": ("Results",),
    "veridical.core.scores": ("EvidenceItem", "Result", "Score", "Unit"),
    "veridical.text.spans": ("Span",),
}
_WHERE = {name: module for module, names in _PLACES.items() for name in names}

__all__ = [
    "AClient",
    "Client",
    "Context",
    "Engine",
    "Evidence",
    "EvidenceItem",
    "ModelError",
    "NotApplicable",
    "Record",
    "Result",
    "Results",
    "RowError",
    "Sample",
    "Score",
    "Span",
    "Unit",
    "UsageError",
    "VeridicalError",
    "__version__",
    "acheck",
    "acheck_one",
    "bench",
    "check",
    "check_one",
    "claims",
    "plan",
    "scorer",
    "tune",
]


def _builtin_scorers() -> Any:
    from veridical.builtin_scorers import BUILTIN

    return BUILTIN


plugins.OWN[plugins.SCORERS] = _builtin_scorers


def __getattr__(name: str) -> Any:
    import importlib

    if name in _WHERE:
        return getattr(importlib.import_module(_WHERE[name]), name)
    if name == "claims":
        return importlib.import_module("veridical.claims")
    if name == "bench":
        return plugins.load(plugins.NAMES, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
