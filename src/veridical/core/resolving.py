"""Scorer resolution: the scorers of a run, with shared parameters applied."""

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
    """Return the scorers of a run: the named ones, else those of a preset.

    ``against``, ``proxy``, ``prior`` and ``spans`` (the detector) are set on scorers that have such
    a parameter.

    Args:
        llm: True if the run has an LLM. Presets then include scorers that call one, and their
            ensemble uses its judge.
        claims, spans, clusters: add the scorer that they need unless it is included already,
            with any parameters.
        answer: part of each answer that scorers which can compare a part are set to.
        paper_forms: set the arguments of :data:`~veridical.core.paper_forms.PAPER_FORMS` that
            are not given.

    Raises:
        UsageError: a scorer is unknown, parameters cannot be combined, or no scorer has the
            parameter ``prior`` or ``answer``.
    """
    if scorers is None:
        bound = REGISTRY.preset(preset, llm)
    elif isinstance(scorers, str):
        bound = REGISTRY.parse(scorers)
    elif not isinstance(scorers, Iterable):
        raise UsageError(f"scorers must be a string or a list, not {scorers!r}")
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
        raise UsageError("no scorers were named; name some, or leave scorers out")
    if paper_forms:
        bound = _published(bound)
    if against is not None:
        bound = _with(bound, "against", against)
    if answer is not None:
        check_part(answer)
        if not any("answer" in b.values for b in bound):
            raise UsageError(
                f"{option_named('answer')} requires a scorer that compares parts of answers, "
                "such as exact_match; name one, or leave it out"
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
                "prior requires the scorer ensemble, whose calibrated risk it shifts; "
                "leave prior out, or use --preset auto"
            )
        bound = _with(bound, "prior", prior)
    for b in bound:
        b.check()
    return bound


def _with(scorers: list[BoundScorer], parameter: str, value: Any) -> list[BoundScorer]:
    """Return the scorers with ``parameter`` set to ``value`` where they have it and it is not
    given."""
    bound = [
        REGISTRY.bind(b.scorer.name, {parameter: value, **b.arguments})
        if (value in b.scorer.comparisons if parameter == "against" else parameter in b.values)
        else b
        for b in scorers
    ]
    refuse_duplicates(b.key for b in bound)
    return bound


def _published(scorers: list[BoundScorer]) -> list[BoundScorer]:
    """Return the scorers in their published form, except for arguments that are given."""
    from veridical.core.paper_forms import PAPER_FORMS

    bound = [
        REGISTRY.bind(b.scorer.name, {**form.arguments, **b.arguments})
        if (form := PAPER_FORMS.get(b.scorer.name)) is not None
        else b
        for b in scorers
    ]
    refuse_duplicates(b.key for b in bound)
    return bound
