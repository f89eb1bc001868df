"""MiniCheck: does the document support each sentence, by a small trained fact checker?"""

from __future__ import annotations

from veridical.core.evidence import Evidence
from veridical.core.records import Against, Record
from veridical.core.registry import scorer
from veridical.core.scores import Score
from veridical.scorers.grounding.checkpoints import Piece, check


@scorer(
    "minicheck",
    level="sentence",
    judges=True,
    needs={"against"},
    source="Tang 2024 (MiniCheck), sections 4 and 5",
    cost="nli",
    raw_is="confidence",
)
async def minicheck(
    record: Record,
    evidence: Evidence,
    *,
    against: Against = "contexts",
    nli: str = "minicheck-flan-t5",
    piece: Piece = "sentence",
) -> Score:
    """The probability that the best chunk of the document supports the least supported sentence.

    A sentence's value is the largest P(supported) over chunks of the document (500 words for
    Flan-T5, 400 tokens for RoBERTa and DeBERTa); the response's is the least over sentences, as
    one unsupported statement is enough. (The authors leave that to the user.) ``raw``
    (confidence) is in [0, 1] and the risk ``1 - raw``.

    Args:
        against: contexts are joined and read as one document; of references the best counts, over
            samples the mean.
        nli: ``minicheck-flan-t5``, ``minicheck-roberta``, ``minicheck-deberta``, or
            ``minicheck:HUB_ID_OR_FOLDER`` for another of their kind.
        piece: ``sentence``, which the authors advise, or ``response`` for the whole at once.
    """
    checked = await check(record, evidence, against=against, nli=nli, piece=piece)
    value = float(checked.values.min())
    return Score.of(1 - value, raw=value, units=checked.units)
