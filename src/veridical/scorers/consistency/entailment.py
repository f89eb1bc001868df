"""Mean pairwise entailment (Lin et al. 2024, as a confidence in the UQLM package)."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from veridical.core.agreement import known_agreement
from veridical.core.answer_parts import AnswerPart, answer_parts
from veridical.core.evidence import Evidence
from veridical.core.records import Against, Record
from veridical.core.registry import scorer
from veridical.core.scores import Score
from veridical.core.stated import stated_answer, stated_source


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
    parts = answer_parts(record, against, answer)
    response = stated_answer(record, parts.response)
    compared = [replace(parts.sources[i], text=parts.others[i] or "") for i in parts.found]
    texts = [stated_source(record, evidence, s) for s in compared]
    pairs = [(response, t) for t in texts] + [(t, response) for t in texts]
    agreement = np.zeros(len(parts.others))
    agreement[parts.found] = (await evidence.nli(pairs)).entailment.reshape(2, -1).mean(axis=0)
    if answer is None:
        for i, same in enumerate(known_agreement(record, parts.sources)):
            if same is not None:
                agreement[i] = same
    raw = float(agreement.mean() if against == "samples" else agreement.max())
    return Score.of(1 - raw, raw=raw)
