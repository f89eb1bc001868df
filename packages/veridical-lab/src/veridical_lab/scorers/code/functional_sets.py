"""Number of functional sets of code (UQLM 0.6), as a confidence."""

from __future__ import annotations

from veridical.core.evidence import Evidence
from veridical.core.records import Record
from veridical.core.registry import scorer
from veridical.core.scores import Score
from veridical.scorers.consistency._clusters import grouped
from veridical_lab.scorers.code import code_equivalence
from veridical_lab.scorers.code.code import Language
from veridical_lab.scorers.code.code_equivalence import By, code_answers, same_code


@scorer(
    "functional_sets",
    level="response",
    needs={"samples"},
    source="UQLM 0.6, functional_sets_confidence",
    cost="llm",
    costs_by=code_equivalence.costs_of,
    prompts=code_equivalence.prompts_of,
    check=code_equivalence.check,
    raw_is="confidence",
)
async def functional_sets(
    record: Record,
    evidence: Evidence,
    *,
    by: By = "form",
    language: Language = "python",
    llm: str | None = None,
) -> Score:
    """Count the sets of equivalent code of the response and m samples: (m + 1 - sets) / m.

    Args:
        by, language, llm: as in ``functional_equivalence``.

    ``raw`` is that value: 1 if all are equivalent, 0 if no two are (confidence). ``risk = 1 -
    raw``. An answer without code is a set of its own.

    Raises:
        NotApplicable: as for ``functional_equivalence``.
        LlmError: as for ``functional_equivalence``.
    """
    response, samples = code_answers(record, record.against("samples"), language)
    same = await same_code(evidence, [response, *samples], by, language, llm)
    risk = (len(grouped(same)) - 1) / len(samples)
    return Score.of(risk, raw=1 - risk)
