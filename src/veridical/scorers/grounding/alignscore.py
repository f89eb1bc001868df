"""AlignScore: how far the context bears out each sentence, by a trained alignment function."""

from __future__ import annotations

from veridical.core.evidence import Evidence
from veridical.core.records import Against, Record
from veridical.core.registry import scorer
from veridical.core.scores import Score
from veridical.scorers.grounding.checkpoints import Piece, check


@scorer(
    "alignscore",
    level="sentence",
    judges=True,
    needs={"against"},
    source="Zha 2023, section 3.3",
    cost="nli",
    raw_is="confidence",
)
async def alignscore(
    record: Record,
    evidence: Evidence,
    *,
    against: Against = "contexts",
    nli: str = "alignscore-large",
    piece: Piece = "sentence",
) -> Score:
    """The mean over sentences of the best alignment with a chunk of the context.

    A sentence's value is the largest P(aligned) over chunks of the context of about 350 words, by
    the head of three classes; the response's is the mean over sentences. ``raw`` (confidence) is
    in [0, 1] and the risk ``1 - raw``. A sentence carries the three probabilities, by the same
    merging as of any NLI model, and as evidence the sentence of the context most about it.

    Args:
        against: contexts are joined and read as one document; of references the best counts, over
            samples the mean.
        nli: ``alignscore-large``, ``alignscore-base`` (after ``veridical models convert`` of the
            same name), or ``alignscore:FOLDER``; ``?mode=bin_sp`` or ``?mode=reg_sp`` after it
            reads another head.
        piece: ``sentence`` is published (the modes ``*_sp``). ``response`` asks about the whole
            at once, for the modes ``nli``, ``bin`` and ``reg``.
    """
    checked = await check(record, evidence, against=against, nli=nli, piece=piece)
    value = float(checked.values.mean())
    return Score.of(1 - value, raw=value, units=checked.units)
