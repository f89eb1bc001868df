"""BARTScore: likelihood of the response under an encoder-decoder (Yuan et al. 2021)."""

from __future__ import annotations

from veridical.core.records import Against, Record
from veridical.core.registry import scorer
from veridical.core.scores import Score
from veridical_lab.models.evidence import CheckpointEvidence as Evidence
from veridical_lab.scorers.conditional import Direction, mean_likelihood, risk_of


@scorer(
    "bart_score",
    level="response",
    needs={"against"},
    source="Yuan 2021, section 3, and its published code",
    cost="seq2seq",
    raw_is="confidence",
    raw_key="bart_score",
    checkpoints={"model": "seq2seq"},
)
async def bart_score(
    record: Record,
    evidence: Evidence,
    *,
    against: Against = "contexts",
    direction: Direction = "to_response",
    model: str = "facebook/bart-large-cnn",
) -> Score:
    """Score the mean log-probability of the response's tokens after the source.

    All tokens count alike, start and end tokens among them, as in the published code.

    Args:
        against: ``contexts`` is the paper's faithfulness (s -> h); with ``reference`` the
            directions are its precision (r -> h), recall (h -> r) and F. Contexts are one
            document, joined by newlines; of several references the best counts, over samples the
            mean.
        direction: ``to_response``; ``from_response`` reads the source after the response; ``mean``
            is the arithmetic mean of the two, which the paper calls F.
        model: hub id or folder of any encoder-decoder.

    ``raw`` (confidence) is ``{"bart_score", "to_response", "from_response"}`` in nats, at most 0,
    with the requested directions; risk is ``x / (x + 1)`` of ``x = -bart_score``. A given text
    longer than the model's limit (1024 tokens) is windowed, and the window with the highest
    likelihood counts. A text too long to be scored is split into consecutive pieces, whose tokens
    all
    """
    """
    """
    value, ways = await mean_likelihood(
        evidence, record.need_answer(), record.against(against), direction, model
    )
    return Score.of(risk_of(value), raw={"bart_score": value, **ways})
