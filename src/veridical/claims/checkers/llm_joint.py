"""Claim checker by a language model, several claims per call."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from veridical.claims.asking import verdicts_request
from veridical.claims.checkers.llm import PROMPTS as SINGLY
from veridical.claims.checkers.llm import (
    AskedClaim,
    LlmChecker,
    by_passage,
    filled,
    judge_singly,
    row_of,
    table,
    template,
)
from veridical.core.messages import ChatRequest, LlmError, Reply
from veridical.errors import UsageError
from veridical.llm.structured import read_json
from veridical.llm.verdicts import read_verdict
from veridical.prompts import Choices, Prompt, Turn

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from veridical.claims.claim import Claim
    from veridical.core.evidence import Evidence

#: Templates with the record's question, without it, and with an example of three claims.
JOINT = ("refchecker_joint_question", "refchecker_joint", "refchecker_joint_shots")
PROMPTS = (*JOINT, *SINGLY)
_MAX_CLAIMS_PER_CALL = 50
_PLACE = "{claims}"


@dataclass(frozen=True)
class JointChecker(LlmChecker):
    """Checker that requests the classes of several claims by one passage in one call.

    Each claim has a name (``claim_1``) and unforgeable delimiters, and the answer is a JSON object
    with a verdict for each name. A claim without a valid verdict is requested in a separate call.
    So are all claims of a reply that is cut, is not that object, or has duplicate or unknown names.
    (Published: missing verdicts count as neutral, and surplus ones are dropped.)

    Probabilities, the order of the calls, and ``shots`` are as in ``llm``.

    Args:
        llm: endpoint to call; the run's default if None.
        shots: examples in the prompt, 0 or 3.
        per_call: claims per call, from 1 to 50; 5 in the paper.

    Source: Hu et al. 2024 (RefChecker), section 4.2 and appendix B.2; its released code.
    """

    per_call: int = 5
    shots_known: ClassVar[tuple[int, ...]] = (0, 3)

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 1 <= self.per_call <= _MAX_CLAIMS_PER_CALL:
            raise UsageError(
                f"per_call must be from 1 to {_MAX_CLAIMS_PER_CALL}, not {self.per_call}"
            )

    async def __call__(
        self,
        pairs: Sequence[tuple[Claim, str]],
        evidence: Evidence,
        alternatives: Sequence[Sequence[int]] = (),
    ) -> NDArray[np.float64]:
        """Return the (n, 3) probabilities of each (claim, passage).

        Raises:
            LlmError: a call returned no reply, or a claim in a separate call has no verdict either.
                There is no default.
        """
        every = [AskedClaim.of(claim, passage) for claim, passage in pairs]
        n = self.per_call
        groups = [g[i : i + n] for g in by_passage(every) for i in range(0, len(g), n)]
        several = [g for g in groups if len(g) > 1]
        judged: dict[AskedClaim, list[float]] = {}
        if several:
            prompt, parts = template(JOINT, evidence, self.shots)
            requests = [_request(prompt, group, parts) for group in several]
            replies = await evidence.chat(requests, self.llm)
            for group, reply in zip(several, replies, strict=True):
                judged |= _read(reply, _numbered(prompt, len(group)), group)
        missing = [a for a in every if a not in judged]
        judged |= await judge_singly(missing, evidence, self.llm, self.shots)
        return table(every, judged)


def _names(count: int) -> list[str]:
    """Return the names of claims in a prompt and its answer."""
    return [f"claim_{n}" for n in range(1, count + 1)]


@cache
def _numbered(prompt: Prompt, count: int) -> Prompt:
    """Return ``prompt`` with a placeholder for each of ``count`` claims."""
    places = "\n".join(f"{{{name}}}" for name in _names(count))
    turns = (Turn(t.role, t.content.replace(_PLACE, places)) for t in prompt.turns)
    return replace(prompt, turns=tuple(turns))


def _request(prompt: Prompt, group: Sequence[AskedClaim], parts: dict[str, Any]) -> ChatRequest:
    names = _names(len(group))
    scale = prompt.scale
    if not isinstance(scale, Choices):
        raise TypeError(f"prompt {prompt.name} has no classes")
    filling = filled(prompt, group[0], parts)
    filling |= {name: a.claim for name, a in zip(names, group, strict=True)}
    filling["wanted"] = "{" + ", ".join(f'"{name}": {scale.wanted()}' for name in names) + "}"
    schema = {
        "type": "object",
        "properties": {name: scale.schema() for name in names},
        "required": names,
        "additionalProperties": False,
    }
    return verdicts_request(_numbered(prompt, len(group)), filling, schema, len(group))


def _read(
    reply: Reply, prompt: Prompt, group: Sequence[AskedClaim]
) -> dict[AskedClaim, list[float]]:
    """Return the probabilities of the claims in ``group`` that ``reply`` has a verdict on."""
    names = _names(len(group))
    try:
        verdicts: dict[str, Any] = read_json(reply.whole(), {"type": "object"})
    except LlmError:
        return {}
    if not verdicts.keys() <= set(names):
        return {}
    rows = {}
    for name, query in zip(names, group, strict=True):
        if name not in verdicts:
            continue
        try:
            rows[query] = row_of(read_verdict(reply, replace(prompt, key=name)))
        except LlmError:
            continue
    return rows
