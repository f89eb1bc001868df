"""What a scripted model says to the requests of the studies of CheckEmbed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console

from veridical.engine.options import EngineOptions
from veridical.llm.fake import FakeLlm
from veridical.run.display import Display
from veridical_lab.studies.checkembed.matrices import summarised
from veridical_lab.studies.checkembed.measuring import (
    level_separations,
    pair_separations,
    summaries_of,
    trends_of,
)
from veridical_lab.studies.checkembed.options import CheckEmbedSetup
from veridical_lab.studies.checkembed.result import Group, Studies, TermScore, Timing, Value
from veridical_lab.studies.checkembed.running import run_studies

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


def made_up() -> Studies:
    """A result with something of every study, foreign text in its names."""
    values = [
        Value(study=study, kind=kind, topic=topic, level=level, draw=0, scorer=scorer, value=value)
        for study, kinds, levels in (
            ("pairs", ("similar, generic", "different, generic"), (0,)),
            ("errors", ("scientific",), (0, 1, 5)),
        )
        for kind in kinds
        for level in levels
        for scorer in ("checkembed", "selfcheck_nli(order=code)")
        for topic, value in (("a", 0.9 - level / 10), ("<b>", 0.7 - level / 10))
    ]
    cosine = np.array([[1.0, 0.4, -0.2], [0.4, 1.0, 0.1], [-0.2, 0.1, 1.0]])
    group = Group(
        study="terms",
        kind="terms",
        topic="chunk <0>",
        level=0,
        order=["reply 1", "reply 2", "ground truth"],
        matrices=[summarised(name, cosine, True) for name in ("checkembed", "comet_style")],
    )
    timings = [
        Timing(
            embedder="minilm",
            scorer=scorer,
            k=k,
            words=words,
            tokens=1,
            seconds=k * words,
            repeats=2,
        )
        for scorer in ("checkembed", "selfcheck_nli")
        for k in (2, 4)
        for words in (10, 20)
    ]
    return Studies(
        studies=["pairs", "errors", "terms", "runtime"],
        run="0" * 16,
        folder="studies/0",
        created="2026-11-24T12:00:00+00:00",
        version="0.2",
        llm="local:<model>",
        local=True,
        settings={"n": 3},
        summaries=summaries_of(values),
        separations=[*pair_separations(values), *level_separations(values, "errors")],
        trends=trends_of(values, "errors"),
        groups=[group],
        terms=[
            TermScore(
                topic="chunk <0>",
                n=2,
                expected=3,
                extracted=2.5,
                precision=0.5,
                recall=None,
                f1=None,
            )
        ],
        timings=timings,
        values=values,
        notes=["Two topics."],
    )


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
    small: dict[str, Any] = {"out": folder}
    if llm is not None:
        small |= {"limit": 1, "n": 3}
    if "errors" in names:
        small |= {"errors": "1,5", "about": "scientific"}
    chosen = CheckEmbedSetup(**{**small, **options})
    engine = EngineOptions(llm=llm, store=store)
    return run_studies(names, chosen, engine, Display(Console(quiet=True)))
