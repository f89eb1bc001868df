"""veridical: how far can an LLM's answer be trusted?

The names below load on first use, so that importing the package costs next to nothing.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from veridical.version import __version__

if TYPE_CHECKING:
    from veridical import claims
    from veridical.api import acheck, check, plan
    from veridical.decide.tuning import tune
    from veridical.engine import Engine
    from veridical.errors import ModelError, NotApplicable, RowError, UsageError, VeridicalError
    from veridical.evaluate.runner import bench
    from veridical.evidence import Evidence
    from veridical.records import Context, Record, Sample, Span
    from veridical.registry import scorer
    from veridical.results import Results
    from veridical.scores import EvidenceItem, Result, Score, Unit

_PLACES = {
    "veridical.api": ("acheck", "check", "plan"),
    "veridical.decide.tuning": ("tune",),
    "veridical.engine": ("Engine",),
    "veridical.errors": ("ModelError", "NotApplicable", "RowError", "UsageError", "VeridicalError"),
    "veridical.evaluate.runner": ("bench",),
    "veridical.evidence": ("Evidence",),
    "veridical.records": ("Context", "Record", "Sample", "Span"),
    "veridical.registry": ("scorer",),
    "veridical.results": ("Results",),
    "veridical.scores": ("EvidenceItem", "Result", "Score", "Unit"),
}
_WHERE = {name: module for module, names in _PLACES.items() for name in names}

__all__ = [
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
    "bench",
    "check",
    "claims",
    "plan",
    "scorer",
    "tune",
]


def __getattr__(name: str) -> Any:
    if name in _WHERE:
        return getattr(importlib.import_module(_WHERE[name]), name)
    if name == "claims":
        return importlib.import_module("veridical.claims")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
