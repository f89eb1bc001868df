"""Mean pairwise entailment (Lin et al. 2024, as a confidence in the UQLM package)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from veridical.records import Against, Record
from veridical.registry import scorer
from veridical.scores import Score

if TYPE_CHECKING:
    from veridical.evidence import Evidence


@scorer(
    "entailment",
    level="response",
    needs={"against"},
    source="Lin 2024; UQLM package",
    cost="nli",
    raw_is="confidence",
    presets={"auto"},
)
async def entailment(record: Record, evidence: Evidence, *, against: Against = "samples") -> Score:
    """Mean over samples of P(entailment) with the response, averaged over both directions.

    Args:
        against: what the response is compared with. The mean is over samples; of several
            contexts or references the nearest counts.

    ``raw`` is that value, in [0, 1] (confidence); ``risk = 1 - raw``. Both directions count: a
    context that says more than the response, or less, never gives 1.

    Raises:
        NotApplicable: the response is blank, or there is nothing to compare it with.
    """
    response = record.need_response()
    texts = [s.text for s in record.against(against)]
    pairs = [(response, t) for t in texts] + [(t, response) for t in texts]
    agreement = (await evidence.nli(pairs)).entailment.reshape(2, -1).mean(axis=0)
    raw = float(agreement.mean() if against == "samples" else agreement.max())
    return Score.of(1 - raw, raw=raw)
