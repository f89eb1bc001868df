"""What a scripted model says to the requests of the studies of CheckEmbed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from rich.console import Console

from veridical.engine.options import EngineOptions
from veridical.evaluate.checkembed.options import StudyOptions
from veridical.evaluate.checkembed.result import Studies
from veridical.evaluate.checkembed.running import run_studies
from veridical.llm.fake import FakeLlm
from veridical.planning.display import Display

RIGHT = (
    "Plants make sugar from light, water and air.",
    "With light, water and air plants make sugar, giving off oxygen.",
    "Sugar is made by plants from light, water and air, and oxygen is given off.",
)
WRONG = (
    "Plants eat stones by night and give off gold.",
    "Plants sleep under water and never see the sun.",
    "A plant is a kind of fish that barks at the moon.",
)
SLIGHTLY_WRONG = (
    "Plants make sugar from light, water and gold.",
    "With light, water and air plants make salt, giving off oxygen.",
    "Sugar is made by plants from light, wine and air, and oxygen is given off.",
)


def pair(first: str, second: str) -> str:
    return f"### DESCRIPTION 1 ###\n{first}\n\n### DESCRIPTION 2 ###\n\n{second}"


def with_errors(text: str) -> str:
    return f"### ERRORS ###\n1. A false thing.\n\n### PASSAGE ###\n\n{text}"


RULES: list[dict[str, Any]] = [
    {
        "contains": "VASTLY",
        "text": [
            pair("A tower by the sea guides ships.", "Ships are guided by a tower by the sea."),
            pair("The tower shines for ships.", "A beacon on the shore shines for the ships."),
        ],
    },
    {
        "contains": "two different things",
        "text": [
            pair("A tower by the sea guides ships.", "A box with four strings makes music."),
            pair("The tower shines for ships.", "The violin sings for dancers."),
        ],
    },
    {"contains": "generate 5 completely", "text": [with_errors(t) for t in WRONG]},
    {"contains": "generate 1 completely", "text": [with_errors(t) for t in SLIGHTLY_WRONG]},
    {"contains": "talks about (", "text": [f"### PASSAGE ###\n\n{t}" for t in RIGHT]},
    {
        "contains": "all the legal definitions",
        "text": [
            "Lease. This lease\nLandlord. Oak Ltd",
            '1. "Lease": A lease\nTenant. Whoever signs',
        ],
    },
]
CHUNKS = {
    "data": [
        {
            "chunk_txt": 'This lease (the "Lease") is made by Oak Ltd (the "Landlord").',
            "definitions": [
                {"term": "Lease", "context": "This lease"},
                {"term": "Landlord", "context": "Oak Ltd", "needs_validation": "true"},
            ],
        },
        {"chunk_txt": "Nothing is defined here.", "definitions": []},
    ]
}


def script_file(folder: Path, rules: list[dict[str, Any]] | None = None) -> str:
    """The spec of a scripted model for the command line."""
    path = folder / "script.json"
    path.write_text(json.dumps(RULES if rules is None else rules), encoding="utf-8")
    return f"fake:{path}"


def studied(
    names: list[str],
    folder: Path,
    llm: FakeLlm | None,
    *,
    store: Path | None = None,
    **options: Any,
) -> Studies:
    """The studies by ``llm``, small, in ``folder``."""
    small = {"limit": 1, "n": 3, "errors": "1,5", "about": "scientific", "out": folder}
    chosen = StudyOptions(**{**small, **options})
    engine = EngineOptions(llm=llm, store=store)
    return run_studies(names, chosen, engine, Display(Console(quiet=True)))
