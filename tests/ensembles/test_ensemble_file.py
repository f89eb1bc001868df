"""The file of an ensemble: what it keeps, and what it refuses."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from ensemble_files import CALLS, component, weighted

from veridical.core.registry import REGISTRY
from veridical.ensembles.ensemble_file import (
    Boosted,
    Famd,
    Fit,
    Honest,
    Logistic,
    Reference,
    StoredFigure,
    StoredGuarantee,
    StoredObjective,
    Strata,
    Tree,
    read,
)
from veridical.errors import UsageError
from veridical.files.trained_files import write_trained

STUMP = Tree(
    feature=(0, -1, -1),
    threshold=(0.5, 0.0, 0.0),
    left=(1, 0, 0),
    right=(2, 0, 0),
    missing_left=(True, False, False),
    value=(0.0, -1.0, 1.0),
)
LOGISTIC = Logistic(intercept=0.1, coefficients=(1.0, 2.0, -1.0), mean=(0.5,) * 3, scale=(1.0,) * 3)
FAMD = Famd(
    intercept=0.0,
    coefficients=(1.0, 1.0, 0.0),
    binary=(False, False, True),
    mean=(0.5,) * 3,
    values=(-1.0, 1.0),
    quantiles=(0.0, 1.0),
)
FULL = weighted(
    strata=Strata(
        by="task",
        of={"qa": Fit(weights=dict(zip(CALLS, (1.0, 0.0, 0.0), strict=True)), n=5, positive=2)},
    ),
    objective=StoredObjective(name="f_beta", joint=True, beta=2),
    honest=Honest(
        metric="auroc",
        folds=5,
        seed=0,
        ensemble=StoredFigure(value=0.8, low=0.7, high=0.9),
        components={c: StoredFigure(value=0.7) for c in CALLS},
        not_helping=("exact_match",),
    ),
    reference=Reference(n=10, quantiles={"ensemble": (0.1, 0.2, 0.2)}, not_scored={"support": 0.1}),
)


@pytest.mark.parametrize(
    "ensemble",
    [
        weighted(),
        FULL,
        weighted(method="logistic", fit=Fit(parameters=LOGISTIC, n=10, positive=4)),
        weighted(
            method="boosted",
            fit=Fit(parameters=Boosted(baseline=0.0, trees=(STUMP,)), n=10, positive=4),
        ),
        weighted(method="famd", fit=Fit(parameters=FAMD, n=10, positive=4)),
        weighted(
            fit=Fit(
                weights=weighted().fit.weights,
                threshold=0.4,
                guarantee=StoredGuarantee(
                    method="ltt", alpha=0.1, delta=0.05, threshold=None, reason="n too small", n=9
                ),
                n=10,
                positive=4,
            )
        ),
    ],
    ids=["plain", "full", "logistic", "boosted", "famd", "guarantee"],
)
def test_what_is_saved_is_read_back(tmp_path, ensemble) -> None:
    path = tmp_path / "e.json"
    write_trained(path, ensemble)
    assert read(path)[0] == ensemble
    assert json.loads(path.read_text())["veridical_ensemble"] == 1


def test_a_pinned_file_that_has_changed_is_refused(tmp_path) -> None:
    path = tmp_path / "e.json"
    write_trained(path, weighted())
    pin = f"{path}@{read(path)[1]}"
    assert read(pin)[0] == weighted()
    write_trained(path, FULL)
    with pytest.raises(UsageError, match="has changed"):
        read(pin)


def _set(*place: Any) -> Callable[[dict[str, Any]], None]:
    *path, last, value = place

    def change(d: dict[str, Any]) -> None:
        for step in path:
            d = d[step]
        d[last] = value

    return change


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (_set("veridical_ensemble", 2), "veridical_ensemble"),
        (_set("method", "magic"), "method"),
        (_set("extra", 1), "extra: Extra inputs"),
        (_set("components", []), "components"),
        (_set("components", [component("ngram").model_dump()] * 65), "at most 64"),
        (_set("components", 1, "scorer", "ngram(n=2)"), "a component occurs twice"),
        (_set("components", 0, "part", "unit"), "no unit components"),
        (_set("fit", "weights", None), "weights must name"),
        (_set("fit", "weights", "support", 0.4), "add up to 1"),
        (_set("fit", "weights", "support", -0.3), "greater than or equal to 0"),
        (_set("fit", "weights", "support", "0.3"), "valid number"),
        (_set("fit", "weights", "support", float("nan")), "finite|valid number"),
        (_set("fit", "weights", "cosine", 0.0), "weights must name"),
        (_set("fit", "parameters", LOGISTIC.model_dump()), "has no parameters"),
        (_set("fit", "threshold", 1.5), "less than or equal to 1"),
        (_set("fit", "calibration", {"method": "none such"}), "calibration|method"),
        (_set("fit", "n", -1), "fit.n"),
        (_set("strata", "of", "qa", "weights", {}), "weights must name"),
        (_set("reference", "quantiles", "ensemble", [0.5, 0.2]), "must not fall"),
        (_set("reference", "quantiles", "ensemble", [0.1] * 1002), "at most 1001"),
    ],
)
def test_what_does_not_fit_together_is_refused(tmp_path, change, why) -> None:
    held = json.loads(FULL.model_dump_json())
    change(held)
    path = tmp_path / "e.json"
    path.write_text(json.dumps(held))
    with pytest.raises(UsageError, match=why) as e:
        read(path)[0]
    assert "veridical tune" in str(e.value)


@pytest.mark.parametrize(
    ("parameters", "place", "value", "why"),
    [
        (LOGISTIC, "coefficients", (1.0, 2.0), "2 numbers for 3"),
        (LOGISTIC, "scale", (0.0, 1.0, 1.0), "greater than 0"),
        (LOGISTIC, "intercept", 1e12, "less than or equal"),
        (FAMD, "values", (1.0, 1.0), "must increase"),
        (FAMD, "quantiles", (0.0,), "differ in length"),
        (FAMD, "binary", (True,), "1 numbers for 3"),
    ],
)
def test_damaged_parameters_are_refused(tmp_path, parameters, place, value, why) -> None:
    made = weighted(method=parameters.kind, fit=Fit(parameters=parameters, n=10, positive=4))
    held = json.loads(made.model_dump_json())
    held["fit"]["parameters"][place] = value
    path = tmp_path / "e.json"
    path.write_text(json.dumps(held))
    with pytest.raises(UsageError, match=why):
        read(path)[0]


@pytest.mark.parametrize(
    ("place", "value", "why"),
    [
        ("left", (0, 0, 0), "after their parent"),  # it would never end
        ("right", (9, 0, 0), "after their parent"),
        ("feature", (3, -1, -1), "a component that does not exist"),
        ("value", (0.0,), "differ in length"),
        ("feature", (-2, -1, -1), "greater than or equal"),
    ],
)
def test_damaged_trees_are_refused(tmp_path, place, value, why) -> None:
    boosted = Boosted(baseline=0.0, trees=(STUMP,))
    made = weighted(method="boosted", fit=Fit(parameters=boosted, n=10, positive=4))
    held = json.loads(made.model_dump_json())
    held["fit"]["parameters"]["trees"][0][place] = value
    path = tmp_path / "e.json"
    path.write_text(json.dumps(held))
    with pytest.raises(UsageError, match=why):
        read(path)[0]


@pytest.mark.parametrize(
    "content",
    [b"", b"null", b"[]", b"{", b"[" * 100_000, b"\xff\xfe", b'{"veridical_ensemble": 1}'],
    ids=["empty", "null", "list", "cut", "deep", "binary", "bare"],
)
def test_other_content_is_refused_by_name(tmp_path, content) -> None:
    path = tmp_path / "e.json"
    path.write_bytes(content)
    with pytest.raises(UsageError, match=r"e\.json"):
        read(path)[0]
    with pytest.raises(UsageError, match=r"no\.json"):
        read(tmp_path / "no.json")[0]


def test_a_large_file_is_not_read(tmp_path) -> None:
    path = tmp_path / "e.json"
    with path.open("wb") as f:
        f.truncate(17 << 20)
    with pytest.raises(UsageError, match="larger"):
        read(path)[0]


@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="has no such device")
def test_a_device_without_an_end_is_not_read() -> None:
    with pytest.raises(UsageError, match="device or pipe"):
        read("/dev/zero")[0]


def test_components_are_the_scorers_they_were() -> None:
    assert [b.call for b in weighted().scorers.values()] == list(CALLS)
    (now,) = REGISTRY.parse("support")
    for signature in ("support|v0|" + now.signature().partition("|v")[2], "ngram|v1", "support"):
        other = component("support").model_copy(update={"signature": signature})
        held = weighted(components=(component(CALLS[0]), other, component(CALLS[2])))
        with pytest.raises(UsageError, match="tune again"):
            _ = held.scorers
    unknown = component("support").model_copy(update={"scorer": "suport"})
    weights = {CALLS[0]: 0.5, "suport": 0.3, CALLS[2]: 0.2}
    held = weighted(
        components=(component(CALLS[0]), unknown, component(CALLS[2])),
        fit=Fit(weights=weights, n=10, positive=4),
    )
    with pytest.raises(UsageError, match="did you mean 'support'"):
        _ = held.scorers


def test_a_signature_with_models_may_be_a_scorers_own() -> None:
    (bound,) = REGISTRY.parse("selfcheck_nli")
    assert bound.may_sign(bound.signature("nli:any@1"))
    assert bound.may_sign(bound.signature())
    (exact,) = REGISTRY.parse("exact_match")
    assert not exact.may_sign(exact.signature().replace("|v1|", "|v10|"))
    assert not bound.may_sign(exact.signature())
