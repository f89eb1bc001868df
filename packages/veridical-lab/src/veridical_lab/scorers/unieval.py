"""UniEval: Yes/No questions to an encoder-decoder (Zhong et al. 2022).

The questions are those of the published code (MIT licence).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import fmean
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from veridical.core.prompt_text import question_text
from veridical.core.records import Against, Record
from veridical.core.registry import scorer
from veridical.core.scores import SHOWN, EvidenceItem, Score, Unit
from veridical.errors import NotApplicable, UsageError
from veridical.scorers.grounding._documents import JoinedSources, documents, over_documents
from veridical.text.spans import Span
from veridical_lab.models.evidence import CheckpointEvidence as Evidence
from veridical_lab.models.requests import Likelihood

Task = Literal["fact", "sum", "dialog"]
Dimension = Literal[
    "coherence",
    "consistency",
    "engagingness",
    "fluency",
    "groundedness",
    "naturalness",
    "relevance",
    "understandability",
]

_LONGEST = 1024  # tokens, as published; there the rest is cut off
_ANSWERS = ("Yes", "No")


class _Question(NamedTuple):
    """Question of a dimension.

    Attributes:
        words: the method's own words before each of ``fields``.
        fields: ``output``, ``prompt`` (the preceding dialogue) and ``document``.
        of: origin of the document: the grounding texts, or the reference.
        units: sentences are scored separately, and their mean or sum counts.
    """

    words: tuple[str, ...]
    fields: tuple[str, ...] = ("output",)
    of: Literal["source", "reference"] | None = None
    units: Literal["mean", "sum"] | None = None


_CONSISTENT = _Question(
    (
        "question: Is this claim consistent with the document? </s> claim: ",
        " </s> document: ",
    ),
    ("output", "document"),
    "source",
    "mean",
)
_QUESTIONS: dict[tuple[Task, Dimension], _Question] = {
    ("fact", "consistency"): _CONSISTENT,
    ("sum", "consistency"): _CONSISTENT,
    ("sum", "coherence"): _Question(
        (
            "question: Is this a coherent summary to the document? </s> summary: ",
            " </s> document: ",
        ),
        ("output", "document"),
        "source",
    ),
    ("sum", "fluency"): _Question(
        ("question: Is this a fluent paragraph? </s> paragraph: ",), units="mean"
    ),
    ("sum", "relevance"): _Question(
        (
            "question: Is this summary relevant to the reference? </s> summary: ",
            " </s> reference: ",
        ),
        ("output", "document"),
        "reference",
    ),
    ("dialog", "groundedness"): _Question(
        (
            "question: Is this response consistent with knowledge in the fact? </s> response: ",
            " </s> fact: ",
        ),
        ("output", "document"),
        "source",
    ),
    ("dialog", "naturalness"): _Question(
        ("question: Is this a natural response in the dialogue? </s> response: ",)
    ),
    ("dialog", "understandability"): _Question(
        ("question: Is this an understandable response in the dialogue? </s> response: ",)
    ),
    ("dialog", "coherence"): _Question(
        (
            "question: Is this a coherent response given the dialogue history? </s> response: ",
            " </s> dialogue history: ",
        ),
        ("output", "prompt"),
    ),
    ("dialog", "engagingness"): _Question(
        (
            "question: Is this an engaging and informative response according to the dialogue "
            "history and fact? </s> response: ",
            " </s> dialogue history: ",
            " </s> fact: ",
        ),
        ("output", "prompt", "document"),
        "source",
        "sum",
    ),
}
_MAIN: dict[Task, Dimension] = {
    "fact": "consistency",
    "sum": "consistency",
    "dialog": "groundedness",
}


@scorer(
    "unieval",
    level="sentence",
    source="Zhong 2022 (UniEval), and its published code",
    cost="seq2seq",
    raw_is="confidence",
    checkpoints={"model": "seq2seq"},
)
async def unieval(
    record: Record,
    evidence: Evidence,
    *,
    task: Task = "fact",
    dimension: Dimension | None = None,
    against: Against = "contexts",
    model: str = "MingZhong/unieval-{task}",
) -> Score:
    """Compute P(Yes) / (P(Yes) + P(No)) of an encoder-decoder's answer about the response.

    The probabilities are those of the first token of each answer at the decoder's first step.

    Args:
        task: the checkpoint, and its questions. ``fact`` has ``consistency`` (the default there);
            ``sum`` has ``consistency`` (default), ``coherence``, ``fluency`` and ``relevance``;
            ``dialog`` has ``groundedness`` (default), ``naturalness``, ``coherence``,
            ``engagingness`` and ``understandability``.
        dimension: the question; None for the default.
        against: the document or fact. Contexts are one, joined by newlines; of several references
            the best counts, over samples the mean.
        model: hub id or folder; ``{task}`` is replaced by the task.

    Consistency, fluency and engagingness are computed for each sentence, and their mean (for
    engagingness the sum) counts; the others for the whole response. ``raw`` is that number, in [0,
    1] except for engagingness. The risk is ``1 - raw``, for engagingness ``1 / (1 + raw)``. A
    question longer than 1024 tokens is asked with each window of its last text. The window with the
    highest value counts (the published code cuts the text). For a question about only the
    response, it is the mean over windows. A sentence's evidence is the most relevant sentence in
    the best window, with the window's number.

    Raises:
        UsageError: the task has no such question.
        NotApplicable: the record lacks a required field.
        ModelError: the model failed, or a sentence leaves no room for its document.
    """
    chosen = dimension or _MAIN[task]
    question = _QUESTIONS.get((task, chosen))
    if question is None:
        known = ", ".join(d for t, d in _QUESTIONS if t == task)
        raise UsageError(f"unieval(task={task}) has no dimension {chosen!r}; known: {known}")
    response = record.need_answer()
    whole = Span(0, len(response), response)
    spans = record.need_sentences() if question.units else [whole]
    docs = _documents(record, question, against)
    history = question_text(record.prompt) if "prompt" in question.fields else ""
    requests = []
    for span in spans:
        for document in docs:
            values = {"output": span.text, "prompt": history, "document": document.text}
            pairs = zip(question.words, question.fields, strict=True)
            requests.append((tuple(x for w, f in pairs for x in (w, values[f])), _ANSWERS))
    name = model.replace("{task}", task)
    likelihoods = await evidence.likelihood(requests, name, longest=_LONGEST)
    n = len(docs)
    units = [_Unit(s, docs, likelihoods[i * n : (i + 1) * n]) for i, s in enumerate(spans)]
    raws = [u.value() for u in units]
    if question.units is None:
        return Score.of(1 - raws[0], raw=raws[0])
    raw = sum(raws) if question.units == "sum" else fmean(raws)
    shown_units = [
        Unit.of(u.span, 1 - value, raw=value, evidence=u.evidence(evidence))
        for u, value in zip(units, raws, strict=True)
    ]
    return Score.of(
        1 / (1 + raw) if question.units == "sum" else 1 - raw, raw=raw, units=shown_units
    )


def _documents(record: Record, question: _Question, against: Against) -> list[JoinedSources]:
    """Return the texts that the question compares with; one document without sources if none."""
    if "prompt" in question.fields and not record.prompt:
        raise NotApplicable("the record has no prompt")
    if question.of is None:
        return [JoinedSources("", ())]
    return documents(record.against(against if question.of == "source" else "reference"))


class _Unit:
    """Answers about one unit, by document and window."""

    def __init__(
        self, span: Span, docs: Sequence[JoinedSources], likelihoods: Sequence[Likelihood]
    ) -> None:
        self.span = span
        self._documents = docs
        self._windows = [r.windows for r in likelihoods]
        self._values = [[_yes(w.logprobs) for w in windows] for windows in self._windows]

    def value(self) -> float:
        """Return the best window's value of each document; without documents, the mean over
        windows.
        """
        if self._documents[0].kind is None:
            return fmean(self._values[0])
        return over_documents(self._documents, [max(row) for row in self._values])

    def evidence(self, evidence: Evidence) -> list[EvidenceItem]:
        """Return the most relevant sentence in the best window, for the best document or 3
        samples.
        """
        order = sorted(range(len(self._values)), key=lambda n: -max(self._values[n]))
        items = []
        for n in order[: SHOWN if self._documents[0].kind == "sample" else 1]:
            best = max(self._values[n])
            window = self._windows[n][self._values[n].index(best)]
            items += self._documents[n].most_about(
                evidence, self.span.text, window.start, window.end, best
            )
        return items


def _yes(logprobs: Sequence[NDArray[np.float64]]) -> float:
    """Compute P(Yes) / (P(Yes) + P(No)), from the log-probabilities of their first tokens."""
    difference = float(logprobs[1][0] - logprobs[0][0])
    power = math.exp(-abs(difference))  # the form that cannot overflow
    return power / (1 + power) if difference >= 0 else 1 / (1 + power)
