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
    """Compute the share of the samples whose code is equivalent to the response's.

    No code is ever run. Code is taken from fenced blocks (those marked with the language, if any),
    or is the whole answer if there are no blocks.

    Args:
        by: ``form`` compares normal forms. For Python these are syntax trees without comments,
            docstrings and annotations, with numbered local variables. For other languages and
            invalid Python, they are tokens without comments. Equal forms are equivalent except for
            parameter names; equivalent programs in another form count as different. ``llm``
            requests a verdict from a language model on pairs of different forms, as the UQLM
            package does for different texts.
        language: ``python``, ``java``, ``javascript``, ``c`` or ``sql``.
        against: texts to compare the response with. The share is over samples; of several contexts
            or references one equivalent text is enough.
        llm: endpoint for ``by=llm``; the run's own if None.

    ``raw`` is the share in [0, 1] (confidence); ``risk = 1 - raw``. A sample without code does not
    agree.

    Raises:
        NotApplicable: the response has no code, or there is no text to compare with.
        LlmError: the model gave no clear verdict on a pair.
    """
    response, others = code_answers(record, record.against(against), language)
    codes = [response, *others]
    same = await same_code(evidence, codes, by, language, llm, first_alone=True)
    equal = same[0, 1:]
    raw = float(equal.mean() if against == "samples" else equal.max())
    return Score.of(1 - raw, raw=raw)
