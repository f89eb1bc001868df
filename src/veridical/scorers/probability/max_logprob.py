"""Maximum -log p of the tokens (Manakul et al. 2023, section 3.1)."""

from __future__ import annotations

from veridical.core.evidence import Evidence
from veridical.core.records import Record
from veridical.core.registry import scorer
from veridical.core.scores import Score
from veridical.scorers.probability.readings import Condition, read_response
from veridical.scorers.probability.units import odds_risk, of_sentences


@scorer(
    "max_logprob",
    level="sentence",
    needs={"logprobs"},
    source="Manakul 2023, Max(-log p)",
    cost="probabilities",
    raw_is="risk",
    presets={"all"},
)
async def max_logprob(
    record: Record, evidence: Evidence, *, proxy: str | None = None, condition: Condition = "all"
) -> Score:
    """Maximum of -log p over a sentence's tokens.

    Args:
        proxy: language model that reads the response; None takes the record's own ``logprobs``.
        condition: what a proxy reads before it: the contexts and the prompt, the prompt alone,
            or nothing.

    A sentence's ``raw`` is the maximum over its tokens, in nats from 0; the response's is the
    mean of its sentences' maxima. A token belongs to every sentence it shares a character with.
    Log-probabilities under -103 (the least of float32) count as that. ``risk = raw / (raw + 1)``.
    A sentence's evidence is its 3 least likely tokens, with their probabilities.

    Raises:
        NotApplicable: the response is blank, or has no log-probabilities and no proxy is named.
        MisalignedTokens: the record's tokens do not spell its response.
        ModelError: the proxy failed.
    """
    reading = await read_response(record, evidence, proxy, condition)
    return of_sentences(record, reading, 0.0 - reading.tokens.logprobs, "max", odds_risk)
