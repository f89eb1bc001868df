"""NLI of the response with each text, in both directions."""

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

#: Texts that are judged: ``stated`` (short ones with their question) or ``plain`` (as they are).
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
    """Compute the mean P(entailment) with the response over samples and directions.

    A short answer, sample or reference is combined with its question into a statement (see
    :func:`veridical.text.statements.statement`). If the notation of two short answers decides their
    equality (numbers with units, dates, options, lists, JSON), the value is 1 or 0.

    Args:
        against: source that the response is compared with. Values are averaged over samples; for
            several contexts or references the maximum counts.
        answer: compare only a part of each text, as ``exact_match`` does; a sample without it
            counts as entailed with probability 0.

    ``raw`` is that value, in [0, 1] (confidence); ``risk = 1 - raw``. As both directions count, a
    context that says more or less than the response never gives 1.

    Raises:
        NotApplicable: the response is blank, or the record has no ``against`` field.
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
    """Compute the mean 1 - P(contradiction) with the response over samples and directions.

    Args:
        against: source that the response is compared with. Values are averaged over samples; for
            several contexts or references the least contradicting one counts.
        answer: compare only a part of each text, as ``exact_match`` does; a sample without it
            contradicts.
        texts: ``stated`` combines a short answer, sample or reference with its question into a
            statement (see :func:`veridical.text.statements.statement`). ``plain`` judges all texts
            as they are, as published.

    ``raw`` is that value, in [0, 1] (confidence); ``risk = 1 - raw``.

    Raises:
        NotApplicable: the response is blank, the record has no ``against`` field, or the NLI model
            has no contradiction class.
    """
    parts, verdicts = await _both_ways(record, evidence, against, answer, texts)
    contradiction = np.ones(len(parts.others))
    contradiction[parts.found] = verdicts.contradiction.reshape(2, -1).mean(axis=0)
    risk = float(contradiction.mean() if against == "samples" else contradiction.min())
    return Score.of(risk, raw=1 - risk)


async def _both_ways(
    record: Record, evidence: Evidence, against: Against, answer: str | None, texts: Texts
) -> tuple[Parts, Verdicts]:
    """Return the compared parts and their verdicts: response as premise, then as hypothesis."""
    parts = answer_parts(record, against, answer)
    response = parts.response
    compared = [replace(parts.sources[i], text=parts.others[i] or "") for i in parts.found]
    others = [source.text for source in compared]
    if texts == "stated":
        response = stated_answer(record, response)
        others = [stated_source(record, evidence, source) for source in compared]
    pairs = [(response, t) for t in others] + [(t, response) for t in others]
    return parts, await evidence.nli(pairs)
