"""Functional negentropy of code (UQLM 0.6)."""

from __future__ import annotations

import math

from veridical.core.evidence import Evidence
from veridical.core.records import Record
from veridical.core.registry import scorer
from veridical.core.scores import Score
from veridical.scorers.consistency._clusters import entropy, grouped
from veridical.scorers.consistency._sequence_weights import Weights, log_weights
from veridical_lab.scorers.code import code_equivalence
from veridical_lab.scorers.code.code import Language
from veridical_lab.scorers.code.code_equivalence import By, code_answers, same_code


@scorer(
    "functional_negentropy",
    level="response",
    needs={"samples"},
    source="UQLM 0.6, functional_negentropy",
    cost="llm",
    costs_by=code_equivalence.costs_of,
    prompts=code_equivalence.prompts_of,
    check=code_equivalence.check,
    raw_is="confidence",
)
async def functional_negentropy(
    record: Record,
    evidence: Evidence,
    *,
    by: By = "form",
    language: Language = "python",
    weights: Weights = "discrete",
    length_normalize: bool = True,
    llm: str | None = None,
) -> Score:
    """Compute 1 - normalised entropy over clusters of equivalent code.

    The code of the response and m samples is clustered.

    Args:
        by, language, llm: as in ``functional_equivalence``.
        weights, length_normalize: as in ``semantic_entropy``.

    ``raw`` is 1 - H / log(m + 1): 1 if all are equivalent, 0 if no two are (confidence). ``risk = 1
    - raw``. An answer without code is a cluster of its own.

    Raises:
        NotApplicable: as for ``functional_equivalence``; or ``weights="probability"`` and
            log-probabilities are missing.
        LlmError: as for ``functional_equivalence``.
    """
    response, samples = code_answers(record, record.against("samples"), language)
    logs = log_weights(record, weights, length_normalize, response=True)
    same = await same_code(evidence, [response, *samples], by, language, llm)
    risk = min(entropy(grouped(same), logs) / math.log(len(same)), 1.0)
    return Score.of(risk, raw=1 - risk)
