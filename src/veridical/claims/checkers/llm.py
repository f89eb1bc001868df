"""Claim checker by a language model, one claim per call."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple

import numpy as np

from veridical.claims.asking import question_of
from veridical.core.messages import LlmError
from veridical.core.protocols import LABELS
from veridical.errors import UsageError
from veridical.llm.asking import ask_all, form_for, request
from veridical.llm.verdicts import JudgeVerdict
from veridical.prompts import Prompt, load_prompt

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from veridical.claims.claim import Claim
    from veridical.core.evidence import Evidence

Shots = Literal[0, 1, 3]
#: Templates with the record's question, without it, with three examples, and with one.
PROMPTS = (
    "refchecker_check_question",
    "refchecker_check",
    "refchecker_check_shots",
    "refchecker_check_shot",
)
_TRIPLET = 'represented as a triplet formatted with ("subject", "predicate", "object")'
_SENTENCE = "a sentence"
_NAMES = tuple(label.capitalize() for label in LABELS)  # of the classes, in the templates
_PROBABILITY_DECIMALS = 6  # rounded before comparison with a threshold


class AskedClaim(NamedTuple):
    """A claim as shown to the model, with the passage for the check.

    Attributes:
        form: description of the claim's form in the template.
    """

    passage: str
    form: str
    claim: str

    @classmethod
    def of(cls, claim: Claim, passage: str) -> AskedClaim:
        """Show a triplet as a triplet, as published, and any other claim by its text."""
        if claim.triplet is None:
            return cls(passage, _SENTENCE, claim.text)
        parts = ", ".join(json.dumps(part, ensure_ascii=False) for part in claim.triplet)
        return cls(passage, _TRIPLET, f"({parts})")


@dataclass(frozen=True)
class LlmChecker:
    """Checker that requests the class of each claim and passage in a separate call.

    The passage precedes the claim, and calls of one passage follow each other, so that servers can
    cache the common prefix. Probabilities are the normalised token probabilities of the classes'
    words, if the server returns them; otherwise the answered class has probability 1. Duplicates
    are requested once.

    Args:
        llm: endpoint to call; the run's default if None.
        shots: examples in the prompt, 0, 1 or 3. With examples the question is omitted.

    Source: Hu et al. 2024 (RefChecker), section 4.2 and appendix B.2.
    """

    llm: str | None = None
    shots: Shots = 0
    shots_known: ClassVar[tuple[int, ...]] = (0, 1, 3)

    def __post_init__(self) -> None:
        if self.shots not in self.shots_known:
            known = ", ".join(map(str, self.shots_known))
            raise UsageError(f"shots must be one of {known}, not {self.shots}")

    async def __call__(
        self,
        pairs: Sequence[tuple[Claim, str]],
        evidence: Evidence,
        alternatives: Sequence[Sequence[int]] = (),
    ) -> NDArray[np.float64]:
        """Return the (n, 3) probabilities of each (claim, passage).

        Raises:
            LlmError: a call returned no reply, or one without a class. There is no default.
        """
        every = [AskedClaim.of(claim, passage) for claim, passage in pairs]
        judged = await judge_singly(every, evidence, self.llm, self.shots)
        return table(every, judged)


async def judge_singly(
    queries: Iterable[AskedClaim], evidence: Evidence, llm: str | None, shots: Shots
) -> dict[AskedClaim, list[float]]:
    """Return the class probabilities of each query, with one call each."""
    prompt, parts = template(PROMPTS, evidence, shots)
    distinct = [a for group in by_passage(queries) for a in group]
    if not distinct:
        return {}
    form = form_for(evidence, llm)
    requests = [
        request(prompt, filled(prompt, a, parts) | {"claim": a.claim}, form=form) for a in distinct
    ]
    verdicts = await ask_all(
        lambda calls: evidence.chat(calls, llm), requests, [prompt] * len(requests)
    )
    return {a: row_of(verdict) for a, verdict in zip(distinct, verdicts, strict=True)}


def template(
    names: Sequence[str], evidence: Evidence, shots: Shots
) -> tuple[Prompt, dict[str, Any]]:
    """Return the template of ``names`` (ordered as :data:`PROMPTS`) and the parts from the
    record.
    """
    with_question, without, *with_shots = names
    if shots:
        return load_prompt(with_shots[shots == 1]), {}
    question = question_of(evidence.record)
    if question is None:
        return load_prompt(without), {}
    return load_prompt(with_question), {"question": question}


def filled(prompt: Prompt, query: AskedClaim, parts: dict[str, Any]) -> dict[str, Any]:
    """Return ``parts`` plus the template's values for the claim's passage and form."""
    form = {"form": query.form} if "form" in prompt.parts else {}
    return {**parts, **form, "reference": query.passage}


def by_passage(queries: Iterable[AskedClaim]) -> list[list[AskedClaim]]:
    """Group the distinct queries by passage and form."""
    groups: dict[tuple[str, str], list[AskedClaim]] = {}
    for a in dict.fromkeys(queries):
        groups.setdefault((a.passage, a.form), []).append(a)
    return list(groups.values())


def row_of(verdict: JudgeVerdict) -> list[float]:
    """Return the probabilities in the order of LABELS.

    Raises:
        LlmError: they are not probabilities of three classes.
    """
    shares = verdict.probabilities or {verdict.answer: 1.0}
    row = [shares.get(name, 0.0) for name in _NAMES]
    if not np.isfinite(row).all() or abs(sum(row) - 1) > 1e-6:
        raise LlmError("malformed", "the class probabilities are invalid", text=verdict.text)
    return row


def table(
    queries: Sequence[AskedClaim], judged: dict[AskedClaim, list[float]]
) -> NDArray[np.float64]:
    """Return the rows of ``queries`` as an array."""
    rows = np.array([judged[a] for a in queries], np.float64).reshape(-1, len(LABELS))
    rounded: NDArray[np.float64] = rows.round(_PROBABILITY_DECIMALS)
    return rounded
