"""Whether pieces of code do the same, found without running them: by a normal form, or by an LLM.

:func:`code_answers` takes the code out of a record's answers, :func:`same_code` compares all of it.
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
    """What the comparison asks of the evidence layer."""
    return {"llm" if by == "llm" else "free"}


def prompts_of(by: By, **_: object) -> tuple[str, ...]:
    """The templates that it asks by."""
    return (PROMPT,) if by == "llm" else ()


def check(by: By, llm: str | None, **_: object) -> None:
    """
    Raises:
        UsageError: an LLM is named, and none is asked.
    """
    if llm is not None and by != "llm":
        raise UsageError(f"by={by} asks no llm: leave llm={llm} out, or take by=llm")


def normal_form(code: str, language: Language) -> str:
    """A text that is equal for pieces of code that differ in what makes no difference; empty where
    there is no code.

    Of Python that can be parsed it is the syntax tree with its variables numbered
    (:func:`.python_form.python_form`), of all else the tokens without comments.
    """
    form = python_form(code) if language == "python" else None
    return token_form(code, language) if form is None else form


def code_answers(
    record: Record, sources: Sequence[Source], language: Language
) -> tuple[str, list[str]]:
    """The code of the response and of ``sources``.

    Raises:
        NotApplicable: the response has none.
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
    """(n, n) symmetric: which of the ``codes`` do the same. Answers without code do the same as
    nothing but themselves.

    Args:
        first_alone: compare the first with each other one only.

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
    """Whether the LLM says of each pair that both do the same."""
    prompt = judging(PROMPT, _PARTS)
    form = form_for(evidence, llm)
    requests = [
        request(prompt, {"first": first, "second": second}, form=form) for first, second in pairs
    ]
    verdicts = await ask_all(
        lambda calls: evidence.chat(calls, llm), requests, [prompt] * len(requests)
    )
    return [v.risk < 0.5 for v in verdicts]
