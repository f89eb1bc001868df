"""Mean pairwise non-contradiction (Chen & Mueller 2023; Bouchard & Chauhan 2025, eq. 5-6)."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from veridical.core.answer_parts import AnswerPart, answer_parts
from veridical.core.evidence import Evidence
from veridical.core.records import Against, Record
from veridical.core.registry import scorer
from veridical.core.scores import Score
from veridical.core.stated import stated_answer, stated_source


@scorer(
    "noncontradiction",
    level="response",
    needs={"against"},
    source="Chen & Mueller 2023; Bouchard & Chauhan 2025, eq. 5-6",
    cost="nli",
    version=3,
    raw_is="confidence",
    added={"answer"},
    presets={"all"},
)
async def noncontradiction(
    record: Record,
    evidence: Evidence,
    *,
    against: Against = "samples",
    answer: AnswerPart | None = None,
) -> Score:
    """Mean over samples of 1 - P(contradiction) with the response, averaged over both directions.

    A short answer is judged with its question, as a statement (see
    :func:`veridical.text.statements.statement`); so are short samples and references.

    Args:
        against: what the response is compared with. The mean is over samples; of several
            contexts or references the one that contradicts it least counts.
        answer: compare a part of each text, as ``exact_match`` does; a sample without it
            contradicts.

    ``raw`` is that value, in [0, 1] (confidence); ``risk = 1 - raw``.

    Raises:
        NotApplicable: the response is blank, there is nothing to compare it with, or the NLI
            model has no class for contradiction.
    """
    parts = answer_parts(record, against, answer)
    response = stated_answer(record, parts.response)
    compared = [replace(parts.sources[i], text=parts.others[i] or "") for i in parts.found]
    texts = [stated_source(record, evidence, s) for s in compared]
    pairs = [(response, t) for t in texts] + [(t, response) for t in texts]
    contradiction = np.ones(len(parts.others))
    judged = (await evidence.nli(pairs)).contradiction.reshape(2, -1).mean(axis=0)
    contradiction[parts.found] = judged
    risk = float(contradiction.mean() if against == "samples" else contradiction.min())
    return Score.of(risk, raw=1 - risk)
