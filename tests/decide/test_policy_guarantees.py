"""Thresholds that come from the guarantee of a tuned ensemble."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from ensemble_files import CALLS, weighted

from veridical.core.records import Record
from veridical.core.registry import REGISTRY, BoundScorer
from veridical.core.scores import Result, Score
from veridical.decide.policy import Policy
from veridical.ensembles.ensemble_file import Fit, StoredGuarantee, Strata
from veridical.errors import UsageError
from veridical.files.trained_files import write_trained

WEIGHTS = dict(zip(CALLS, (0.5, 0.3, 0.2), strict=True))


def guarantee(threshold: float | None, **more: Any) -> StoredGuarantee:
    return StoredGuarantee(method="ltt", alpha=0.1, delta=0.05, threshold=threshold, n=120, **more)


def fit(threshold: float | None = None, *, none: bool = False, **more: Any) -> Fit:
    given = None if none else guarantee(threshold, **more)
    return Fit(weights=WEIGHTS, n=120, positive=30, guarantee=given)


def read(
    folder: Path, text: str, scorers: str = "ngram", **fields: Any
) -> tuple[Policy, list[BoundScorer]]:
    write_trained(folder / "ensemble.json", weighted(**fields))
    (folder / "policy.toml").write_text(f'ensemble = "ensemble.json"\n{text}', "utf-8")
    return Policy.read(folder / "policy.toml", REGISTRY.parse(scorers))


def decide(policy: Policy, risk: float, **meta: Any) -> str:
    stratum = policy.stratum(Record(response="", meta=meta))
    scores = {policy.on or "": Score.of(risk)}
    result = Result(id=0, row=0, risk=0.99, by=None, scores=scores)
    return policy.decide(result, stratum).decision


def test_the_ensemble_joins_the_run_and_its_own_risk_is_cut(tmp_path: Path) -> None:
    policy, scorers = read(tmp_path, "reject = 0.8", fit=fit(0.31))
    assert [s.scorer.name for s in scorers] == ["ngram", "ensemble"]
    assert policy.on == scorers[1].key
    assert [decide(policy, r) for r in (0.31, 0.32, 0.8)] == ["accept", "review", "reject"]
    (note,) = policy.notes
    assert note.startswith("at most 10 % of the accepted are hallucinated with probability 0.95")


def test_an_ensemble_that_the_run_has_under_another_path_is_not_scored_twice(
    tmp_path: Path,
) -> None:
    write_trained(tmp_path / "ensemble.json", weighted(fit=fit(0.31)))
    (tmp_path / "copy.json").write_bytes((tmp_path / "ensemble.json").read_bytes())
    given = f"ensemble(file='{tmp_path / 'copy.json'}')"
    policy, scorers = read(tmp_path, "", given, fit=fit(0.31))
    assert [s.key for s in scorers] == [policy.on]
    other = weighted(fit=fit(0.2))
    write_trained(tmp_path / "copy.json", other)
    policy, scorers = read(tmp_path, "", given, fit=fit(0.31))
    assert len(scorers) == 2 and scorers[1].key == policy.on


def test_each_stratum_has_its_own_promise_and_others_have_none(tmp_path: Path) -> None:
    of = {"qa": fit(0.2), "chat": fit(None, reason="12 answers are too few")}
    policy, _ = read(
        tmp_path,
        "[strata.chat]\nreject = 0.5",
        fit=fit(0.6),
        strata=Strata(by="task", of=of),
    )
    assert policy.by == "task"
    assert decide(policy, 0.2, task="qa") == "accept"
    assert decide(policy, 0.3, task="qa") == "review"
    assert decide(policy, 0.0, task="chat") == "review"
    assert decide(policy, 0.5, task="chat") == "reject"
    assert decide(policy, 0.0, task="law") == "review"
    assert decide(policy, 0.0) == "review"
    assert policy.notes[1] == "task = chat: no guarantee: 12 answers are too few"


@pytest.mark.parametrize(
    ("text", "fields", "message"),
    [
        ("", {"fit": fit(none=True)}, "it has no guarantee; tune with --alpha"),
        ("", {"fit": fit(None, reason="9 are too few")}, "guarantees nothing: no guarantee: 9 are"),
        ("reject = 0.2", {"fit": fit(0.31)}, "accept (0.31) must not exceed reject (0.2)"),
        (
            "by = 'topic'",
            {"fit": fit(0.3), "strata": Strata(by="task", of={"qa": fit(0.2)})},
            "its strata are by 'task'",
        ),
        ("[strata.qa]\nreject = 0.5", {"fit": fit(0.3)}, "the policy's strata require by"),
        ("[strata.qa]\naccept = 0.5", {"fit": fit(0.3)}, "guarantee determines accept"),
        ("", {"level": "sentence", "fit": fit(0.3)}, "applies to sentences, not to responses"),
    ],
)
def test_what_promises_nothing_is_refused(
    tmp_path: Path, text: str, fields: dict[str, Any], message: str
) -> None:
    with pytest.raises(UsageError) as e:
        read(tmp_path, text, **fields)
    assert message in str(e.value)


def test_a_file_that_is_no_ensemble_is_refused(tmp_path: Path) -> None:
    (tmp_path / "policy.toml").write_text('ensemble = "policy.toml"', "utf-8")
    with pytest.raises(UsageError, match="ensemble: "):
        Policy.read(tmp_path / "policy.toml", REGISTRY.parse("ngram"))
