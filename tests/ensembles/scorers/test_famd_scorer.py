"""famd: a component fitted on a set, applied to one record."""

from __future__ import annotations

import pytest

import veridical
from veridical.core.registry import REGISTRY
from veridical.core.resolving import resolve
from veridical.ensembles.ensemble_file import Component, Ensemble, Famd, Fit, FittedOn
from veridical.errors import UsageError
from veridical.files.trained_files import write_trained

CALLS = ("ngram", "exact_match")
ROWS = [
    {"response": "Rome is in Italy.", "samples": ["Rome is in Italy.", "Rome lies in Italy."]},
    {"response": "Oslo is in Italy.", "samples": ["Oslo is in Norway.", "In Norway."]},
]


def write(path, **more) -> str:
    """-1 + ngram + exact_match (as a verdict), of which the median is 0 and the largest 1."""
    parameters = Famd(
        intercept=-1.0,
        coefficients=(1.0, 1.0),
        binary=(False, True),
        mean=(0.4, 0.7),
        values=(-1.0, 0.0, 1.0),
        quantiles=(0.0, 0.5, 1.0),
    )
    components = []
    for call in CALLS:
        (bound,) = REGISTRY.parse(call)
        components.append(Component(scorer=call, signature=bound.signature()))
    fields = {
        "version": "0",
        "level": "response",
        "method": "famd",
        "components": tuple(components),
        "fit": Fit(parameters=parameters, n=10, positive=0),
        "fitted_on": FittedOn(file="g", fingerprint="0", n=10, positive=0, groups=9, labels="none"),
    }
    write_trained(path / "e.json", Ensemble(**{**fields, **more}))
    return str(path / "e.json")


def test_the_risk_is_the_quantile_of_the_component(tmp_path) -> None:
    text = f"famd(file='{write(tmp_path)}')"
    (key,) = (b.key for b in resolve(text))
    for result in veridical.check(ROWS, [text, *CALLS]):
        score = result.scores[key]
        ngram, exact = (result.scores[c].risk for c in CALLS)
        component = -1 + ngram + (exact >= 0.5)
        assert score.risk == pytest.approx((component + 1) / 2)
        assert score.raw["components"] == {"ngram": ngram, "exact_match": exact}


def test_it_is_no_ensemble_of_the_record(tmp_path) -> None:
    """The record's own risk stays the quantile mean."""
    text = f"famd(file='{write(tmp_path)}')"
    assert {r.by for r in veridical.check(ROWS, [text, *CALLS])} == {"quantile_mean"}


def test_it_needs_a_file_of_its_own_kind(tmp_path) -> None:
    with pytest.raises(UsageError, match="requires the file written by"):
        resolve("famd")
    fit = Fit(weights=dict.fromkeys(CALLS, 0.5), n=10, positive=4)
    other = write(tmp_path, method="weighted", fit=fit)
    with pytest.raises(UsageError, match="weighted ensemble"):
        resolve(f"famd(file='{other}')")


def test_a_record_that_no_component_applies_to(tmp_path) -> None:
    text = f"famd(file='{write(tmp_path)}')"
    (result,) = veridical.check([{"response": "alone"}], text)
    (score,) = result.scores.values()
    assert score.status == "not_applicable" and "samples" in (score.reason or "")
