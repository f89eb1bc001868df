"""``veridical.claims.ground``: a run with the scorer ``claims``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from veridical import api
from veridical.core.options import names_of
from veridical.core.registry import REGISTRY
from veridical.engine.options import EngineKeywords, EngineOptions
from veridical.errors import unknown_name
from veridical.run.options import PlainRunKeywords, RunOptions

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from veridical.claims.attribution import Merge
    from veridical.claims.select import Selection
    from veridical.core.records import Against
    from veridical.engine.engine import Engine
    from veridical.report.results import Results

#: Parameters of both the scorer and a run; they are options of the run.
_SHARED = frozenset({"nli", "llm", "proxy"})


class GroundKeywords(PlainRunKeywords, EngineKeywords, total=False):
    """Parameters of the scorer ``claims``, and options of a run."""

    engine: Engine | None
    against: Against | Literal["auto"] | None
    extractor: str
    checker: str
    merge: Merge
    aggregate: str
    weights: tuple[float, float, float]
    select: Selection
    top: int
    ranker: str | None
    window: int
    model: str | None
    shots: Literal[0, 1, 3]
    place: Literal["words", "embeddings"]


def ground(inputs: Any, **options: Unpack[GroundKeywords]) -> Results:
    """Run :func:`veridical.check` with the scorer ``claims``.

    Args:
        inputs: as for :func:`veridical.check`.
        options: the scorer's parameters, and the options of :func:`veridical.check`. Options of
            both (``nli``, ``llm``, ``proxy``) are the run's.

    Raises:
        UsageError: an option names something that does not exist, or has an invalid value.
    """
    parameters = [n for n in REGISTRY.get("claims").parameters if n not in _SHARED]
    known = {*parameters, *names_of(RunOptions, EngineOptions), "engine"}
    for name in options:
        if name not in known:
            raise unknown_name("option", name, known)
    arguments = {n: v for n, v in options.items() if n in parameters}
    of_run: Any = {n: v for n, v in options.items() if n not in parameters}
    return api.check(inputs, [REGISTRY.bind("claims", arguments)], **of_run)
