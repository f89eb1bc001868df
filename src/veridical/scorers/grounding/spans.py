"""Hallucinated spans: smallest wrong word runs, by a token classifier."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Annotated

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from veridical.arrays import Floats
from veridical.core.evidence import Evidence
from veridical.core.language_gate import language_gate, unread_unit
from veridical.core.prompt_text import last_question
from veridical.core.records import Against, Record
from veridical.core.registry import scorer
from veridical.core.requests import GroundedAnswer
from veridical.core.scores import Score, Unit
from veridical.core.stated import need_statements, unit_of_each, without_lead_in
from veridical.scorers.grounding._source_windows import Windowed, source_windows
from veridical.scorers.grounding.nli_grounding import read_rows, window_verdicts
from veridical.text.citations import blanked_markers
from veridical.text.copies import is_copy
from veridical.text.spans import Span
from veridical.text.statements import Statement
from veridical.text.words import lettered_spans

#: Minimum risk at which a word is wrong.
WRONG = 0.5


def _costs(*, detector: str | None, **_: object) -> set[str]:
    return {"detector"} if detector else {"nli"}


@scorer(
    "spans",
    level="span",
    version=5,
    judges=True,
    needs={"against"},
    source="Veridical: a token head of the NLI model; detectors after Kovacs 2025 (LettuceDetect)",
    cost="nli",
    uses={"detector"},
    costs_by=_costs,
    raw_is="risk",
    presets={"all"},
)
async def spans(
    record: Record,
    evidence: Evidence,
    *,
    against: Against = "contexts",
    top: Annotated[int, Field(ge=0, le=1000)] = 8,
    detector: str | None = None,
) -> Score:
    """Compute the probability that each word of the answer is wrong, and the wrong runs.

    The NLI model's token head computes it in the forward pass that judges a sentence, on the same
    pairs as ``nli_grounding``. A sentence that occurs verbatim in a source has no wrong word. Of
    the windows of contexts and references, the one that supports a word best counts; risks of
    samples are averaged.

    Args:
        top: number of full windows that judge a sentence, as in ``nli_grounding``.
        detector: a token classifier of sources, question and answer, used instead of the NLI model;
            None takes the run's (``--spans``), if any.

    A sentence's ``raw`` is the maximum risk of its words, in [0, 1], and the response's the maximum
    of all. Consecutive words with a risk of at least 0.5 form a unit of level ``span`` with their
    maximum risk. A sentence without words has no risk.

    Raises:
        NotApplicable: the response has no word, there is no source, or the NLI model has no token
            head.
    """
    sentences: Sequence[Span] = need_statements(record)
    unread: list[Unit] = []
    if detector:
        words = await _by_detector(record, evidence, against, detector)
    else:
        gate = await language_gate(record, evidence)
        read = source_windows(record, evidence, against, top, gate)
        if not read.sentences:
            return gate.unread(read.unread)
        sentences = read.sentences
        words = await _by_nli(record, read, evidence, top)
        unread = [unread_unit(s) for s in read.unread]
    return _score(record, sentences, words, unread)


async def _by_nli(
    record: Record, read: Windowed, evidence: Evidence, top: int
) -> list[tuple[Span, float]]:
    """Return the answer's words and their risks, by the windows that judge each sentence."""
    if evidence.nli_by_llm():  # raises before verdicts are requested
        await evidence.wrong_words(read.pairs())
    judged = read_rows(read.pairs(), await window_verdicts(read, evidence, top))
    pairs = [pair for pair in judged if not is_copy(pair[1], pair[0])]
    risks = dict(zip(pairs, await evidence.wrong_words(pairs), strict=True))
    found: list[tuple[Span, float]] = []
    for i, (sentence, statement) in enumerate(zip(read.sentences, read.statements, strict=True)):
        copied = np.zeros(len(lettered_spans(statement.text)))
        groups = [
            np.min([risks.get(p, copied) for p in places if p in judged], axis=0)
            for places in ([read.pair(i, int(k)) for k in r.read] for r in read.readings[i])
        ]
        said = without_lead_in(record, sentence)
        found += _in_answer(said, statement, np.mean(groups, axis=0))
    return found


def _in_answer(sentence: Span, statement: Statement, risks: Floats) -> Iterator[tuple[Span, float]]:
    """Yield the words of a sentence, without citation numbers, with their ``risks``.

    The risks are those of the statement judged for it. If the sentence's words are not in the
    statement (``Yes.``), all take the maximum.
    """
    own = lettered_spans(blanked_markers(sentence.text))
    judged = lettered_spans(statement.text)
    inside = [
        (word, float(risk))
        for word, risk in zip(judged, risks, strict=True)
        if statement.start <= word.start and word.end <= statement.end
    ]
    if len(inside) < len(own) and statement.how != "joined":
        own = own[-len(inside) :] if inside else own  # "Yes, ..." is judged by the text after it
    if [w.text.lower() for w in own] != [w.text.lower() for w, _ in inside]:
        worst = float(risks.max()) if len(risks) else 0.0
        inside = [(word, worst) for word in own]
    for word, (_, risk) in zip(own, inside, strict=True):
        start = sentence.start + word.start
        yield Span(start, start + len(word.text), word.text), risk


async def _by_detector(
    record: Record, evidence: Evidence, against: Against, detector: str
) -> list[tuple[Span, float]]:
    sources = record.against(against)
    groups = [[s] for s in sources] if against == "samples" else [sources]
    question = last_question(record.prompt) or ""
    text = record.need_answer()
    requests = [GroundedAnswer(question, tuple(s.text for s in g), text) for g in groups]
    answers: list[NDArray[np.float32]] = await evidence.ask("detector", requests, detector)
    risks = np.mean(np.array(answers, np.float64), axis=0)
    return list(zip(lettered_spans(text), risks.round(6).tolist(), strict=True))


def _score(
    record: Record,
    sentences: Sequence[Span],
    words: Sequence[tuple[Span, float]],
    unread: Sequence[Unit],
) -> Score:
    """Build the score from the answer's words in order, for ``sentences``."""
    units: list[Unit] = [*unread]
    risks: list[float] = []
    for sentence in sentences:
        here = [(w, r) for w, r in words if sentence.start <= w.start < sentence.end]
        risks += [risk for _, risk in here]
        worst = max((risk for _, risk in here), default=None)
        units.append(Unit.of(sentence, worst, raw=worst))
        units += _runs(sentence, here)
    if not risks:
        return Score.not_applicable("the response has no word")
    return Score.of(max(risks), raw=max(risks), units=unit_of_each(record, units))


def _runs(sentence: Span, words: Sequence[tuple[Span, float]]) -> Iterator[Unit]:
    """Yield units for the runs of wrong words."""
    for run in wrong_runs(words):
        start, end = run[0][0].start, run[-1][0].end
        text = sentence.text[start - sentence.start : end - sentence.start]
        worst = max(risk for _, risk in run)
        yield Unit.of(Span(start, end, text), worst, raw=worst, level="span", label="unsupported")


def wrong_runs(words: Iterable[tuple[Span, float]]) -> list[list[tuple[Span, float]]]:
    """Group consecutive wrong words."""
    runs: list[list[tuple[Span, float]]] = []
    before = False
    for word, risk in words:
        wrong = risk >= WRONG
        if wrong and before:
            runs[-1].append((word, risk))
        elif wrong:
            runs.append([(word, risk)])
        before = wrong
    return runs
