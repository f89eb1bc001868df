"""Fitted thresholds of single scorers, by strictness (``thresholds.json``)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from veridical.core.verdict_cuts import Cuts, Strictness

if TYPE_CHECKING:
    from veridical.core.registry import BoundScorer


@cache
def shipped() -> dict[str, Any]:
    """Return the table; ``scorers`` has an entry by a scorer's key, or else by its name.

    An entry has cuts by strictness (``low``, ``balanced``, ``high``), each with ``unclear``,
    ``flagged`` and, where known, ``contradicted``. ``by_model`` has further entries, by a model in
    the score's signature. ``labels`` is true if labels decide.
    """
    text = files("veridical.engine").joinpath("thresholds.json").read_text("utf-8")
    table: dict[str, Any] = json.loads(text)
    return table


def cuts_of(bound: BoundScorer, score: Mapping[str, Any], strictness: Strictness) -> Cuts | None:
    """Return the risks at which the verdict of a scorer's score changes; None if not known.

    They are those that the scorer declares, or else those of the table.
    """
    declared = bound.cuts(score["raw"], strictness)
    if declared is not None:
        return declared
    table = shipped()["scorers"]
    entry = table.get(bound.key) or table.get(bound.scorer.name)
    if entry is None or (bound.scorer.parts is not None and bound.key not in table):
        return None
    signature = score.get("signature") or ""
    for model, of_model in entry.get("by_model", {}).items():
        if f":{model}@" in signature:
            entry = {**entry, **of_model}
            break
    return Cuts(**entry[strictness], of_units=True, by_label=entry.get("labels", False))
