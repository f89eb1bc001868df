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
from veridical.text.asked import QuestionContent, asked, content_stems, holds_value
from veridical.text.refusals import abstains

if TYPE_CHECKING:
    from veridical.core.evidence import Evidence
    from veridical.core.records import Record, Source

_MAX_EMBEDDED_SENTENCES = 48
_MAX_JUDGED_SENTENCES = 3
_MAX_SENTENCE_CHARACTERS = 600
_RECALL_SHARE = 0.5  # weight of word recall, against the cosine, in the choice of sentences
#: Kinds of questions that a value in the sentence can answer.
_VALUED = ("time", "amount", "person", "place", "reason", "manner")

Floats = NDArray[np.float64]


class Candidate(NamedTuple):
    """A source sentence that may answer, with its content words and neighbours."""

    source: Source
    start: int
    end: int
    text: str
    stems: frozenset[str]
    near: frozenset[str]


class Missed(NamedTuple):
    """The sentence that most likely answers, and its probability."""

    probability: float
    source: Source
    start: int
    end: int
    text: str


async def missed_answer(record: Record, evidence: Evidence) -> Missed | None:
    """Find the sentence of the contexts that most likely answers the record's question.

    Returns:
        None if there is no question or context, or their language is unsupported.
    """
    question = asked(last_question(record.prompt))
    if question is None or not record.has("contexts") or not abstains(record.answer):
        return None
    candidates = candidates_of(record.against("contexts"), question)
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


def candidates_of(sources: Sequence[Source], question: QuestionContent) -> list[Candidate]:
    """Return the sentences of ``sources`` with words, at most as many as can be embedded.

    If there are more, those that share most words with the question come first.
    """
    found: list[Candidate] = []
    for source in sources:
        spans = [s for s in source.sentences() if any(map(str.isalnum, s.text))]
        stems = [frozenset(content_stems(s.text[:_MAX_SENTENCE_CHARACTERS])) for s in spans]
        for i, span in enumerate(spans):
            near = stems[i].union(*stems[max(0, i - 1) : i + 2])
            found.append(Candidate(source, span.start, span.end, span.text, stems[i], near))
    if len(found) > _MAX_EMBEDDED_SENTENCES:
        asked_for = question.stems
        found.sort(key=lambda c: -_recall(asked_for, c.stems) - _recall(asked_for, c.near))
        del found[_MAX_EMBEDDED_SENTENCES:]
    return found


async def measured(
    evidence: Evidence, question: QuestionContent, candidates: Sequence[Candidate]
) -> tuple[list[Candidate], Floats]:
    """Return the candidates nearest to the question and their feature rows.

    Raises:
        NotApplicable: the models do not support the texts' language.
    """
    texts = [c.text[:_MAX_SENTENCE_CHARACTERS] for c in candidates]
    vectors = (await evidence.embed([question.question, *texts])).astype(np.float64)
    cosines: Floats = np.clip(vectors[1:] @ vectors[0], -1, 1)
    recall = np.array([_recall(question.stems, c.stems) for c in candidates])
    order = np.argsort(-(cosines + _RECALL_SHARE * recall), kind="stable")[:_MAX_JUDGED_SENTENCES]
    chosen = [candidates[int(k)] for k in order]
    pairs = [(c.text[:_MAX_SENTENCE_CHARACTERS], question.question) for c in chosen]
    verdicts = await evidence.nli(pairs)
    rows = [
        features(question, c, float(cosines[k]), float(entailed))
        for c, k, entailed in zip(chosen, order, verdicts.entailment, strict=True)
    ]
    return chosen, np.array(rows)


def features(
    question: QuestionContent, candidate: Candidate, cosine: float, entailed: float
) -> list[float]:
    """Compute the classifier's features, in the order of :data:`NAMES`.

    Entailment of a question by a sentence shows that both have the same topic.
    """
    polar = question.kind == "yes_no"
    valued = question.kind in _VALUED
    value = (1.0 if holds_value(question.kind, candidate.text) else -1.0) if valued else 0.0
    about = (0.0, entailed) if polar else (entailed, 0.0)
    return [cosine, *about, value, float(polar)]


NAMES = ("cosine", "entailed", "entailed_yes_no", "value", "yes_no")


def probabilities(rows: Floats) -> Floats:
    """Return P(the sentence answers) for each row of features."""
    coefficients, intercept = _fit()
    logits = rows @ coefficients + intercept
    chances: Floats = 1 / (1 + np.exp(-np.clip(logits, -30, 30)))
    return chances


def _recall(asked_for: Sequence[str], stems: frozenset[str]) -> float:
    return sum(s in stems for s in asked_for) / len(asked_for)


@cache
def _fit() -> tuple[Floats, float]:
    """Return the coefficients, in the order of :data:`NAMES`, and the intercept."""
    text = files(__package__).joinpath("missed_answer.json").read_text("utf-8")
    fit = json.loads(text)
    return np.array([fit["coefficients"][n] for n in NAMES]), float(fit["intercept"])
