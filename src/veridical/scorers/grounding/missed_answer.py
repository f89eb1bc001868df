"""Probability that a source answers a question, for answers that decline."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from veridical.core.prompt_text import last_question
from veridical.errors import NotApplicable
from veridical.text.asked import Asked, asked, content_stems, holds_value

if TYPE_CHECKING:
    from veridical.core.evidence import Evidence
    from veridical.core.records import Record, Source

_MAX_EMBEDDED_SENTENCES = 48
_MAX_JUDGED_SENTENCES = 3
_MAX_SENTENCE_CHARACTERS = 600
_MAX_PREMISE_CHARACTERS = 900
_RECALL_SHARE = 0.5  # weight of word recall beside the cosine where sentences are chosen
#: Kinds that a value in the sentence can speak for.
_VALUED = ("time", "amount", "person", "place", "reason", "manner")

Floats = NDArray[np.float64]


class Candidate(NamedTuple):
    """A sentence of a source that may answer. ``premise`` is read by the NLI model."""

    source: Source
    start: int
    end: int
    text: str
    premise: str
    stems: frozenset[str]
    near: frozenset[str]


class Missed(NamedTuple):
    """The sentence that most likely answers, and the probability that it does."""

    probability: float
    source: Source
    start: int
    end: int
    text: str


async def missed_answer(
    record: Record, evidence: Evidence, used: Sequence[str] = ()
) -> Missed | None:
    """Find the sentence of the contexts that most likely answers the record's question.

    Args:
        used: statements that the answer makes. A sentence of a source that shares most of its
            words with one of them is left out, as the answer does not miss it.

    Returns:
        None where there is no question or no context, or the models do not read them.
    """
    question = asked(last_question(record.prompt))
    if question is None:
        return None
    candidates = _without(candidates_of(record.against("contexts"), question), used)
    if not candidates:
        return None
    try:
        chosen, rows = await measured(evidence, question, candidates)
    except NotApplicable:
        return None
    risks = probabilities(rows)
    best = int(np.argmax(risks))
    found = chosen[best]
    return Missed(float(risks[best]), found.source, found.start, found.end, found.text)


def candidates_of(sources: Sequence[Source], question: Asked) -> list[Candidate]:
    """Sentences of ``sources`` with a word, those that share most words with the question first
    where there are more than can be embedded."""
    found: list[Candidate] = []
    for source in sources:
        spans = [s for s in source.sentences() if any(map(str.isalnum, s.text))]
        stems = [frozenset(content_stems(s.text[:_MAX_SENTENCE_CHARACTERS])) for s in spans]
        for i, span in enumerate(spans):
            near = stems[i].union(*stems[max(0, i - 1) : i + 2])
            before = spans[i - 1].text if i else ""
            premise = f"{before[-300:]} {span.text}".strip()[-_MAX_PREMISE_CHARACTERS:]
            text = span.text
            found.append(Candidate(source, span.start, span.end, text, premise, stems[i], near))
    if len(found) > _MAX_EMBEDDED_SENTENCES:
        asked_for = question.stems
        found.sort(key=lambda c: -_recall(asked_for, c.stems) - _recall(asked_for, c.near))
        del found[_MAX_EMBEDDED_SENTENCES:]
    return found


async def measured(
    evidence: Evidence, question: Asked, candidates: Sequence[Candidate]
) -> tuple[list[Candidate], Floats]:
    """The candidates nearest to the question, and a row of features for each.

    Raises:
        NotApplicable: the models do not read the texts.
    """
    texts = [c.text[:_MAX_SENTENCE_CHARACTERS] for c in candidates]
    vectors = (await evidence.embed([question.question, *texts])).astype(np.float64)
    cosines: Floats = np.clip(vectors[1:] @ vectors[0], -1, 1)
    recall = np.array([_recall(question.stems, c.stems) for c in candidates])
    order = np.argsort(-(cosines + _RECALL_SHARE * recall), kind="stable")[:_MAX_JUDGED_SENTENCES]
    chosen = [candidates[int(k)] for k in order]
    verdicts = (await evidence.nli([(c.premise, question.said) for c in chosen])).probabilities
    known = frozenset[str]().union(*(c.stems for c in candidates))
    rows = [
        features(question, c, float(cosines[k]), verdict, known)
        for c, k, verdict in zip(chosen, order, verdicts, strict=True)
    ]
    return chosen, np.array(rows)


def features(
    question: Asked, candidate: Candidate, cosine: float, verdict: Floats, known: frozenset[str]
) -> list[float]:
    """What the model weighs, in the order of :data:`NAMES`."""
    entailed, neutral, contradicted = (float(p) for p in verdict)
    polar = question.kind == "yes_no"
    valued = question.kind in _VALUED
    value = (1.0 if holds_value(question.kind, candidate.text) else -1.0) if valued else 0.0
    return [
        cosine,
        _recall(question.stems, candidate.stems),
        _recall(question.stems, candidate.near),
        _recall(question.stems, known),
        value,
        0.0 if polar else entailed,
        1 - neutral if polar else 0.0,
        0.0 if polar else contradicted,
        float(polar),
    ]


NAMES = (
    "cosine",
    "recall",
    "recall_near",
    "recall_all",
    "value",
    "entailed",
    "decided",
    "contradicted",
    "yes_no",
)


def probabilities(rows: Floats) -> Floats:
    """P(the sentence answers) of each row of features."""
    coefficients, intercept = _fit()
    logits = rows @ coefficients + intercept
    chances: Floats = 1 / (1 + np.exp(-np.clip(logits, -30, 30)))
    return chances


def _recall(asked_for: Sequence[str], stems: frozenset[str]) -> float:
    return sum(s in stems for s in asked_for) / len(asked_for)


def _without(candidates: Sequence[Candidate], used: Sequence[str]) -> list[Candidate]:
    """The candidates that none of the ``used`` statements is mostly about."""
    said = [frozenset(content_stems(text)) for text in used]
    return [
        c
        for c in candidates
        if not any(s and 2 * len(s & c.stems) >= min(len(s), len(c.stems) or 1) for s in said)
    ]


@cache
def _fit() -> tuple[Floats, float]:
    """Coefficients in the order of :data:`NAMES`, and the intercept."""
    text = files(__package__).joinpath("missed_answer.json").read_text("utf-8")
    fit = json.loads(text)
    return np.array([fit["coefficients"][n] for n in NAMES]), float(fit["intercept"])
