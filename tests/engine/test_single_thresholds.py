"""The table of fitted thresholds, and who declares cuts."""

from __future__ import annotations

from typing import Any

import pytest

from veridical.core.registry import REGISTRY
from veridical.core.verdict_cuts import STRICTNESS, Cuts
from veridical.engine import thresholds
from veridical.engine.thresholds import cuts_of


def score(signature: str = "x|v1|nli:mini@1", raw: Any = None) -> dict[str, Any]:
    return {"raw": raw, "signature": signature, "risk": 0.5, "units": []}


def bound(text: str) -> Any:
    (found,) = REGISTRY.parse(text)
    return found


def test_every_entry_is_of_a_scorer_and_cuts_no_higher_where_it_is_stricter() -> None:
    for name, entry in thresholds.shipped()["scorers"].items():
        assert bound(name).key == name
        for of_model in (entry, *entry.get("by_model", {}).values()):
            cuts = [Cuts(**of_model[s]) for s in STRICTNESS]
            for one in cuts:
                assert 0 < one.unclear <= one.flagged <= 1
            for field in ("unclear", "flagged"):
                values = [getattr(one, field) for one in cuts]
                assert values == sorted(values, reverse=True)


def test_the_key_counts_before_the_name_and_the_model_before_either(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def at(x: float) -> dict[str, Any]:
        return {s: {"unclear": x, "flagged": x} for s in STRICTNESS}

    two = {**at(0.2), "by_model": {"b": at(0.3)}}
    table = {"ngram": at(0.1), "ngram(n=2)": two}
    monkeypatch.setattr(thresholds, "shipped", lambda: {"scorers": table})

    def flagged(text: str, signature: str = "x|v1|nli:a@1") -> float | None:
        cuts = cuts_of(bound(text), score(signature), "balanced")
        return None if cuts is None else cuts.flagged

    assert flagged("ngram") == 0.1 and flagged("ngram(n=2)") == 0.2
    assert flagged("ngram(n=2)", "x|v1|nli:b@1") == 0.3
    assert flagged("cosine") is None


def test_label_free_weights_have_none_and_the_default_has() -> None:
    raw = {"sets": ["contexts"], "nli": "veridical-nli-mini"}
    assert cuts_of(bound("ensemble"), score(raw=raw), "low") is not None
    free = bound("ensemble(weights='label_free')")
    assert cuts_of(free, score(raw={"sets": ["contexts"]}), "low") is None
