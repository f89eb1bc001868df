"""BoostedProb: probabilities shared among equally good tokens (Dinh & Niehues 2025)."""

from __future__ import annotations

from typing import Annotated

import numpy as np
from pydantic import Field

from veridical.arrays import Floats
from veridical.core.evidence import Evidence
from veridical.core.records import Record
from veridical.core.registry import scorer
from veridical.core.scores import Score
from veridical.core.tokens import TokenProbabilities
from veridical.scorers.probability.alternatives import likeliest
from veridical.scorers.probability.readings import Condition, read_response
from veridical.scorers.probability.units import riskiest_tokens

#: Part of 1.
Share = Annotated[float, Field(ge=0, lt=1)]
_SAME = 1e-6  # by which two log-probabilities of one token may differ


@scorer(
    "boosted_prob",
    level="response",
    needs={"logprobs"},
    source="Dinh & Niehues 2025 (BoostedProb), sum of the dominant mass",
    cost="probabilities",
    raw_is="confidence",
)
async def boosted_prob(
    record: Record,
    evidence: Evidence,
    *,
    jump: Share = 0.3,
    least: Share = 0.005,
    proxy: str | None = None,
    condition: Condition = "all",
) -> Score:
    """Mean probability of the tokens, where those of a group of good tokens share theirs.

    A token may be improbable only because several would do. At each place the known probabilities
    are sorted, p1 >= p2 >= ...; the dominant tokens are those down to the last i with
    ``p_i - p_(i+1) > jump * p_i`` and ``p_i - p_(i+1) > least``. A dominant token counts with
    the sum of all dominant ones, any other with its own probability; without such an i none is
    dominant. The method sorts the whole vocabulary; the alternatives that the log-probabilities
    give (some 20) nearly suffice, as a group that goes on beyond them is rare. Places without
    two known tokens do not count.

    Args:
        jump: the share of p_i that it must lose to the next.
        least: the probability that it must lose at least.
        proxy: language model that reads the response; None takes the record's own ``logprobs``.
        condition: what a proxy reads before it: the contexts and the prompt, the prompt alone,
            or nothing.

    ``raw`` is in [0, 1] (confidence); ``risk = 1 - raw``. The units are the 16 tokens of the least
    boosted probability.

    Raises:
        NotApplicable: the response is blank, or has no log-probabilities and no proxy is named, or
            they have no alternatives.
        MisalignedTokens: the record's tokens do not spell its response.
        ModelError: the proxy failed.
    """
    reading = await read_response(record, evidence, proxy, condition)
    boosted = boosted_probabilities(reading.tokens, jump, least)
    raw = min(float(np.nanmean(boosted)), 1.0)  # rounded probabilities may add up to more
    return Score.of(1 - raw, raw=raw, units=riskiest_tokens(reading, boosted, 1 - boosted))


def boosted_probabilities(tokens: TokenProbabilities, jump: float, least: float) -> Floats:
    """(n,) boosted probability of each token, in [0, 1]; NaN where fewer than two tokens are
    known.

    Raises:
        NotApplicable: that is so at every place.
    """
    top = likeliest(tokens, None)
    boosted: Floats = np.full(len(tokens), np.nan)
    for i, (row, own) in enumerate(zip(top, tokens.logprobs.tolist(), strict=True)):
        known = row[np.isfinite(row)]
        if not (np.abs(known - own) <= _SAME).any():
            known = np.sort(np.append(known, own))[::-1]
        if len(known) < 2:
            continue
        p = np.exp(known)
        loses = p[:-1] - p[1:]
        cuts = np.flatnonzero((loses > jump * p[:-1]) & (loses > least))
        dominant = bool(len(cuts)) and own >= known[cuts[-1]] - _SAME
        boosted[i] = min(p[: cuts[-1] + 1].sum(), 1.0) if dominant else np.exp(own)
    return boosted
