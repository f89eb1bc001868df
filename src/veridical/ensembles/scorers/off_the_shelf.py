"""Label-free scorer sets of the package.

No labels are used. Each scorer's risk becomes its quantile in a shipped table. The set's weights
are those of ``off_the_shelf.json`` (docs/evidence/default-fit.md has their origin).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any, Literal, NamedTuple

from veridical.core.identity import Identity
from veridical.core.records import Record
from veridical.core.registry import REGISTRY, BoundScorer
from veridical.engine.risk import table_of

Comparison = Literal["auto", "contexts", "reference", "samples"]

#: Included on request in the set of the field that it compares with, at the weight of the heaviest
#: member.
CLAIMS = "claims"
_CLAIMS_ORDER = ("contexts", "reference", "samples")


class ChosenSets(NamedTuple):
    """The sets that apply to a record, and the weight of each scorer's key, adding up to 1."""

    sets: tuple[str, ...]
    weights: Mapping[str, float]

    def risk(self, risks: Mapping[str, float | None], samples: int) -> float | None:
        """Return the weighted mean quantile of the scored ``risks`` by key; ``samples`` selects the
        tables. None if there is no scored one."""
        total = weight = 0.0
        for key, w in self.weights.items():
            risk = risks.get(key)
            table = table_of(Identity.read(key), samples)
            if risk is not None and table is not None:
                total += w * table(risk)
                weight += w
        return total / weight if weight > 0 else None


@cache
def _shipped() -> dict[str, Any]:
    text = files("veridical.ensembles.scorers").joinpath("off_the_shelf.json").read_text("utf-8")
    shipped: dict[str, Any] = json.loads(text)
    return shipped


def sources() -> dict[str, Any]:
    """Return the shipped sets by the field that they compare with.

    A field has its ``share`` in a record with several fields, and its ``sets``. The first set whose
    ``longest`` (in characters) covers the response is used. A set has its members' ``weights``, and
    those of members that need a language model (``read``).
    """
    by_field: dict[str, Any] = _shipped()["sources"]
    return by_field


def choose(
    record: Record,
    against: Comparison = "auto",
    claims: bool = False,
    language_model: str | None = None,
) -> ChosenSets:
    """Return the sets for ``record``: of the field ``against``, or of all its fields, by the
    response's length. Members with a language model are included if one is named."""
    sets = []
    weights: dict[str, float] = {}
    checked = next((f for f in _CLAIMS_ORDER if _compares(record, f, against)), None)
    for field, source in sources().items():
        if not _compares(record, field, against):
            continue
        name, entry = next(
            (name, entry)
            for name, entry in source["sets"].items()
            if len(record.response) <= entry.get("longest", len(record.response))
        )
        set_weights = _weights(entry, language_model)
        if claims and field == checked:
            set_weights[CLAIMS] = max(set_weights.values())
        sets.append(name)
        share = source["share"] / sum(set_weights.values())
        for member, weight in set_weights.items():
            key = _bound(member, against, language_model).key
            weights[key] = weights.get(key, 0.0) + share * weight
    total = sum(weights.values())
    return ChosenSets(tuple(sets), {key: w / total for key, w in weights.items()})


@cache
def members(
    against: Comparison = "auto", claims: bool = False, language_model: str | None = None
) -> tuple[BoundScorer, ...]:
    """Return every scorer of any set that may be used."""
    names = {
        name: None
        for field, source in sources().items()
        for entry in source["sets"].values()
        for name in _weights(entry, language_model)
        if against in ("auto", field)
    }
    return tuple(
        _bound(name, against, language_model) for name in [*names, *([CLAIMS] if claims else [])]
    )


def _weights(entry: Mapping[str, Any], language_model: str | None) -> dict[str, float]:
    """Return the weights of a set's members, by name."""
    return {**entry["weights"], **(entry.get("read", {}) if language_model else {})}


@cache
def _bound(name: str, against: Comparison, language_model: str | None) -> BoundScorer:
    scorer = REGISTRY.get(name)
    given: dict[str, Any] = {"against": against} if against in scorer.comparisons else {}
    if "proxy" in scorer.defaults:
        given["proxy"] = language_model
    return REGISTRY.bind(name, given)


def _compares(record: Record, field: str, against: Comparison) -> bool:
    return against in ("auto", field) and record.has(field)
