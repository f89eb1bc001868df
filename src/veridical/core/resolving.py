"""The scorers that a run will use: those it names, or a preset's, and what applies to all."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from veridical.core.answer_parts import check_part
from veridical.core.registry import REGISTRY, BoundScorer
from veridical.core.scorer_calls import refuse_duplicates
from veridical.errors import UsageError, option_named


def resolve(
    scorers: str | Iterable[str | BoundScorer] | None,
    preset: str = "auto",
    against: str | None = None,
    llm: bool = False,
    proxy: str | None = None,
    claims: bool = False,
    prior: float | None = None,
    spans: str | None = None,
    answer: str | None = None,
    clusters: bool = False,
    paper_forms: bool = False,
) -> list[BoundScorer]:
    """The scorers a run will use: named ones, else a preset; ``against``, ``proxy``, ``prior`` and
    ``spans`` (the detector) applied where taken.

    ``llm`` tells whether the run has an LLM, so that a preset may hold scorers that call one; the
    preset's ensemble then asks its judge. ``claims``, ``spans`` and ``clusters`` add the scorer
    that they need unless it is among them, with whatever parameters. ``answer`` is the part of
    each answer that scorers which can compare a part are set to. ``paper_forms`` sets the
    arguments of :data:`~veridical.core.paper_forms.PAPER_FORMS` that are left open.

    Raises:
        UsageError: a scorer is unknown, parameters do not go together, or none of them takes the
            ``prior`` or ``answer``.
    """
    if scorers is None:
        bound = REGISTRY.preset(preset, llm)
    elif isinstance(scorers, str):
        bound = REGISTRY.parse(scorers)
    elif not isinstance(scorers, Iterable):
        raise UsageError(f"scorers must be a text or a list, not {scorers!r}")
    else:
        bound = [
            b for s in scorers for b in ([s] if isinstance(s, BoundScorer) else REGISTRY.parse(s))
        ]
        refuse_duplicates(b.key for b in bound)
    added = (
        ("claims", claims),
        ("spans", spans is not None),
        ("cluster_probability", clusters),
    )
    for name, wanted in added:
        if wanted and not any(b.scorer.name == name for b in bound):
            bound.append(REGISTRY.bind(name, {}))
    if scorers is None and any(b.scorer.name == "statement_judge" for b in bound):
        bound = _with(bound, "judge", True)
    if not bound:
        raise UsageError("no scorers were asked for")
    if paper_forms:
        bound = _published(bound)
    if against is not None:
        bound = _with(bound, "against", against)
    if answer is not None:
        check_part(answer)
        if not any("answer" in b.values for b in bound):
            raise UsageError(
                f"{option_named('answer')} is a part of answers to compare, and none of the "
                "scorers compares parts: leave it out, or name one that does, such as exact_match"
            )
        bound = _with(bound, "answer", answer)
    if proxy is not None:
        if scorers is None:
            bound = _with(bound, "language_model", proxy)
        bound = _with(bound, "proxy", proxy)
    if spans is not None:
        bound = _with(bound, "detector", spans)
    if prior is not None:
        if not any("prior" in b.values for b in bound):
            raise UsageError(
                "prior shifts the calibrated risk of the scorer ensemble, and this run has none: "
                "leave prior out, or run --preset auto"
            )
        bound = _with(bound, "prior", prior)
    for b in bound:
        b.check()
    return bound


def _with(scorers: list[BoundScorer], parameter: str, value: Any) -> list[BoundScorer]:
    """The scorers with ``parameter`` at ``value`` where they take it and leave it open."""
    bound = [
        REGISTRY.bind(b.scorer.name, {parameter: value, **b.arguments})
        if (value in b.scorer.comparisons if parameter == "against" else parameter in b.values)
        else b
        for b in scorers
    ]
    refuse_duplicates(b.key for b in bound)
    return bound


def _published(scorers: list[BoundScorer]) -> list[BoundScorer]:
    """Return the scorers in the form of their papers, but for arguments that are given."""
    from veridical.core.paper_forms import PAPER_FORMS

    bound = [
        REGISTRY.bind(b.scorer.name, {**form.arguments, **b.arguments})
        if (form := PAPER_FORMS.get(b.scorer.name)) is not None
        else b
        for b in scorers
    ]
    refuse_duplicates(b.key for b in bound)
    return bound
