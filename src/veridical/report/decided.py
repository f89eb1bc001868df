"""Report tables of decisions, selected answers, repairs and cascades."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from markupsafe import Markup

from veridical.engine.summary import Summary
from veridical.report.html import rendered

_CAUSES = 20


def tables_of(summary: Summary) -> list[Markup]:
    """Return the tables of decisions, selections, repairs and cascades, where the run has them."""
    causes: dict[str, list[tuple[str, int]]] = {}
    for (decision, cause), n in summary.causes.most_common():
        causes.setdefault(decision, []).append((cause, n))
    tables = (
        ("Decisions", "Decision", summary.decisions or {}),
        ("Best of the answers", "Selected", summary.selected),
        ("Repairs", "Status", summary.repairs),
        *(
            ("Where the cascade stopped", "Tier", {t or "no risk": n for t, n in tiers.items()})
            for tiers in summary.stopped.values()
        ),
    )
    return [
        _table(caption, name, counts, causes if caption == "Decisions" else {})
        for caption, name, counts in tables
        if counts
    ]


def _table(caption: str, name: str, counts: Mapping[str, int], causes: Mapping[str, Any]) -> Markup:
    total = sum(counts.values())
    rows = [
        (outcome.replace("_", " "), n, n / total, causes.get(outcome, [])[:_CAUSES])
        for outcome, n in counts.items()
    ]
    return rendered("decisions.html", caption=caption, head=(name, "Records", "Share"), rows=rows)
