"""Options of bench, rank and tune: declared once, and refused by name before any work."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

import veridical
from veridical.core.options import Options
from veridical.engine.options import EngineOptions
from veridical.errors import UsageError
from veridical.run.options import RunOptions
from veridical.sampling.sampling import Sampling
from veridical.tuning.options import TuneKeywords, TuneOptions
from veridical_lab.bench.datasets import all_suites
from veridical_lab.bench.options import (
    BenchKeywords,
    BenchOptions,
    RankKeywords,
    RankOptions,
    Request,
    StudyOptions,
)
from veridical_lab.bench.suite_options import OF_SUITES, ExtractionOptions, QaOptions
from veridical_lab.rank import rank


def types(*classes: type[Options]) -> dict[str, str]:
    return {spec.name: str(spec.type) for options in classes for spec in fields(options)}


def keyword_types(keywords: Any) -> dict[str, str]:
    return {name: hint.__forward_arg__ for name, hint in keywords.__annotations__.items()}


def test_keywords_of_public_functions_are_the_options() -> None:
    bench = types(BenchOptions, StudyOptions, EngineOptions, *OF_SUITES)
    assert keyword_types(BenchKeywords) == bench
    assert keyword_types(RankKeywords) == types(RankOptions, EngineOptions)
    run = types(RunOptions)
    for name in ("fresh", "policy", "prior", "strictness", "select", "repair"):
        del run[name]
    assert keyword_types(TuneKeywords) == run | types(EngineOptions, TuneOptions)
    assert {s.options for s in all_suites()} == {Options, *OF_SUITES}


def test_an_unknown_option_is_refused_with_the_nearest(tmp_path: Path) -> None:
    absent = tmp_path / "absent.jsonl"
    unknown: Any
    for measure, unknown, said in (
        (lambda **o: veridical.bench("graded", absent, **o), "bootstrp", "bootstrap"),
        (lambda **o: rank(absent, **o), "every_promt", "every_prompt"),
        (lambda **o: veridical.tune(absent, **o), "calibrte", "calibrate"),
    ):
        with pytest.raises(UsageError, match=f"unknown option '{unknown}'; did you mean .*'{said}"):
            measure(**{unknown: 1})
    with pytest.raises(UsageError, match="unknown option 'policy'"):
        veridical.tune(absent, policy="p.toml")  # type: ignore[call-arg]


@pytest.mark.parametrize(
    ("suites", "options", "said"),
    [
        ("wikibio", {"keep_generic": True}, "'wikibio' has no option 'keep_generic'.*begin"),
        ("begin", {"mapping": {"label": "y"}}, "'begin' has no option 'mapping': it is of graded"),
        ("graded", {"judge": "nli"}, "'graded' has no option 'judge': it is of extraction"),
        ("graded", {"grader": "exact"}, "'graded' has no option 'grader': it is of qa"),
        (
            "graded",
            {"sampling": Sampling()},
            "'graded' has no option 'sampling': it is of qa .set by --n",
        ),
        (["begin", "wikibio"], {"judge": "nli"}, "'begin', 'wikibio' have no option 'judge'"),
    ],
)
def test_an_option_of_another_suite_is_refused_before_any_work(
    suites: Any, options: dict[str, Any], said: str, tmp_path: Path
) -> None:
    with pytest.raises(UsageError, match=said):
        veridical.bench(suites, tmp_path / "absent.jsonl", **options)


def test_options_of_one_of_several_suites_reach_it() -> None:
    suites = [s for s in all_suites() if s.name in ("begin", "qa", "extraction", "wikibio")]
    keywords = {"keep_generic": True, "judge": "llm", "grader": "exact", "mapping": {}, "seed": 3}
    request, engine = Request.of(suites, {**keywords, "nli": "tiny"})
    assert request.suites["qa"] == QaOptions(grader="exact")
    assert request.suites["extraction"] == ExtractionOptions(judge="llm")
    assert request.suites["wikibio"] == Options()
    assert engine == EngineOptions(nli="tiny")
    assert request.settings(has_data=True) == {
        "protocol": "quick",
        "seed": 3,
        "bootstrap": 1000,
        "samples": None,
        "split": None,
        "limit": None,
        "keep_generic": True,
        "as_published": False,
        "beta": None,
        "study": False,
        "famd": None,
        "judge": "llm",
        "grader": "exact",
    }
