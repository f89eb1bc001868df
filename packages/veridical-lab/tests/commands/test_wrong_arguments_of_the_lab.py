"""Values that are no text, path, name or option, refused by functions of the laboratory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import veridical
from veridical.errors import UsageError
from veridical_lab.rank import rank


@pytest.mark.parametrize(
    ("function", "arguments", "why"),
    [
        (rank, (3,), "answers must be a path or a list of them, not 3"),
        (rank, ([object() for _ in "a"],), "a path or a list of them, not a list with <object"),
        (veridical.bench, (3,), "suites must be the name of a suite .*graded.* not 3"),
        (veridical.bench, ([None],), "suites must be the name of a suite .* not a list with None"),
        (veridical.bench, ("graded",), "suite 'graded' needs data=PATH"),
    ],
)
def test_what_the_laboratory_takes_is_named(
    function: Callable[..., Any], arguments: tuple[Any, ...], why: str
) -> None:
    with pytest.raises(UsageError, match=why):
        function(*arguments)


@pytest.mark.parametrize(
    ("function", "arguments"),
    [
        (veridical.bench, ("graded", "missing.jsonl")),
        (rank, ("missing.jsonl",)),
    ],
)
def test_a_warm_engine_of_the_laboratory_has_its_own_options(
    function: Callable[..., Any], arguments: tuple[Any, ...]
) -> None:
    with veridical.Engine(processes=0) as engine:
        with pytest.raises(UsageError, match=r"^embedder cannot be combined with engine="):
            function(*arguments, engine=engine, embedder="tiny")
        with pytest.raises(UsageError, match="unknown option 'embeder'; did you mean 'embedder'"):
            function(*arguments, engine=engine, embeder="tiny")
