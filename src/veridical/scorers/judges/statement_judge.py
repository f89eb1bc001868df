"""Judge for small language models: one short question per statement."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import fmean
from typing import Literal

from veridical.claims.select import screen
from veridical.core.evidence import Evidence
from veridical.core.messages import ChatRequest, LlmError
from veridical.core.prompt_text import last_question
from veridical.core.records import Record, Source
from veridical.core.registry import scorer
from veridical.core.scores import EvidenceItem, Score, Unit
from veridical.core.stated import need_statements, stated, stated_source, unit_of_each
from veridical.errors import NotApplicable
from veridical.llm.asking import Form, ask_all, failed, request
from veridical.llm.verdicts import JudgeVerdict
from veridical.prompts import load_prompt
from veridical.scorers._most_about import most_about_of
from veridical.scorers.judges._flips import FlipCount
from veridical.text.finding_kinds import finding_kind
from veridical.text.passages import windows
from veridical.text.statements import Statement

#: Templates with and without a document, each in both orders of the alternatives.
_WITH = ("statement_yes_no", "statement_no_yes")
_WITHOUT = ("statement_alone_yes_no", "statement_alone_no_yes")
#: The template that checkers were trained with.
_TRAINED = ("statement_checker",)
#: Maximum UTF-8 bytes of a document shown whole (some 1 500 tokens). From a longer one each
#: statement is shown that amount of the closest windows.
SHOWN_WHOLE = 6_000
_WINDOW = 1_200
_UNKNOWN = "Unknown"
#: Minimum distance of a probability from 0 and 1, and that of a verdict without probabilities.
_EDGE, _SAID = 0.001, 0.1
_FLIPS = FlipCount()
#: ``log-odds of being wrong = intercept + slope x mean log-odds of no``, with a document: fitted by
#: ``training/fit_judge.py`` with Qwen2.5-Coder-1.5B-Instruct as the judge.
INTERCEPT, SLOPE = -0.3662, 1.3067


@scorer(
    "statement_judge",
    level="sentence",
    judges=True,
    source="Veridical: P(no) over both orders of the alternatives; P(not yes) of a checker",
    cost="llm",
    version=2,
    presets={"all", "auto"},
    raw_is="risk",
    raw_key="risk",
    tuned_on={"begin": (), "halueval": ()},  # intercept and slope of the logistic function
    prompts=(*_WITH, *_WITHOUT, *_TRAINED),
)
async def statement_judge(
    record: Record,
    evidence: Evidence,
    *,
    against: Literal["auto", "contexts", "reference", "samples"] = "auto",
    llm: str | None = None,
    fences: bool = True,
) -> Score:
    """Estimate by a language model the probability that a statement is false.

    It is designed for models of one to a few billion parameters: no instructions, no examples, no
    reasons, and an answer of one token. Each sentence is shown with the question it answers, after
    the document, which is processed once for all sentences. The question is if the whole statement
    is true according to the document. It ends once with "Answer Yes or No" and once with "Answer No
    or Yes", so that an order bias cancels out. The risk is a logistic function, fitted on public
    labels, of the mean log-odds of no against yes over both. Without token probabilities the answer
    counts with probability 0.9.

    A checker trained for the task (``--llm local:checker-0.5b``) is called once per sentence, and
    may also answer Unknown. Its risk is a logistic function with its own calibration.

    Args:
        against: the document: all contexts, references or samples together. ``auto`` takes the
            first of these that the record has. Without any, the model judges by its own knowledge.
        llm: endpoint to call; the run's default if None.
        fences: put unforgeable delimiters around quoted text.

    LLM calls per sentence: 2, or 1 with a trained checker. For documents over 6 000 bytes each
    statement is shown the relevant windows.

    A sentence's ``raw`` is its risk, in [0, 1]. It is labelled ``supported`` under 0.5, else
    ``unsupported``, or ``contradicted`` if a checker answers No rather than Unknown. Its evidence
    is the closest sentence of the sources. The response's ``risk`` is the maximum. ``raw`` also has
    the mean ``log_odds`` of each sentence.

    Raises:
        NotApplicable: the response is blank or states nothing, or the record lacks the field named
            by ``against``.
    """
    sentences = need_statements(record)
    sources = _sources(record, against)
    statements = stated(record, sentences)
    texts = [s.text for s in statements]
    shown = [_with_question(record, s) for s in statements]
    documents = _documents(record, evidence, sources, texts) if sources else [None] * len(texts)
    form: Form = "token" if evidence.tells_tokens(llm) else "text"

    def ask(template: str, statement: str, document: str | None) -> ChatRequest:
        parts = {"statement": statement} | ({} if document is None else {"document": document})
        return request(load_prompt(template), parts, record, fenced=fences, form=form)

    trained = evidence.calibration(llm)
    with_document = _WITH if trained is None else _TRAINED
    templates = [_WITHOUT if document is None else with_document for document in documents]
    asked = [
        (name, ask(name, text, document))
        for text, document, names in zip(shown, documents, templates, strict=True)
        for name in names
    ]
    try:
        said = iter(
            await ask_all(
                lambda calls: evidence.chat(calls, llm),
                [call for _, call in asked],
                [load_prompt(name) for name, _ in asked],
            )
        )
    except LlmError as e:
        return await failed(evidence, e)
    by_statement = [[next(said) for _ in names] for names in templates]
    _FLIPS.note(
        llm or "the LLM that judges",
        ((v[0].answer, v[1].answer) for v in by_statement if len(v) == 2),
    )
    means = [fmean(map(_log_odds, some)) for some in by_statement]
    fit = (INTERCEPT, SLOPE) if trained is None else trained
    risks = [risk_of(mean, *fit) if sources else _sigmoid(mean) for mean in means]
    known = [s.text for s in sources or ()]
    units = [
        Unit.of(
            sentence,
            risk,
            raw=risk,
            label=(label := _label(risk, verdicts)),
            kind=None
            if label == "supported"
            else finding_kind(sentence.text, label == "contradicted", known),
            evidence=_most_about(evidence, text, sources),
        )
        for sentence, text, risk, verdicts in zip(
            sentences, texts, risks, by_statement, strict=True
        )
    ]
    raw = {"risk": max(risks), "log_odds": [round(mean, 4) for mean in means]}
    return Score.of(max(risks), raw=raw, units=unit_of_each(record, units))


def risk_of(log_odds: float, intercept: float = INTERCEPT, slope: float = SLOPE) -> float:
    """Compute the risk of a statement with a document from its mean log-odds of no against yes."""
    return _sigmoid(intercept + slope * log_odds)


def _label(risk: float, verdicts: Sequence[JudgeVerdict]) -> str:
    if risk < 0.5:
        return "supported"
    shares = [v.probabilities or {v.answer: 1.0} for v in verdicts]
    three = any(_UNKNOWN in share for share in shares)  # only checkers may answer it
    says_no = all(share.get("No", 0.0) > share.get(_UNKNOWN, 0.0) for share in shares)
    return "contradicted" if three and says_no else "unsupported"


def _sources(record: Record, against: str) -> list[Source]:
    if against == "auto":
        try:
            return record.against("auto")
        except NotApplicable:
            return []
    return record.against(against)  # type: ignore[arg-type]


def _with_question(record: Record, said: Statement) -> str:
    """Return a statement with its question, unless they were combined into one statement."""
    question = last_question(record.prompt)
    if not question or said.how != "answer":
        return said.text
    return f"Question: {question.strip()}\nAnswer: {said.text}"


def _documents(
    record: Record, evidence: Evidence, sources: Sequence[Source], texts: Sequence[str]
) -> list[str | None]:
    """Return the document shown with each of ``texts``."""
    whole = "\n\n".join(stated_source(record, evidence, s).strip() for s in sources)
    if len(whole.encode()) <= SHOWN_WHOLE:
        return [whole] * len(texts)
    passages = [w.text for s in sources for w in windows(s.text, _WINDOW)]
    per_character = len(whole.encode()) / len(whole)
    size = int(_WINDOW / per_character)
    kept = screen(texts, passages, evidence, top=SHOWN_WHOLE // _WINDOW, size=size)
    return ["\n\n".join(_within(passages, k.read.tolist(), k.about)) for k in kept]


def _within(passages: Sequence[str], read: Sequence[int], about: int) -> list[str]:
    """Return the passages to show, in order; if none is closer, the first ones."""
    shown, left = {about}, SHOWN_WHOLE - len(passages[about].encode())
    for place in read:
        size = len(passages[place].encode())
        if place not in shown and size <= left:
            shown.add(place)
            left -= size
    return [passages[i] for i in sorted(shown)]


def _most_about(evidence: Evidence, text: str, sources: Sequence[Source]) -> list[EvidenceItem]:
    """Return the sentence of all sources that shares most words with a statement."""
    spans = evidence.once(
        ("sentences of sources", tuple(sources)),
        lambda: [(source, span) for source in sources for span in source.sentences()],
    )
    if not spans:
        return []
    return [most_about_of(evidence, text, spans)]


def _log_odds(verdict: JudgeVerdict) -> float:
    edge = _EDGE if verdict.how == "probability" else _SAID
    p = min(max(verdict.risk, edge), 1 - edge)
    return math.log(p / (1 - p))


def _sigmoid(odds: float) -> float:
    return (1 + math.tanh(odds / 2)) / 2
