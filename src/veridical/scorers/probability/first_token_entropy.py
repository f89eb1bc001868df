"""Entropy at the first content token of an answer (Gabriel 2026)."""

from __future__ import annotations

import numpy as np

from veridical.core.evidence import Evidence
from veridical.core.prompt_text import last_question
from veridical.core.records import Record
from veridical.core.registry import scorer
from veridical.core.scores import Score
from veridical.errors import NotApplicable
from veridical.scorers.probability._readings import Condition, read_response
from veridical.scorers.probability._units import OF_RESPONSE, riskiest_tokens, tokens_of
from veridical.scorers.probability.token_alternatives import TopK, likeliest, top_entropy
from veridical.text.spans import Span
from veridical.text.words import content_spans, lettered_spans


@scorer(
    "first_token_entropy",
    source="Gabriel 2026 (The First Token Knows, arXiv 2605.05166), 1 - phi_first",
    **(OF_RESPONSE | {"raw_is": "risk"}),
)
async def first_token_entropy(
    record: Record,
    evidence: Evidence,
    *,
    k: TopK | None = None,
    proxy: str | None = None,
    condition: Condition = "all",
) -> Score:
    """Compute the entropy of the k likeliest tokens at the answer's first content word.

    It is designed for one greedy short answer to a factual question. A model that does not know the
    answer is uncertain at its first word. The k probabilities are normalised, and their entropy is
    divided by log k; if fewer than k are known, k is their number. Quotation marks, articles, other
    function words ("It is") and words of the question are skipped. An answer without other words is
    judged at its first word.

    Args:
        k: number of alternatives; None takes all.
        proxy: language model that reads the response; None takes the record's own ``logprobs``.
        condition: the proxy's text before it: contexts and prompt, prompt alone, or nothing.

    ``raw`` is in [0, 1] and equals the ``risk``; the paper's phi_first is 1 - raw. The unit is the
    token.

    Raises:
        NotApplicable: the response is blank or has no word, or has no log-probabilities and no
            proxy is named. Or the token has fewer than two alternatives.
        MisalignedTokens: the record's tokens do not spell its response.
        ModelError: the proxy failed.
    """
    word = first_word(record.need_answer(), last_question(record.prompt))
    reading = await read_response(record, evidence, proxy, condition)
    entropy, count = top_entropy(likeliest(reading.tokens, k))
    places = tokens_of(reading, word)
    if not len(places) or np.isnan(entropy[places[0]]):
        raise NotApplicable(f"the token of {word.text!r} has no alternatives")
    first = places[0]
    raw = min(float(entropy[first] / np.log(count[first])), 1.0)
    share = np.full(len(entropy), np.nan)
    share[first] = raw
    return Score.of(raw, raw=raw, units=riskiest_tokens(reading, share, share))


def first_word(answer: str, question: str) -> Span:
    """Return the first content word that is not in the question, else the first word.

    Raises:
        NotApplicable: the answer has no word.
    """
    words = lettered_spans(answer)
    if not words:
        raise NotApplicable("the response has no word")
    asked = {span.text.lower() for span in content_spans(question)}
    new = (span for span in content_spans(answer) if span.text.lower() not in asked)
    return next(new, words[0])
