"""Page data of decisions, selected answers and repairs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from veridical.core.scores import Repair, Result, Selected

MAX_CHANGES = 500  #: changes of one repair
MAX_RISKS = 100  #: risks of candidate answers

Json = Any
Shorten = Callable[[str], str]


def decision_of(result: Result, shorten: Shorten) -> dict[str, Json]:
    """Return ``why``, ``selected`` and ``repair`` of a record, where present.

    Args:
        shorten: cuts a text to the limit of the page, and marks the cut.
    """
    out: dict[str, Json] = {}
    if result.why is not None:
        out["why"] = [shorten(cause) for cause in result.why]
    if result.selected is not None:
        out["selected"] = _selected(result.selected, shorten)
    if result.repair is not None:
        out["repair"] = _repair(result.repair, shorten)
    return out


def _selected(selected: Selected, shorten: Shorten) -> dict[str, Json]:
    return {
        **selected.model_dump(include={"kind", "index", "risk", "by", "decision"}),
        "text": None if selected.text is None else shorten(selected.text),
        "risks": list(selected.risks[:MAX_RISKS]),
        "of": len(selected.risks),
    }


def _repair(repair: Repair, shorten: Shorten) -> dict[str, Json]:
    fields = {"how", "of", "status", "scorer", "risk", "by", "remaining", "decision"}
    return {
        **repair.model_dump(include=fields),
        "reason": None if repair.reason is None else shorten(repair.reason),
        "changes": [
            {
                "start": change.start,
                "end": change.end,
                "text": shorten(change.text),
                "new": shorten(change.new),
                "why": [shorten(statement) for statement in change.unsupported],
            }
            for change in repair.changes[:MAX_CHANGES]
        ],
    }
