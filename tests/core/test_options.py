"""Options: what is unknown or does not fit is refused by name, and each is declared once."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pytest

import veridical
from veridical.claims_run import GroundKeywords
from veridical.core.options import declared, made_of, split
from veridical.core.registry import REGISTRY
from veridical.decide.repair import How
from veridical.decide.selection import Select
from veridical.engine.options import EngineKeywords, EngineOptions
from veridical.errors import UsageError
from veridical.run.options import (
    CheckKeywords,
    PlanKeywords,
    RunKeywords,
    RunOptions,
    ScaleOptions,
)

ROWS = [{"response": "Ada was a countess.", "samples": ["Ada was a poet."]}]


def declared_types(options: Any) -> dict[str, str]:
    return {spec.name: str(spec.type) for spec in fields(options)}


def keyword_types(keywords: Any) -> dict[str, str]:
    return {n: t.__forward_arg__ for n, t in keywords.__annotations__.items()}


def test_keywords_of_public_functions_are_the_options() -> None:
    assert keyword_types(RunKeywords) == declared_types(RunOptions)
    assert keyword_types(EngineKeywords) == declared_types(EngineOptions)
    both = declared_types(RunOptions) | declared_types(EngineOptions)
    assert keyword_types(CheckKeywords) == both | {"engine": "Engine | None"}
    further = declared_types(ScaleOptions)
    assert keyword_types(PlanKeywords) == both | further | {"engine": "Engine | None"}
    parameters = REGISTRY.get("claims").parameters
    assert {*GroundKeywords.__annotations__} == {*parameters, *CheckKeywords.__annotations__}
    assert declared(RunOptions, "select").choices == get_args(Select)
    assert declared(RunOptions, "repair").choices == get_args(How)


@pytest.mark.parametrize(
    ("keywords", "said"),
    [
        ({"smaples": 3}, "unknown option 'smaples'; did you mean 'samples'"),
        ({"samples": 0}, "samples must be at least 1, not 0"),
        ({"samples": "3"}, "samples must be a whole number, not '3'"),
        ({"samples": True}, "samples must be a whole number, not True"),
        ({"strict": "no"}, "strict must be True or False, not 'no'"),
        ({"mapping": ["a=b"]}, "mapping must be a mapping"),
        ({"reader": 3}, "reader must be a text, not 3"),
        ({"against": "context"}, "unknown source to compare with 'context'; did you mean 'conte"),
        ({"select": "worst"}, "unknown way to select 'worst'"),
        ({"corpus_top": 0}, "corpus_top must be at least 1, not 0"),
    ],
)
def test_an_error_names_its_option(keywords: dict[str, Any], said: str) -> None:
    with pytest.raises(UsageError) as refused:
        made_of(RunOptions, keywords)
    assert said in str(refused.value)


def test_options_are_split_among_their_classes() -> None:
    run, engine = split({"limit": 3, "nli": "tiny"}, RunOptions, EngineOptions)
    assert (run, engine) == ({"limit": 3}, {"nli": "tiny"})
    options = RunOptions(samples=np.int64(2))  # type: ignore[arg-type]
    assert options.given() == {"samples": 2}
    with pytest.raises(UsageError, match="processes must be at least 0, not -1"):
        EngineOptions(processes=-1)


@pytest.mark.parametrize("function", [veridical.check, veridical.plan, veridical.claims.ground])
@pytest.mark.parametrize(
    ("keywords", "said"),
    [
        ({"smaples": 3}, "unknown option 'smaples'; did you mean 'samples'"),
        ({"engin": None}, "unknown option 'engin'; did you mean 'engine'"),
        ({"limit": 0}, "limit must be at least 1, not 0"),
        ({"processes": "two"}, "processes must be a whole number, not 'two'"),
    ],
)
def test_public_functions_refuse_an_option_before_they_open_anything(
    function: Any, keywords: dict[str, Any], said: str, tmp_path: Path
) -> None:
    with pytest.raises(UsageError) as refused:
        function(str(tmp_path / "missing.jsonl"), store=tmp_path / "store", **keywords)
    assert said in str(refused.value)
    assert not (tmp_path / "store").exists()


@pytest.mark.parametrize(
    ("function", "arguments"),
    [
        (veridical.check, (ROWS, "ngram")),
        (veridical.plan, (ROWS, "ngram")),
        (veridical.tune, (ROWS, "ngram")),
        (veridical.claims.extract, ("Ada was a countess.",)),
        (veridical.claims.check, ("Ada was a countess.", "Ada was a countess.")),
        (veridical.claims.ground, (ROWS,)),
    ],
)
def test_a_warm_engine_has_its_own_options(function: Any, arguments: tuple[Any, ...]) -> None:
    with veridical.Engine(processes=0) as engine:
        with pytest.raises(UsageError, match=r"^embedder cannot be combined with engine="):
            function(*arguments, engine=engine, embedder="tiny")
        with pytest.raises(UsageError, match="unknown option 'embeder'; did you mean 'embedder'"):
            function(*arguments, engine=engine, embeder="tiny")


@pytest.mark.parametrize(
    ("data", "options", "said"),
    [
        (ROWS, {}, "data must be a path, not list"),
        ("missing.jsonl", {"samples": "2"}, "samples must be whole numbers, not '2'"),
        ("missing.jsonl", {"out": 3}, "out must be a path, not 3"),
    ],
)
def test_bench_names_a_value_of_another_type(data: Any, options: Any, said: str) -> None:
    with pytest.raises(UsageError) as refused:
        veridical.bench("graded", data, **options)
    assert str(refused.value) == said


@pytest.mark.parametrize("function", [veridical.check, veridical.plan])
@pytest.mark.parametrize(
    ("keywords", "said"),
    [
        ({"scorers": 3}, "scorers must be a string or a list, not 3"),
        ({"engine": 3}, "engine must be an Engine, not 3"),
        ({"out": 3}, "out must be a path, not 3"),
        ({"policy": 3}, "policy must be a path, not 3"),
        ({"store": 3}, "store must be a path, not 3"),
        ({"corpus": 3}, "corpus must be a path or a retriever, not 3"),
        ({"llm": 3}, "llm must be a name or a client with an endpoint, not 3"),
    ],
)
def test_a_value_of_another_type_is_named(
    function: Any, keywords: dict[str, Any], said: str
) -> None:
    with pytest.raises(UsageError) as refused:
        function(ROWS, **keywords)
    assert str(refused.value) == said


def test_an_engine_refuses_an_option_too() -> None:
    with pytest.raises(UsageError, match="unknown option 'embeder'; did you mean 'embedder'"):
        veridical.Engine(embeder="minilm")  # type: ignore[call-arg]


def test_a_number_with_a_default_cannot_be_left_out_by_none() -> None:
    """``age=None`` once left a run waiting for ever."""
    with pytest.raises(UsageError, match="age must be a number, not None"):
        EngineOptions(age=None)  # type: ignore[arg-type]
    assert EngineOptions(threads=None, store=None).threads is None
