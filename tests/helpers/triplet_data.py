"""Responses of a few plain patterns, with triplets that each states by construction."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

_PEOPLE = ["Ann Lee", "Bob Ray", "Cleo Hart", "Dan Frost", "Eve Stone", "Gil Moss", "Ida Wells"]
_CITIES = ["Oslo", "Lima", "Rome", "Cairo", "Quito"]
_JOBS = ["painter", "nurse", "pilot"]


def rows(n: int = 60) -> list[dict[str, Any]]:
    """``n`` responses to prompts of their own, each with three triplets. The rules keep
    the first sentence whole."""
    found = []
    everyone = itertools.product(_PEOPLE, _CITIES, _JOBS)
    for i, (name, city, job) in enumerate(itertools.islice(everyone, n)):
        other = _JOBS[(i + 1) % 3]
        found.append(
            {
                "id": i,
                "prompt": f"Please tell me number {i} about {name} in {city}.",
                "response": f"In the spring of a cold year, {name} was born to a poor {job} in "
                f"{city}. "
                f"{name} worked as a {other}, and lived in {city} until {1900 + i}.",
                "claims": [
                    [name, "was born in", city],
                    [name, "worked as", f"a {other}"],
                    [name, "lived in", city],
                ],
            }
        )
    return found


def write(path: Path, listed: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in listed))
    return path
