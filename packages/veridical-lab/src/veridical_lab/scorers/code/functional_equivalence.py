"""Functional equivalence rate of code (UQLM 0.6)."""

from __future__ import annotations

from veridical.core.evidence import Evidence
from veridical.core.records import Against, Record
from veridical.core.registry import scorer
from veridical.core.scores import Score
from veridical_lab.scorers.code import code_equivalence
from veridical_lab.scorers.code.code import Language
from veridical_lab.scorers.code.code_equivalence import By, code_answers, same_code


@scorer(
    "functional_equivalence",
    level="response",
    needs={"against"},
    source="UQLM 0.6, functional_equivalence_rate",
    cost="llm",
    costs_by=code_equivalence.costs_of,
    prompts=code_equivalence.prompts_of,
    check=code_equivalence.check,
    raw_is="confidence",
)
async def functional_equivalence(
    record: Record,
    evidence: Evidence,
    *,
    by: By = "form",
    language: Language = "python",
    against: Against = "samples",
    llm: str | None = None,
) -> Score:
    """Share of the samples whose code does the same as the response's. No code is ever run.

    The code is what stands in fenced blocks (those of the language, where any is marked so), or
    the whole answer where there is none.

    Args:
        by: ``form`` compares normal forms: of Python syntax trees, without comments, docstrings
            and annotations, local variables numbered; of the other languages, and of Python that
            cannot be parsed, tokens without comments. Equal forms do the same but for the names
            of parameters; programs that do the same in another way count as different.
            ``llm`` asks a language model of the pairs whose forms differ, as the UQLM package does
            of texts that differ.
        language: ``python``, ``java``, ``javascript``, ``c`` or ``sql``.
        against: what the response is compared with. The share is of the samples; of several
            contexts or references one that does the same is enough.
        llm: with ``by=llm`` the endpoint asked; the run's own if None.

    ``raw`` is the share in [0, 1] (confidence); ``risk = 1 - raw``. A sample without code does not
    agree.

    Raises:
        NotApplicable: the response has no code, or there is nothing to compare it with.
        LlmError: the model gave no clear verdict on a pair.
    """
    response, others = code_answers(record, record.against(against), language)
    codes = [response, *others]
    same = await same_code(evidence, codes, by, language, llm, first_alone=True)
    equal = same[0, 1:]
    raw = float(equal.mean() if against == "samples" else equal.max())
    return Score.of(1 - raw, raw=raw)
