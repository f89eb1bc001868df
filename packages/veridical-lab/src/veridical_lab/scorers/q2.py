"""Q2: question answering on the response and on the knowledge."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any, Literal

from veridical.core.protocols import LABELS
from veridical.core.records import Against, Record
from veridical.core.registry import Cost, scorer
from veridical.core.scores import SHOWN, EvidenceItem, Score, Unit
from veridical.errors import NotApplicable
from veridical.scorers.grounding._documents import JoinedSources, documents, over_documents
from veridical.text.passages import windows
from veridical.text.spans import Span
from veridical_lab.models.evidence import CheckpointEvidence as Evidence
from veridical_lab.models.requests import Answer, Source
from veridical_lab.scorers.q2_questions import Way, answer_f1, candidates, clean, personal

Form = Literal["nli", "f1"]

_BEAMS = 5
_TOKENS = 127  # of a question; the published 128 count the decoder's start token
_CONTEXT = 1600  # characters of the response that a question is written from, about 400 tokens
_WORTH = {"entailment": 1.0, "neutral": 0.5, "contradiction": 0.0}


@dataclass
class _QuestionResult:
    """Question about a candidate that the response answers with it, and its results.

    Attributes:
        answers: by each document, None without an answer.
        f1: of each answer with the candidate; 0 without an answer.
        scores: the same after NLI.
    """

    candidate: Span
    question: str
    answers: list[Answer | None]
    f1: list[float]
    scores: list[float]


def _costs(form: Form, **_: object) -> set[Cost]:
    return {"seq2seq", "nli"} if form == "nli" else {"seq2seq"}


@scorer(
    "q2",
    level="span",
    needs={"against"},
    source="Honovich 2021 (Q2), and its published code",
    cost="seq2seq",
    uses={"nli"},
    raw_is="confidence",
    raw_key="q2",
    costs_by=_costs,
    checkpoints={"generator": "seq2seq", "reader": "reader"},
)
async def q2(
    record: Record,
    evidence: Evidence,
    *,
    form: Form = "nli",
    against: Against = "contexts",
    candidates_by: Way = "spacy",
    decoding: Literal["beam", "greedy"] = "beam",
    questions: Literal["first", "all"] = "first",
    keep_personal: bool = False,
    generator: str = "mrm8488/t5-base-finetuned-question-generation-ap",
    reader: str = "ktrapeznikov/albert-xlarge-v2-squad-v2",
    nli: str | None = None,
) -> Score:
    """Compare the knowledge's answers to questions about the response with the response's own.

    Candidates are spans of the response. The generator writes questions that a candidate should
    answer. A question is valid if the reader answers it on the response with the candidate (both
    cleaned: see :func:`~veridical_lab.scorers.q2_questions.clean`). The reader then answers it on
    the knowledge.

    Args:
        form: ``f1`` scores a question by the token F1 of candidate and answer, 0 without an answer.
            ``nli`` also judges answers with F1 below 1: "question answer." entailing "question
            candidate." is 1, contradicting it 0, neutral keeps the F1.
        against: the knowledge. Contexts are one text, joined by newlines; of several references the
            best counts for each question, over samples the mean.
        candidates_by: ``spacy`` (published, extra ``[spacy]``) or ``regex``: see
            :func:`~veridical_lab.scorers.q2_questions.candidates`.
        decoding: ``beam`` writes 5 questions per candidate by beam search of width 5, without
            repeated trigrams of tokens; ``greedy`` writes one.
        questions: of a candidate's valid questions, the first or all of them.
        keep_personal: also use questions about the speakers ("What do you like?").
        generator: encoder-decoder of questions: hub id or folder.
        reader: extractive reader that supports unanswerable questions (SQuAD 2.0): hub id or
            folder.
        nli: an NLI model instead of the run's own.

    ``raw`` (confidence) is ``{"q2", "questions", "candidates"}``: the mean over valid questions,
    each question, and the number of candidates. Risk is ``1 - q2``. Units are candidates with a
    valid question, with the answers' positions as evidence. Without valid questions, ``f1`` does
    not apply. ``nli`` then uses the verdict on the whole response with the lower-cased knowledge as
    premise (1, 0.5 or 0). A response over 1600 characters is given to the generator in windows of
    whole sentences, each candidate in its own window. The reader reads long texts in windows (see
    :class:`~veridical_lab.models.extractive.TorchExtractive`). Answers keep the text's own words,
    where the published code has the tokenizer's (lower case, without accents).

    Raises:
        NotApplicable: as stated above, or the response is blank or the knowledge is missing.
        UsageError: spaCy or its English model is not installed.
        ModelError: a model failed.
    """
    response = record.need_answer()
    docs = documents(record.against(against))
    spans = await asyncio.to_thread(candidates, response, candidates_by)
    written = await _write(evidence, response, spans, decoding, generator)
    drafts = [(s, text) for s, texts in zip(spans, written, strict=True) for text in texts]
    if not keep_personal:
        drafts = await asyncio.to_thread(_impersonal, drafts, candidates_by)
    valid = await _valid(evidence, response, drafts, reader, questions)
    if not valid:
        if form == "f1":
            raise NotApplicable("no generated question is answered correctly by the response")
        return await _whole(evidence, response, docs, len(spans), nli)
    pairs = [(q, d.text) for _, q in valid for d in docs]
    answers = await evidence.answer(pairs, reader)
    n = len(docs)
    rows = [
        _compared(span, question, answers[i * n : (i + 1) * n])
        for i, (span, question) in enumerate(valid)
    ]
    if form == "nli":
        await _by_nli(evidence, rows, nli)
    values = [over_documents(docs, row.scores) for row in rows]
    raw = fmean(values)
    details = {
        "q2": raw,
        "questions": [_report(row, v) for row, v in zip(rows, values, strict=True)],
        "candidates": len(spans),
    }
    return Score.of(1 - raw, raw=details, units=_units(rows, values, docs))


async def _write(
    evidence: Evidence,
    response: str,
    spans: Sequence[Span],
    decoding: str,
    generator: str,
) -> list[list[str]]:
    """Generate questions that each of ``spans`` should answer, the most likely first."""
    parts = windows(response, _CONTEXT)
    sources: list[Source] = []
    for span in spans:
        part = next((p for p in parts if p.start <= span.start and span.end <= p.end), None)
        context = response if len(response) <= _CONTEXT or part is None else part.text
        sources.append(("answer: ", span.text, "  context: ", context, " </s>"))
    beams = _BEAMS if decoding == "beam" else 1
    texts = await evidence.write(
        sources,
        generator,
        max_tokens=_TOKENS,
        beams=beams,
        returned=beams,
        no_repeat=3 if decoding == "beam" else 0,
    )
    stripped = [[t.replace("question: ", "", 1).strip() for t in row] for row in texts]
    return [[t for t in row if t] for row in stripped]


def _impersonal(drafts: Sequence[tuple[Span, str]], way: Way) -> list[tuple[Span, str]]:
    return [(span, question) for span, question in drafts if not personal(question, way)]


async def _valid(
    evidence: Evidence,
    response: str,
    drafts: Sequence[tuple[Span, str]],
    reader: str,
    which: str,
) -> list[tuple[Span, str]]:
    """Return the questions that the response answers with their candidates."""
    answers = await evidence.answer([(question, response) for _, question in drafts], reader)
    valid = [
        (span, question)
        for (span, question), answer in zip(drafts, answers, strict=True)
        if answer is not None and clean(answer.text) == clean(span.text)
    ]
    if which == "first":
        valid = list({span: (span, q) for span, q in reversed(valid)}.values())[::-1]
    return valid


def _compared(span: Span, question: str, answers: Sequence[Answer | None]) -> _QuestionResult:
    f1 = [0.0 if a is None else answer_f1(span.text, a.text) for a in answers]
    return _QuestionResult(span, question, list(answers), f1, list(f1))


async def _by_nli(evidence: Evidence, rows: Sequence[_QuestionResult], nli: str | None) -> None:
    """Let NLI decide on answers that are not the candidate word for word."""
    open_ = [
        (row, i, answer)
        for row in rows
        for i, answer in enumerate(row.answers)
        if answer is not None and row.f1[i] < 1
    ]
    if not open_:
        return
    pairs = [
        (f"{row.question} {answer.text}.", f"{row.question} {row.candidate.text}.")
        for row, _, answer in open_
    ]
    verdicts = await evidence.nli(pairs, nli)
    labels = verdicts.probabilities.argmax(axis=1)
    for (row, i, _), label in zip(open_, labels, strict=True):
        if LABELS[label] != "neutral":
            row.scores[i] = _WORTH[LABELS[label]]


async def _whole(
    evidence: Evidence,
    response: str,
    docs: Sequence[JoinedSources],
    count: int,
    nli: str | None,
) -> Score:
    """Return the verdict on the whole response, if no question is valid."""
    verdicts = await evidence.nli([(d.text.lower(), response) for d in docs], nli)
    labels = [LABELS[i] for i in verdicts.probabilities.argmax(axis=1)]
    raw = over_documents(docs, [_WORTH[label] for label in labels])
    details = {"q2": raw, "questions": [], "candidates": count, "whole": labels}
    return Score.of(1 - raw, raw=details)


def _units(
    rows: Sequence[_QuestionResult], values: Sequence[float], docs: Sequence[JoinedSources]
) -> list[Unit]:
    """Build a unit per candidate, in the order of the response."""
    units = []
    for span in sorted({row.candidate for row in rows}, key=lambda s: (s.start, s.end)):
        indices = [i for i, row in enumerate(rows) if row.candidate == span]
        value = fmean(values[i] for i in indices)
        places = dict.fromkeys(x for i in indices for x in _places(rows[i].answers, docs))
        units.append(
            Unit.of(span, 1 - value, raw=value, level="span", evidence=list(places)[:SHOWN])
        )
    return units


def _places(answers: Sequence[Answer | None], docs: Sequence[JoinedSources]) -> list[EvidenceItem]:
    pairs = zip(answers, docs, strict=True)
    return [x for a, d in pairs if a is not None for x in d.items(a.start, a.end)]


def _report(row: _QuestionResult, value: float) -> dict[str, Any]:
    """Return a question as in the raw value; ``answers`` are by each document."""
    return {
        "candidate": row.candidate.text,
        "question": row.question,
        "answers": [None if a is None else a.text for a in row.answers],
        "f1": row.f1,
        "score": value,
    }
