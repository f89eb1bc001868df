"""The cascade's file: written, read back, and refused where anything is off."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest

from veridical import UsageError
from veridical.core.registry import REGISTRY
from veridical.ensembles.cascade_file import read
from veridical.files.trained_files import write_trained

SAME = {"method": "temperature", "inverse": 1.0}


def content() -> dict[str, Any]:
    """Two tiers as JSON has them."""

    def tier(name: str, call: str, weights: dict[str, float], low: float | None) -> dict[str, Any]:
        signature = REGISTRY.parse(call)[0].signature()
        return {
            "name": name,
            "components": [{"scorer": call, "signature": signature}],
            "fit": {"weights": weights, "calibration": SAME, "n": 50, "positive": 20},
            "low": low,
            "high": None if low is None else 0.8,
            "costs": {call: {"seconds": 0.5, "money": None}},
            "stopped": 0.5,
        }

    return {
        "veridical_cascade": 1,
        "version": "0",
        "method": "weighted",
        "tiers": [
            tier("model-free", "ngram", {"ngram": 1.0}, 0.2),
            tier("embeddings", "cosine", {"ngram": 0.4, "cosine": 0.6}, None),
        ],
        "keep": 0.99,
        "confidence": 0.9,
        "hour": 1.0,
        "full": {"seconds": 1.0, "money": None},
        "fitted_on": {
            "file": "graded.jsonl",
            "fingerprint": "0",
            "n": 50,
            "positive": 20,
            "groups": 50,
            "labels": "label",
        },
    }


def write(folder: Path, made: Any) -> Path:
    path = folder / "cascade.json"
    path.write_text(made if isinstance(made, str) else json.dumps(made), "utf-8")
    return path


def test_what_is_saved_is_read_back(tmp_path: Path) -> None:
    cascade = read(write(tmp_path, content()))[0]
    write_trained(tmp_path / "again.json", cascade)
    assert read(tmp_path / "again.json")[0] == cascade
    assert cascade.names == ("model-free", "embeddings")
    assert [e.names for e in cascade.ensembles] == [("ngram",), ("ngram", "cosine")]


@pytest.mark.parametrize(
    ("place", "value", "told"),
    [
        (("veridical_cascade",), 2, "veridical_cascade"),
        (("surprise",), 1, "surprise"),
        (("method",), "magic", "method"),
        (("tiers",), [], "tiers"),
        (("keep",), 0, "keep"),
        (("keep",), "0.99", "keep"),
        (("confidence",), 1.0, "confidence"),
        (("hour",), float("nan"), "hour"),
        (("tiers", 0, "low"), 0.9, "low must be under high"),
        (("tiers", 0, "low"), -0.1, "tiers.0.low"),
        (("tiers", 0, "high"), 1.5, "tiers.0.high"),
        (("tiers", 1, "low"), 0.1, "last tier has no exits"),
        (("tiers", 1, "name"), "model-free", "twice"),
        (("tiers", 0, "components"), [], "components"),
        (("tiers", 0, "costs"), {}, "costs must name"),
        (("tiers", 0, "costs", "ngram", "seconds"), -1, "seconds"),
        (("tiers", 0, "fit", "calibration"), None, "calibration"),
        (("tiers", 0, "fit", "calibration"), {"method": "platt"}, "slope"),
        (("tiers", 1, "fit", "weights"), {"cosine": 1.0}, "weights must name"),
        (("tiers", 1, "fit", "weights", "ngram"), 0.9, "add up to 1"),
        (("tiers", 1, "components", 0, "scorer"), "ngram", "costs must name"),
        (("full", "money"), "much", "money"),
    ],
)
def test_what_is_off_is_named(
    tmp_path: Path, place: tuple[str | int, ...], value: Any, told: str
) -> None:
    made = copy.deepcopy(content())
    at: Any = made
    for key in place[:-1]:
        at = at[key]
    at[place[-1]] = value
    with pytest.raises(UsageError) as error:
        read(write(tmp_path, made))[0]
    assert told in str(error.value)
    assert "Traceback" not in str(error.value)


@pytest.mark.parametrize("text", ["", "[]", "null", "{", '{"veridical_ensemble": 1}', "\x00"])
def test_what_is_no_cascade_is_refused(tmp_path: Path, text: str) -> None:
    with pytest.raises(UsageError, match="is not a valid cascade model of"):
        read(write(tmp_path, text))[0]


def test_unknown_scorers_and_other_versions_are_refused(tmp_path: Path) -> None:
    made = content()
    made["tiers"][0]["components"][0]["signature"] = "ngram|v0|n:1"
    path = write(tmp_path, made)
    with pytest.raises(UsageError, match="tune again"):
        _ = REGISTRY.bind("cascade", {"file": str(path)}).parts
    text = json.dumps(content()).replace('"cosine"', '"nosuchscorer"')
    path = write(tmp_path, text)
    with pytest.raises(UsageError, match="nosuchscorer"):
        _ = REGISTRY.bind("cascade", {"file": str(path)}).parts


def test_a_file_that_changes_is_another_scorer(tmp_path: Path) -> None:
    path = write(tmp_path, content())
    before = REGISTRY.bind("cascade", {"file": str(path)})
    pinned, signature = before.values["file"], before.signature()
    assert pinned == f"{path}@{read(path)[1]}"
    made = content()
    made["tiers"][0]["low"] = 0.3
    write(tmp_path, made)
    after = REGISTRY.bind("cascade", {"file": str(path)})
    assert after.signature() != signature
    with pytest.raises(UsageError, match="has changed"):
        read(pinned)


def test_it_asks_for_what_its_tiers_ask_for(tmp_path: Path) -> None:
    bound = REGISTRY.bind("cascade", {"file": str(write(tmp_path, content()))})
    assert [[p.key for p in asked] for asked in bound.rounds] == [["ngram"], ["cosine"]]
    assert bound.costs == {"free", "embed"} and bound.cost == "embed"
