"""FaithCritic: is the response faithful to its knowledge, by a critic trained on FaithDial?"""

from __future__ import annotations

from veridical.core.evidence import Evidence
from veridical.core.records import Against, Record
from veridical.core.registry import scorer
from veridical.core.scores import Score
from veridical.scorers.grounding.checkpoints import Piece, check


@scorer(
    "critic",
    level="response",
    judges=True,
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
    checked = await check(record, evidence, against=against, nli=nli, piece=piece)
    units = [u.model_copy(update={"raw": u.risk}) for u in checked.units]
    value = 1 - float(checked.values.min())
    return Score.of(value, units=units)
