"""FaithCritic: is the response faithful to its knowledge, by a critic trained on FaithDial?"""

from __future__ import annotations

from typing import TYPE_CHECKING

from veridical.records import Against, Record
from veridical.registry import scorer
from veridical.scorers.grounding.checkpoints import Piece, check
from veridical.scores import Score

if TYPE_CHECKING:
    from veridical.evidence import Evidence


@scorer(
    "critic",
    level="response",
    needs={"against"},
    source="Dziri 2022 (FaithDial), section 5.1",
    cost="nli",
    raw_is="risk",
)
async def critic(
    record: Record,
    evidence: Evidence,
    *,
    against: Against = "contexts",
    nli: str = "critic",
    piece: Piece = "response",
) -> Score:
    """The probability, by FaithCritic, that the response is a hallucination.

    ``raw`` and risk are the probability of the class "Hallucination" (1 of the checkpoint; 0 is
    "Entailment") of (knowledge, response), in [0, 1].

    Args:
        against: contexts are joined and read as one knowledge; of references the best counts,
            over samples the mean.
        nli: ``critic``, or ``critic:HUB_ID_OR_FOLDER`` for another of its kind.
        piece: ``response`` is judged whole (published). ``sentence`` judges each sentence, and
            the worst one is the response's value.
    """
    found = await check(record, evidence, against=against, nli=nli, piece=piece)
    units = [u.model_copy(update={"raw": u.risk}) for u in found.units]
    value = 1 - float(found.values.min())
    return Score.of(value, units=units)
