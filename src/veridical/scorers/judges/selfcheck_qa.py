"""SelfCheckGPT with question answering (Manakul et al. 2023, section 5.2)."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Sequence
from functools import partial
from typing import Annotated, Any, Literal, NamedTuple, TypeVar

import numpy as np
from pydantic import Field

from veridical import plugins
from veridical.arrays import Floats
from veridical.core.evidence import Evidence
from veridical.core.messages import LlmError
from veridical.core.records import Against, Record, Source
from veridical.core.registry import Cost, scorer
from veridical.core.scores import SHOWN, Score, Unit
from veridical.errors import NotApplicable
from veridical.llm.asking import failed
from veridical.scorers._most_about import sentence_most_about
from veridical.scorers.judges._mqag import (
    Question,
    QuestionSystem,
    bayes,
    counting,
    hellinger,
    kl_divergence,
    total_variation,
)
from veridical.scorers.judges._mqag_llm import PROMPTS, ChatQuestions
from veridical.text.spans import Span

Method = Literal["bayes_with_alpha", "bayes", "counting", "kl", "hellinger", "total_variation"]

T = TypeVar("T")
U = TypeVar("U")

_DISTANCES = {"kl": kl_divergence, "hellinger": hellinger, "total_variation": total_variation}
Probability = Annotated[float, Field(gt=0, lt=1)]


def _costs(backend: str, **_: object) -> set[Cost]:
    return {"llm"} if backend == "llm" else {"seq2seq"}


@scorer(
    "selfcheck_qa",
    level="sentence",
    version=2,
    needs={"against"},
    source="Manakul 2023, eq. 2-6 and 14-21",
    cost="llm",
    uses={"seq2seq"},
    raw_is="risk",
    raw_key="inconsistency",
    prompts=PROMPTS,
    costs_by=_costs,
    checkpoints={
        "writer": "seq2seq",
        "distractor": "seq2seq",
        "reader": "choice",
        "answerability": "answerability",
    },
)
async def selfcheck_qa(
    record: Record,
    evidence: Evidence,
    *,
    method: Method = "bayes_with_alpha",
    questions: Annotated[int, Field(ge=1, le=50)] = 5,
    beta1: Probability = 0.8,
    beta2: Probability = 0.8,
    answerable: Annotated[float, Field(ge=0, le=1)] = 0.5,
    against: Against = "samples",
    backend: Literal["models", "llm"] = "models",
    llm: str | None = None,
    seed: Annotated[int, Field(ge=0, lt=2**63)] = 0,
    writer: str = "potsawee/t5-large-generation-squad-QuestionAnswer",
    distractor: str = "potsawee/t5-large-generation-race-Distractor",
    reader: str = "potsawee/longformer-large-4096-answering-race",
    answerability: str = "potsawee/longformer-large-4096-answerable-squad2",
) -> Score:
    """Compare samples and response by multiple-choice questions about each sentence.

    Args:
        method: ``bayes_with_alpha`` is the probability that the sentence is non-factual given the
            matching and different answers, each weighted by the answerability of its question.
            ``bayes`` and ``counting`` (the share of different answers) count answerable questions
            only. They are 0.5 for a question that the response itself does not answer. ``kl``
            (nats), ``hellinger`` and ``total_variation`` are MQAG's distances between the
            probabilities of the options, ignoring answerability.
        questions: questions per sentence, 1 to 50. Invalid samples are dropped.
        beta1: probability of a different answer if the sentence is non-factual, in (0, 1).
        beta2: probability of the same answer if the sentence is factual, in (0, 1).
        answerable: minimum probability at which a question counts as answerable, in [0, 1].
        against: sources that the questions are answered from, in addition to the response. Counts
            are over all of them; distances are averaged over samples, and are the minimum over
            contexts or references.
        backend: ``models`` runs the published checkpoints locally (the extra ``[torch]``, about 10
            GB of weights in float32). ``llm`` uses a chat model for all steps.
        llm: endpoint to call; the run's default if None.
        seed: seed of the checkpoints' sampling.
        writer, distractor, reader, answerability: hub id or folder of each checkpoint, with
            ``?revision=COMMIT`` to pin one.

    A sentence's ``raw`` is the mean over its questions. Its evidence is the sentence closest to the
    question in each of the (up to 3) sources that answer differently. The response's
    ``inconsistency`` is the mean over sentences. ``raw`` has it, every question with its result,
    and the ``systems`` (models by name, or prompts with their versions). The risk equals the
    inconsistency, or 1 - exp(-raw) for ``kl``. A sentence without a question has no risk and does
    not count. If no sentence has one, the score is not applicable, or failed if the language
    model's replies could not be read.
    """
    sentences = record.need_sentences()
    sources = record.against(against)
    if backend == "llm":
        chat = partial(evidence.chat, llm=llm)
        system: QuestionSystem = ChatQuestions(chat, by_token=evidence.tells_tokens(llm))
    else:
        by_models = plugins.load(
            plugins.NAMES, "scorers.judges.mqag_models", "selfcheck_qa(backend='models')"
        )
        models = writer, distractor, reader, answerability
        system = by_models.Checkpoints(evidence, *models, seed)
    try:
        written = await system.questions(record.response, [s.text for s in sentences], questions)
        answers = await _answers(system, record.response, sources, written, method)
    except LlmError as e:
        return await failed(evidence, *(system.troubles or [e]))
    options = (method, beta1, beta2, answerable, against)
    scores = {q: _inconsistency(answer, *options) for q, answer in answers.items()}
    units = [
        _unit(sentence, about, scores, answers, sources, evidence, method)
        for sentence, about in zip(sentences, written, strict=True)
    ]
    rows = [_row(i, q, answers[q], scores[q]) for i, qs in enumerate(written) for q in qs]
    mean = float(np.mean([u.raw for u in units if u.raw is not None]))
    details = {"inconsistency": mean, "systems": system.parts, "questions": rows}
    return Score.of(_risk(mean, method), raw=details, units=units)


class _Answers(NamedTuple):
    """Answers to a question by the response and then by each source.

    They hold the probabilities of its options and its answerability (1 if the method does not use
    it).
    """

    choices: list[Floats]
    alphas: list[float]


async def _answers(
    system: QuestionSystem,
    response: str,
    sources: Sequence[Source],
    written: Sequence[Sequence[Question]],
    method: Method,
) -> dict[Question, _Answers]:
    """Answer each distinct question.

    Raises:
        LlmError: the language model's replies could not be read.
        NotApplicable: no valid question could be written.
    """
    questions = list(dict.fromkeys(q for qs in written for q in qs))
    if not questions:
        if system.troubles:
            raise system.troubles[0]
        raise NotApplicable("no valid question could be written about any sentence")
    passages = [response, *(s.text for s in sources)]
    first = {"bayes_with_alpha": 1, "bayes": 0, "counting": 0}.get(method, len(passages))
    chosen, judged = await _both(
        system.choose([(p, q) for q in questions for p in passages]),
        system.answerable([(p, q) for q in questions for p in passages[first:]]),
    )
    n, width = len(passages), len(passages) - first
    return {
        question: _Answers(
            chosen[i * n : (i + 1) * n], [1.0] * first + judged[i * width : (i + 1) * width]
        )
        for i, question in enumerate(questions)
    }


async def _both(first: Awaitable[T], second: Awaitable[U]) -> tuple[T, U]:
    """Await both results; raise an error only after both have finished."""
    one, two = await asyncio.gather(first, second, return_exceptions=True)
    if isinstance(one, BaseException):
        raise one
    if isinstance(two, BaseException):
        raise two
    return one, two


def _inconsistency(
    answers: _Answers,
    method: Method,
    beta1: float,
    beta2: float,
    threshold: float,
    against: Against,
) -> float:
    """Compute S_QA of one question (eq. 5), or its mean or minimum distance."""
    choices, alphas = answers
    distance = _DISTANCES.get(method)
    if distance is not None:
        distances = [distance(choices[0], other) for other in choices[1:]]
        return float(np.mean(distances)) if against == "samples" else min(distances)
    weights = np.array(alphas[1:])
    if method != "bayes_with_alpha":
        if alphas[0] < threshold:
            return 0.5
        weights = (weights >= threshold).astype(np.float64)
    same = np.array([c.argmax() == choices[0].argmax() for c in choices[1:]])
    matches, mismatches = float(weights[same].sum()), float(weights[~same].sum())
    if method == "counting":
        return counting(matches, mismatches)
    return bayes(matches, mismatches, beta1, beta2)


def _risk(raw: float, method: Method) -> float:
    return float(-np.expm1(-raw)) if method == "kl" else raw


def _unit(
    sentence: Span,
    about: Sequence[Question],
    scores: dict[Question, float],
    answers: dict[Question, _Answers],
    sources: Sequence[Source],
    evidence: Evidence,
    method: Method,
) -> Unit:
    """Build the sentence's unit from the inconsistency of each question about it.

    Evidence is the sources that answer the worst question differently, the most answerable first.
    """
    if not about:
        return Unit.of(sentence, None, label="no valid question")
    raw = float(np.mean([scores[q] for q in about]))
    worst = max(about, key=lambda q: scores[q])
    text = " ".join([worst.text, *worst.options])
    choices, alphas = answers[worst]
    differing = [n for n, c in enumerate(choices[1:]) if c.argmax() != choices[0].argmax()]
    differing.sort(key=lambda n: -alphas[n + 1])
    items = [sentence_most_about(evidence, text, sources[n]) for n in differing[:SHOWN]]
    return Unit.of(sentence, _risk(raw, method), raw=raw, evidence=items)


def _row(sentence: int, question: Question, answers: _Answers, score: float) -> dict[str, Any]:
    """Return a question for the raw value.

    ``answers`` and ``answerable`` are those of the response, then of each source.
    """
    return {
        "sentence": sentence,
        "question": question.text,
        "options": list(question.options),
        "answers": [int(c.argmax()) for c in answers.choices],
        "answerable": [round(a, 6) for a in answers.alphas],
        "inconsistency": score,
    }
