"""Claims: extractors, checkers, and merging and aggregation of verdicts.

``veridical.claims.extract("...")`` returns the claims of a response, ``check(claims, passages)``
verdicts on claims, and ``ground(inputs)`` both for many records. The names below are imported on
first use.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from veridical.claims.aggregate import Judged, Rates, rule
    from veridical.claims.api import check, extract
    from veridical.claims.attribution import Verdict
    from veridical.claims.claim import Claim, Extraction
    from veridical.claims_run import ground

_WHERE = {
    "Claim": "veridical.claims.claim",
    "Extraction": "veridical.claims.claim",
    "Judged": "veridical.claims.aggregate",
    "Rates": "veridical.claims.aggregate",
    "Verdict": "veridical.claims.attribution",
    "check": "veridical.claims.api",
    "extract": "veridical.claims.api",
    "ground": "veridical.claims_run",
    "rule": "veridical.claims.aggregate",
}

__all__ = [
    "Claim",
    "Extraction",
    "Judged",
    "Rates",
    "Verdict",
    "check",
    "extract",
    "ground",
    "rule",
]


def __getattr__(name: str) -> Any:
    if name in _WHERE:
        return getattr(importlib.import_module(_WHERE[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
