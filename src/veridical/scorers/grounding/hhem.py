"""HHEM-2.1-Open: Vectara's probability that the response is consistent with the context."""

from __future__ import annotations

from veridical.core.evidence import Evidence
from veridical.core.records import Against, Record
from veridical.core.registry import scorer
from veridical.core.scores import Score
from veridical.scorers.grounding.checkpoints import Piece, check


@scorer(
    "hhem",
    level="response",
    judges=True,
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
    checked = await check(record, evidence, against=against, nli=nli, piece=piece)
    value = float(checked.values.min())
    return Score.of(1 - value, raw=value, units=checked.units)
