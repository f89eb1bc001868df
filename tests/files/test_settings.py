"""Tables of settings files: what they hold, and how an error names it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import pytest

from veridical.errors import UsageError
from veridical.files.settings import settings


@dataclass(frozen=True)
class Lamp:
    name: str
    watts: float
    colour: Literal["white", "red"] = "white"
    parts: tuple[str, ...] = ()
    lit: Mapping[str, bool] = field(default_factory=dict)


def read(**table: Any) -> Lamp:
    return settings(Lamp, table, "f.toml: [lamp.a]", name="a")


def test_what_is_not_there_is_the_default() -> None:
    assert read(watts=3) == Lamp("a", 3.0)
    assert read(watts=1.5, parts=["x"], lit={"n": True}) == Lamp(
        "a", 1.5, "white", ("x",), {"n": True}
    )


@pytest.mark.parametrize(
    ("table", "why"),
    [
        ({}, "watts is missing"),
        ({"watts": "3"}, "watts must be int or float, not '3'"),
        ({"watts": True}, "watts must be int or float, not true"),
        (
            {"watts": 3, "wats": 3},
            r"unknown setting in f.toml: \[lamp.a\]: 'wats'; did you mean 'watts'",
        ),
        ({"watts": 3, "name": "b"}, "unknown setting"),
        ({"watts": 3, "colour": "blue"}, "colour must be white or red, not 'blue'"),
        ({"watts": 3, "parts": ["x", 1]}, "parts.1 must be str, not 1"),
        ({"watts": 3, "lit": {"n": 1}}, "lit.n must be true or false, not 1"),
    ],
)
def test_an_error_names_the_table_and_the_field(table: dict[str, Any], why: str) -> None:
    with pytest.raises(UsageError, match=why):
        read(**table)


def test_a_value_in_place_of_a_table() -> None:
    with pytest.raises(UsageError, match="a section, not a value"):
        settings(Lamp, 3, "f.toml: [lamp.a]", name="a")
