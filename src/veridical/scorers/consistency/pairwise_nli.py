"""Scorers by what an NLI model says of the response with each text, in both directions."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

import numpy as np

from veridical.core.agreement import known_agreement
from veridical.core.answer_parts import AnswerPart, Parts, answer_parts
from veridical.core.evidence import Evidence
from veridical.core.records import Against, Record
from veridical.core.registry import scorer
from veridical.core.scores import Score
from veridical.core.stated import stated_answer, stated_source
from veridical.core.verdicts import Verdicts

#: What is judged: short texts with their question, as ``stated``, or all as they are (``plain``).
Texts = Literal["stated", "plain"]


@scorer(
    "entailment",
    level="response",
    needs={"against"},
    source="Lin 2024; UQLM package",
    cost="nli",
    version=4,
    raw_is="confidence",
    added={"answer"},
    presets={"all", "auto"},
)
async def entailment(
    record: Record,
    evidence: Evidence,
    *,
    against: Against = "samples",
    answer: AnswerPart | None = None,
) -> Score:
    """Mean over samples of P(entailment) with the response, averaged over both directions.

    A short answer is judged with its question, as a statement (see
    :func:`veridical.text.statements.statement`); so are short samples and references. Where the
    notation of two short answers tells whether they are the same (numbers with units, dates,
    options, lists, JSON), it decides: 1 or 0.

    Args:
        against: what the response is compared with. The mean is over samples; of several
            contexts or references the nearest counts.
        answer: compare a part of each text, as ``exact_match`` does; a sample without it
            is entailed with 0.

    ``raw`` is that value, in [0, 1] (confidence); ``risk = 1 - raw``. Both directions count: a
    context that says more than the response, or less, never gives 1.

    Raises:
        NotApplicable: the response is blank, or there is nothing to compare it with.
    """
    parts, verdicts = await _both_ways(record, evidence, against, answer, "stated")
    agreement = np.zeros(len(parts.others))
    agreement[parts.found] = verdicts.entailment.reshape(2, -1).mean(axis=0)
    if answer is None:
        for i, same in enumerate(known_agreement(record, parts.sources)):
            if same is not None:
                agreement[i] = same
    raw = float(agreement.mean() if against == "samples" else agreement.max())
    return Score.of(1 - raw, raw=raw)


@scorer(
    "noncontradiction",
    level="response",
    needs={"against"},
    source="Chen & Mueller 2023; Bouchard & Chauhan 2025, eq. 5-6",
    cost="nli",
    version=3,
    raw_is="confidence",
    added={"answer", "texts"},
    presets={"all"},
)
async def noncontradiction(
    record: Record,
    evidence: Evidence,
    *,
    against: Against = "samples",
    answer: AnswerPart | None = None,
    texts: Texts = "stated",
) -> Score:
    """Mean over samples of 1 - P(contradiction) with the response, averaged over both directions.

    Args:
        against: what the response is compared with. The mean is over samples; of several
            contexts or references the one that contradicts it least counts.
        answer: compare a part of each text, as ``exact_match`` does; a sample without it
            contradicts.
        texts: ``stated`` judges a short answer, sample or reference with its question, as a
            statement (see :func:`veridical.text.statements.statement`); ``plain`` all texts as they
            are, as published.

    ``raw`` is that value, in [0, 1] (confidence); ``risk = 1 - raw``.

    Raises:
        NotApplicable: the response is blank, there is nothing to compare it with, or the NLI
            model has no class for contradiction.
    """
    parts, verdicts = await _both_ways(record, evidence, against, answer, texts)
    contradiction = np.ones(len(parts.others))
    contradiction[parts.found] = verdicts.contradiction.reshape(2, -1).mean(axis=0)
    risk = float(contradiction.mean() if against == "samples" else contradiction.min())
    return Score.of(risk, raw=1 - risk)


async def _both_ways(
    record: Record, evidence: Evidence, against: Against, answer: str | None, texts: Texts
) -> tuple[Parts, Verdicts]:
    """Return what is compared, and the verdicts on all that is found: first with the response as
    premise, then with it as hypothesis."""
    parts = answer_parts(record, against, answer)
    response = parts.response
    compared = [replace(parts.sources[i], text=parts.others[i] or "") for i in parts.found]
    others = [source.text for source in compared]
    if texts == "stated":
        response = stated_answer(record, response)
        others = [stated_source(record, evidence, source) for source in compared]
    pairs = [(response, t) for t in others] + [(t, response) for t in others]
    return parts, await evidence.nli(pairs)
