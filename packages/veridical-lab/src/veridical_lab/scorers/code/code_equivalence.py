"""Equivalence of code without running it: normal form or LLM.

:func:`code_answers` extracts the code of a record's answers, :func:`same_code` compares all of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from veridical.core.evidence import Evidence
from veridical.core.records import Record, Source
from veridical.core.registry import Cost
from veridical.errors import NotApplicable, UsageError
from veridical.llm.asking import ask_all, form_for, judging, request
from veridical_lab.scorers.code.code import Language, code_of, token_form
from veridical_lab.scorers.code.python_form import python_form

#: ``form`` compares normal forms; ``llm`` asks a language model of those that differ.
By: TypeAlias = Literal["form", "llm"]
PROMPT = "code_equivalence"
_PARTS = frozenset({"first", "second"})


def costs_of(by: By, **_: object) -> set[Cost]:
    """Return the costs of the comparison."""
    return {"llm" if by == "llm" else "free"}


def prompts_of(by: By, **_: object) -> tuple[str, ...]:
    """Return the templates of its requests."""
    return (PROMPT,) if by == "llm" else ()


def check(by: By, llm: str | None, **_: object) -> None:
    """Check the options.

    Raises:
        UsageError: an LLM is named that is not used.
    """
    if llm is not None and by != "llm":
        raise UsageError(f"by={by} does not use llm={llm}; remove it, or set by=llm")


def normal_form(code: str, language: Language) -> str:
    """Return a text that is equal for code with irrelevant differences; empty without code.

    For valid Python it is the syntax tree with numbered variables
    (:func:`.python_form.python_form`), otherwise the tokens without comments.
    """
    form = python_form(code) if language == "python" else None
    return token_form(code, language) if form is None else form


def code_answers(
    record: Record, sources: Sequence[Source], language: Language
) -> tuple[str, list[str]]:
    """Return the code of the response and of ``sources``.

    Raises:
        NotApplicable: the response contains no code.
    """
    response = code_of(record.need_answer(), language)
    if not normal_form(response, language):
        raise NotApplicable("the response has no code")
    return response, [code_of(source.text, language) for source in sources]


async def same_code(
    evidence: Evidence,
    codes: Sequence[str],
    by: By,
    language: Language,
    llm: str | None,
    *,
    first_alone: bool = False,
) -> NDArray[np.bool_]:
    """Compute a symmetric (n, n) mask of equivalent ``codes``.

    Answers without code are equivalent only to themselves.

    Args:
        first_alone: compare only the first with each other one.

    Raises:
        LlmError: the LLM gave no clear verdict on a pair.
    """
    forms = [normal_form(code, language) for code in codes]
    n = len(forms)
    same = np.eye(n, dtype=bool)
    rows = range(1 if first_alone else n)
    pairs = [(i, j) for i in rows for j in range(i + 1, n) if forms[i] and forms[j]]
    for i, j in pairs:
        same[i, j] = same[j, i] = forms[i] == forms[j]
    if by == "llm":
        # one call for two forms, however many answers have them
        unlike = {
            frozenset((forms[i], forms[j])): (codes[i], codes[j])
            for i, j in reversed(pairs)
            if not same[i, j]
        }
        judged = await _judged(evidence, list(unlike.values()), llm)
        told = dict(zip(unlike, judged, strict=True))
        for i, j in pairs:
            if not same[i, j]:
                same[i, j] = same[j, i] = told[frozenset((forms[i], forms[j]))]
    return same


async def _judged(
    evidence: Evidence, pairs: Sequence[tuple[str, str]], llm: str | None
) -> list[bool]:
    """Return the LLM's verdict on the equivalence of each pair."""
    prompt = judging(PROMPT, _PARTS)
    form = form_for(evidence, llm)
    requests = [
        request(prompt, {"first": first, "second": second}, form=form) for first, second in pairs
    ]
    verdicts = await ask_all(
        lambda calls: evidence.chat(calls, llm), requests, [prompt] * len(requests)
    )
    return [v.risk < 0.5 for v in verdicts]
