"""Recorded JSON beside today's."""

from __future__ import annotations

import copy
import json
import math
from collections.abc import Iterator
from typing import Any

from replay_commands import RECORDED, machine

from veridical.core.registry import REGISTRY

#: Of numbers that Python alone computes.
EXACT = 1e-9
#: Of models' numbers, and of all that is computed from them: float32 depends in its last digits on
#: what else was in a batch, and a batch on how busy the machine is. The engine promises 1e-5.
OF_MODELS = 5e-6
#: The same on another processor or by another version of the runtime.
ELSEWHERE = 1e-3
#: Scorers of another version of which the combined risk has the quantile table that it had.
SAME_TABLE = {"support"}


def of_models() -> float:
    """How far a model's numbers may be from the recorded ones on this machine."""
    recorded = json.loads((RECORDED / "machine.json").read_text("utf-8"))
    return OF_MODELS if recorded == machine() else ELSEWHERE


def differences(
    old: Any, new: Any, tolerance: float = EXACT, place: str = "", *, fields_may_go: bool = False
) -> Iterator[str]:
    """Places at which today's JSON says something else. Fields may have come, none have gone."""
    if isinstance(old, dict) and isinstance(new, dict):
        for key, value in old.items():
            if key in new:
                yield from differences(value, new[key], tolerance, f"{place}.{key}")
            elif not fields_may_go:
                yield f"{place}.{key}: has gone"
    elif isinstance(old, list) and isinstance(new, list):
        if len(old) != len(new):
            yield f"{place}: {len(old)} values, now {len(new)}"
        for i, pair in enumerate(zip(old, new, strict=False)):
            yield from differences(*pair, tolerance, f"{place}[{i}]")
    elif is_number(old) and is_number(new):
        if not math.isclose(old, new, rel_tol=tolerance, abs_tol=tolerance):
            yield f"{place}: {old!r}, now {new!r}"
    elif old != new or type(old) is not type(new):
        yield f"{place}: {old!r}, now {new!r}"


def is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def bare(call: str) -> str:
    """A scorer's name without its options."""
    return call.partition("(")[0]


def raised(score: dict[str, Any]) -> bool:
    """Whether the scorer has another version than the one in a recorded signature."""
    name, version = score["signature"].split("|")[:2]
    return bool(version != f"v{REGISTRY.get(name).version}")


def comparable(old: dict[str, Any], new: dict[str, Any], tolerance: float) -> dict[str, Any]:
    """What of a recorded result line today's must still say: all but what scorers of another
    version gave, and what was computed from that."""
    old = copy.deepcopy(old)
    old["by"] = old["by"] and bare(old["by"])  # it named the options too
    changed = set()
    for call, score in old["scores"].items():
        if not raised(score):
            continue
        today = new["scores"].get(call)
        if today and bare(call) == "ensemble" and not _of_the_new_default(today):
            if _keep_comparable_parts(score, today, tolerance):
                changed.add("ensemble")
        else:  # where it applies and fails has stayed
            numbers = {k: score[k] for k in ("status", "risk", "raw")}
            same = today is not None and not list(differences(numbers, today, tolerance))
            if not same:
                numbers = {"status": score["status"]}
            if not same or bare(call) not in SAME_TABLE:
                changed.add(bare(call))
            old["scores"][call] = numbers
    if any(REGISTRY.get(bare(c)).version > 1 for c in old["scores"]):  # of other answers too
        for field in ("risk", "risks"):
            (old.get("selected") or {}).pop(field, None)
    if changed and old["by"] in {"quantile_mean", *changed}:
        for field in ("risk", "decision", "why", "repair"):
            old.pop(field, None)
    return old


def _of_the_new_default(ensemble: dict[str, Any]) -> bool:
    """Whether it has the fitted weights, of few scorers, which nothing recorded has."""
    return "|file:none|" in ensemble["signature"] and "|weights:default@" in ensemble["signature"]


def _keep_comparable_parts(old: dict[str, Any], new: dict[str, Any], tolerance: float) -> bool:
    """Leave in an ensemble's recorded score what does not follow from components of another
    version. Of a file or label-free, it computes what it computed: its version was raised for its
    default. Returns whether its risk is left out."""
    now = f"ensemble|v{REGISTRY.get('ensemble').version}"
    if new["signature"].startswith(old["signature"].replace("ensemble|v1", now)):
        del old["signature"]  # options came at its end
    components = (old["raw"] or {}).get("components", {})
    todays = (new["raw"] or {}).get("components", {})
    of_raised = [c for c in components if REGISTRY.get(bare(c)).version > 1]  # 1: all recorded
    if of_raised:
        for unit in old["units"]:
            unit.pop("evidence")
    changed = [c for c in of_raised if list(differences(components[c], todays.get(c), tolerance))]
    for component in changed:
        components.pop(component)
    if changed:
        for fields, field in ((old, "risk"), (old, "units"), (old["raw"], "risk")):
            fields.pop(field)
    return bool(changed)
