"""HHEM-2.1-Open: Vectara's probability that the response is consistent with the context."""

from __future__ import annotations

from typing import TYPE_CHECKING

from veridical.records import Against, Record
from veridical.registry import scorer
from veridical.scorers.grounding.checkpoints import Piece, check
from veridical.scores import Score

if TYPE_CHECKING:
    from veridical.evidence import Evidence


@scorer(
    "hhem",
    level="response",
    needs={"against"},
    source="Vectara, HHEM-2.1-Open (model card, 2024)",
    cost="nli",
    raw_is="confidence",
)
async def hhem(
    record: Record,
    evidence: Evidence,
    *,
    against: Against = "contexts",
    nli: str = "hhem",
    piece: Piece = "response",
) -> Score:
    """The probability, by HHEM, that the context supports the response.

    ``raw`` (confidence) is the probability of the class "consistent", in [0, 1], and the risk
    ``1 - raw``.

    Args:
        against: contexts are joined and read as one premise; of references the best counts, over
            samples the mean.
        nli: ``hhem``, or ``hhem:HUB_ID_OR_FOLDER`` for another of its architecture.
        piece: ``response`` is judged whole (published). ``sentence`` judges each sentence, and
            the least supported one is the response's value.
    """
    found = await check(record, evidence, against=against, nli=nli, piece=piece)
    value = float(found.values.min())
    return Score.of(1 - value, raw=value, units=found.units)
