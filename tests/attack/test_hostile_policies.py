"""Hostile files of decisions: policies, cascades, ensembles, labels and configurations.

More than 1 500 variants, each a good file with something wrong in it: whatever they hold, a reader
ends in a moment with a file that is sound or with a line of error, and no decision is milder
because a rule was malformed.
"""

from __future__ import annotations

import copy
import json
import random
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hostile_files import SLOWEST, toml_variants, tried

from veridical.cli import main
from veridical.core.registry import REGISTRY
from veridical.decide.policy import Policy
from veridical.ensembles import cascade_file, ensemble_file
from veridical.llm.endpoints import configured
from veridical.tuning.label_file import read_review

sys.path.insert(0, str(Path(__file__).parents[1] / "decide"))
from ensemble_files import weighted

DEEP = 100_000

#: In place of any value of a JSON file.
VALUES: tuple[str, ...] = (
    *("null", "true", "-1", "2", "1e308", "-1e308", "1e999", "NaN", "Infinity", "-Infinity"),
    *(
        '""',
        '"x"',
        '"\\u0000"',
        '"\\ud800"',
        '"\\u202e\\u0000"',
        '"../../../etc/passwd"',
        "[]",
        "{}",
    ),
    *("\"__import__('os').system('id')\"", '"ngram(n=1e9)"', '"ngram(" ', "[[[[[]]]]]", "0.5"),
    *("1" * 5000, '"' + "a" * 100_000 + '"', "[" * DEEP + "]" * DEEP, "[" + "0," * 50_000 + "0]"),
    *('{"a":' * DEEP + "1" + "}" * DEEP, "\"ensemble(file='self.json')\"", "1.0000000000000001"),
)
POLICY = """veridical_policy = 1
accept = 0.2
reject = 0.8
unscored = "review"
by = "task"
on = "ngram"

[strata.qa]
accept = 0.1
reject = 0.7

[[rules]]
then = "reject"
scorer = "ngram"
over = 0.9

[[rules]]
then = "review"
unit = {label = "contradiction", over = 0.5}

[[rules]]
then = "review"
status = "failed"
"""
CONFIG = """[llm.mine]
base_url = "http://127.0.0.1:9/v1"
model = "m"
price_in = 0.1
price_out = 0.2
max_concurrency = 4
timeout = 3.5
attempts = 2
extra_body = {a = 1}
supports = {n = true}
"""


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Where values stand in a JSON document."""
    yield path
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from places(inner, (*path, key))
    elif isinstance(value, list):
        for i, inner in enumerate(value[:2]):
            yield from places(inner, (*path, i))


def put(document: Any, path: tuple[Any, ...], text: str) -> str:
    """``document`` as JSON with ``text``, as it stands, at one place."""
    if not path:
        return text
    made = copy.deepcopy(document)
    inner = made
    for part in path[:-1]:
        inner = inner[part]
    inner[path[-1]] = "@here@"
    return json.dumps(made).replace('"@here@"', text)


def json_variants(document: Any, n: int, seed: int) -> Iterator[str]:
    rng = random.Random(seed)
    text = json.dumps(document)
    all_of_them = [(p, v) for p in places(document) for v in VALUES]
    for path, value in rng.sample(all_of_them, min(n, len(all_of_them))):
        yield put(document, path, value)
    for path in places(document):
        if path and isinstance(path[-1], str):
            made = copy.deepcopy(document)
            inner = made
            for part in path[:-1]:
                inner = inner[part]
            value = inner.pop(path[-1])
            yield json.dumps(made)  # a field is missing
            inner[path[-1] + "​"] = value
            yield json.dumps(made)  # ... or called almost so
    for _ in range(60):
        at = rng.randrange(len(text))
        yield text[:at]
        yield text[:at] + rng.choice('{}[]",:0e-\\\x00é') + text[at + 1 :]
    yield from ("", "\x00", "﻿" + text, text + text, text[:-1] + ',"version":"0"}', "\ud800")


def sound_policy(policy: Policy) -> None:
    """Thresholds that mean something, and rules that a result cannot slip through."""
    for cut in (policy.cut, *(policy.strata or {}).values()):
        for at in (cut.accept, cut.reject):
            assert at is None or 0 <= at <= 1
        assert cut.accept is None or cut.reject is None or cut.accept <= cut.reject
    for rule in policy.rules:
        assert rule.then in ("review", "reject")
        assert sum(x is not None for x in (rule.over, rule.unit, rule.status)) == 1
        assert rule.over is None or 0 <= rule.over <= 1


def sound_fit(fit: ensemble_file.Fit) -> None:
    for share in (fit.threshold, *(fit.weights or {}).values()):
        assert share is None or 0 <= share <= 1
    assert fit.weights is None or abs(sum(fit.weights.values()) - 1) < 1e-5


def cascade() -> dict[str, Any]:
    ensemble = json.loads(weighted().model_dump_json())
    fit = {**ensemble["fit"], "calibration": ensemble["fit"]["calibration"], "guarantee": None}
    if fit["calibration"] is None:
        fit["calibration"] = {"method": "platt", "slope": 1.0, "intercept": 0.0}
    names = [c["scorer"] for c in ensemble["components"]]
    costs = {name: {"seconds": 0.1, "money": 0.0} for name in names}
    figure = {"value": 0.9, "low": None, "high": None}
    return {
        "veridical_cascade": 1,
        "version": "0",
        "method": "weighted",
        "tiers": [
            {
                "name": "model-free",
                "components": ensemble["components"],
                "fit": fit,
                "costs": costs,
                "stopped": 1.0,
            }
        ],
        "keep": 0.99,
        "confidence": 0.9,
        "hour": 1.0,
        "full": {"seconds": 0.2, "money": 0.0},
        "fitted_on": ensemble["fitted_on"],
        "honest": {
            **{"folds": 5, "seed": 0, "cost": 0.5},
            **{"full": figure, "cascade": figure, "kept": figure},
        },
    }


def test_policies(tmp_path: Path) -> None:
    scorers = REGISTRY.parse("ngram, support")

    def read(path: Path) -> None:
        policy, _ = Policy.read(path, scorers)
        sound_policy(policy)

    found = tried(toml_variants(POLICY), read, tmp_path / "policy.toml")
    assert found["refused"] > 500 and found["read"] > 50


def test_ensembles_and_cascades(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)

    def read_ensemble(path: Path) -> None:
        found = ensemble_file.read(path)[0]
        sound_fit(found.fit)
        _ = found.scorers

    def read_cascade(path: Path) -> None:
        found = cascade_file.read(path)[0]
        for tier, ensemble in zip(found.tiers, found.ensembles, strict=True):
            sound_fit(tier.fit)
            assert tier.low is None or tier.high is None or tier.low < tier.high
            _ = ensemble.scorers

    good = json.loads(weighted().model_dump_json())
    self_path = tmp_path / "self.json"
    found = tried(json_variants(good, 400, 1), read_ensemble, self_path)
    assert found["refused"] > 300
    found = tried(json_variants(cascade(), 400, 2), read_cascade, self_path)
    assert found["refused"] > 300


def test_configurations_and_labels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VERIDICAL_CONFIG", str(tmp_path / "veridical.toml"))

    def read_config(_: Path) -> None:
        for endpoint in configured().values():
            assert endpoint.identity and endpoint.attempts >= 1
            for price in (endpoint.price_in, endpoint.price_out):
                assert price is None or 0 <= price < float("inf")

    found = tried(toml_variants(CONFIG), read_config, tmp_path / "veridical.toml")
    assert found["refused"] > 200

    def read_labels(path: Path) -> None:
        assert all(0 <= said.label <= 1 for said in read_review(path))

    rows = [{"row": 0, "id": "a", "label": 1}, {"row": 1, "label": 0.5}]
    labels = tried(json_variants(rows, 200, 3), read_labels, tmp_path / "labels.json")
    assert labels["refused"] > 60


def nested(document: dict[str, Any], name: str) -> dict[str, Any]:
    """``document`` with a component that is the ensemble or cascade in a file."""
    made = copy.deepcopy(document)
    part = made["components"][0] if "components" in made else made["tiers"][0]["components"][0]
    old, new = part["scorer"], f"{name}(file='self.json')"
    return json.loads(json.dumps(made).replace(json.dumps(old), json.dumps(new)))


@pytest.mark.parametrize("command", ["check", "plan"])
@pytest.mark.parametrize("case", ["ensemble", "cascade", "tiers", "policy", "huge", "device"])
def test_files_that_name_themselves_and_the_like(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    command: str,
    case: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("in.jsonl").write_text('{"response": "a", "samples": ["b"]}\n')
    good = json.loads(weighted().model_dump_json())
    asked = ("--scorers", "ensemble(file='self.json')")
    if case == "ensemble":
        Path("self.json").write_text(json.dumps(nested(good, "ensemble")))
    elif case == "cascade":
        Path("self.json").write_text(json.dumps(nested(cascade(), "cascade")))
        asked = ("--cascade", "self.json")
    elif case == "tiers":
        made = cascade()
        made["tiers"] = [{**made["tiers"][0], "name": str(i)} for i in range(1000)]
        Path("self.json").write_text(json.dumps(made))
        asked = ("--cascade", "self.json")
    elif case == "policy":
        Path("policy.toml").write_text("veridical_policy = 1\nensemble = 'policy.toml'\n")
        asked = ("--scorers", "ngram", "--policy", "policy.toml")
    elif case == "huge":
        Path("self.json").write_bytes(b" " * (17 << 20))
    else:
        asked = ("--scorers", "ngram", "--policy", "/dev/zero")
    store = ("--store", "none")
    monkeypatch.setattr(sys, "argv", ["veridical", command, "in.jsonl", *store, *asked])
    started = time.process_time()
    with pytest.raises(SystemExit) as ended:
        main()
    said = capsys.readouterr().err
    assert time.process_time() - started < 2 * SLOWEST
    assert ended.value.code == 1, said
    assert said.startswith("error: ") and len(said.strip().splitlines()) == 1, said
