"""Maximum entropy of the tokens' distributions (Manakul et al. 2023, section 3.1, A.1)."""

from __future__ import annotations

from veridical.core.evidence import Evidence
from veridical.core.records import Record
from veridical.core.registry import scorer
from veridical.core.scores import Score
from veridical.scorers.probability.alternatives import Form, TopK, entropies, risk_of
from veridical.scorers.probability.readings import Condition, read_response
from veridical.scorers.probability.units import of_sentences


@scorer(
    "max_entropy",
    level="sentence",
    needs={"logprobs"},
    source="Manakul 2023, Max(H), eq. 13",
    cost="probabilities",
    raw_is="risk",
    presets={"all"},
)
async def max_entropy(
    record: Record,
    evidence: Evidence,
    *,
    form: Form = "entropy",
    k: TopK | None = None,
    proxy: str | None = None,
    condition: Condition = "all",
) -> Score:
    """Maximum over a sentence's tokens of the entropy of the model's choice at each.

    Args:
        form: ``entropy`` is H in nats; ``perplexity`` is 2^(H in bits), as eq. 13 and the
            published figures have it.
        k: of the k likeliest tokens alone, made to sum to 1 (5 in the published figures of
            GPT-3). None takes the whole vocabulary where the proxy knows it, else all the
            alternatives there are. Places where fewer than two are known do not count.
        proxy: language model that reads the response; None takes the record's own ``logprobs``.
        condition: what a proxy reads before it: the contexts and the prompt, the prompt alone,
            or nothing.

    A sentence's ``raw`` is the maximum over its tokens; the response's is the mean of its
    sentences' maxima. H lies in [0, log n] for n tokens to choose from, its perplexity in [1, n].
    ``risk = 1 - exp(-raw)`` of entropy, ``1 - 1 / raw`` of perplexity: 1 - 1/n for n equally likely
    tokens in either form. A sentence's evidence is its 3 tokens of most entropy, with their
    probabilities.

    Raises:
        NotApplicable: the response is blank, or has no log-probabilities and no proxy is named, or
            they have no alternatives.
        MisalignedTokens: the record's tokens do not spell its response.
        ModelError: the proxy failed.
    """
    reading = await read_response(record, evidence, proxy, condition)
    values = entropies(reading.tokens, k, form)
    return of_sentences(record, reading, values, "max", risk_of(form))
