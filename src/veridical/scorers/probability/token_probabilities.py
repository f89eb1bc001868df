"""Scorers by the probabilities of the tokens that an answer is made of."""

from __future__ import annotations

import math

import numpy as np

from veridical.core.evidence import Evidence
from veridical.core.records import Record
from veridical.core.registry import scorer
from veridical.core.scores import Score
from veridical.scorers.probability._readings import (
    Condition,
    TokenReading,
    read_answers,
    read_response,
)
from veridical.scorers.probability._units import (
    OF_RESPONSE,
    OF_SENTENCES,
    of_sentences,
    riskiest_tokens,
)


@scorer("avg_logprob", source="Manakul 2023, Avg(-log p)", presets={"all", "auto"}, **OF_SENTENCES)
async def avg_logprob(
    record: Record, evidence: Evidence, *, proxy: str | None = None, condition: Condition = "all"
) -> Score:
    """Average of -log p over a sentence's tokens.

    Args:
        proxy: language model that reads the response; None takes the record's own ``logprobs``.
        condition: what a proxy reads before it: the contexts and the prompt, the prompt alone,
            or nothing.

    A sentence's ``raw`` is the mean over its tokens, in nats from 0; the response's is the
    mean over all its tokens. A token belongs to every sentence it shares a character with.
    Log-probabilities under -103 (the least of float32) count as that. ``risk = raw / (raw + 1)``.
    A sentence's evidence is its 3 least likely tokens, with their probabilities.

    Raises:
        NotApplicable: the response is blank, or has no log-probabilities and no proxy is named.
        MisalignedTokens: the record's tokens do not spell its response.
        ModelError: the proxy failed.
    """
    reading = await read_response(record, evidence, proxy, condition)
    return of_sentences(record, reading, 0.0 - reading.tokens.logprobs, "mean", _odds_risk)


@scorer("max_logprob", source="Manakul 2023, Max(-log p)", presets={"all"}, **OF_SENTENCES)
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
    return of_sentences(record, reading, 0.0 - reading.tokens.logprobs, "max", _odds_risk)


@scorer(
    "min_probability",
    source="Manakul 2023; UQLM, min_probability",
    presets={"all", "auto"},
    **OF_RESPONSE,
)
async def min_probability(
    record: Record, evidence: Evidence, *, proxy: str | None = None, condition: Condition = "all"
) -> Score:
    """Probability of the least likely token of the response.

    Args:
        proxy: language model that reads the response; None takes the record's own ``logprobs``.
        condition: what a proxy reads before it: the contexts and the prompt, the prompt alone,
            or nothing.

    ``raw`` is min p, in (0, 1]; ``risk = 1 - raw``. The units are the 16 least likely tokens.

    Raises:
        NotApplicable: the response is blank, or has no log-probabilities and no proxy is named.
        MisalignedTokens: the record's tokens do not spell its response.
        ModelError: the proxy failed.
    """
    reading = await read_response(record, evidence, proxy, condition)
    p = np.exp(reading.tokens.logprobs)
    raw = float(p.min())
    return Score.of(1 - raw, raw=raw, units=riskiest_tokens(reading, p, 1 - p))


@scorer(
    "sequence_probability",
    source="Malinin & Gales 2021; UQLM, sequence_probability",
    presets={"all"},
    **OF_RESPONSE,
)
async def sequence_probability(
    record: Record,
    evidence: Evidence,
    *,
    length_normalize: bool = True,
    log: bool = False,
    proxy: str | None = None,
    condition: Condition = "all",
) -> Score:
    """Probability of the response by its tokens: their geometric mean, or the product.

    Args:
        length_normalize: the geometric mean of the tokens' probabilities, exp(mean log p), which
            is 1 / ``perplexity``; if false, their product, the maximum sequence probability (MSP).
        log: give its natural logarithm, which does not run out of range: products of long texts
            are 0 in floating point. With ``length_normalize=false`` its negative is the MSP of
            lm-polygraph.
        proxy: language model that reads the response; None takes the record's own ``logprobs``.
        condition: what a proxy reads before it: the contexts and the prompt, the prompt alone,
            or nothing.

    ``raw`` is the probability, in [0, 1], and ``risk = 1 - raw``; with ``log`` it is the
    logarithm, at most 0, and ``risk = -raw / (1 - raw)``. The units are the 16 least likely tokens.

    Raises:
        NotApplicable: the response is blank, or has no log-probabilities and no proxy is named.
        MisalignedTokens: the record's tokens do not spell its response.
        ModelError: the proxy failed.
    """
    reading = await read_response(record, evidence, proxy, condition)
    p = np.exp(reading.tokens.logprobs)
    raw = log_probability(reading, length_normalize)
    risk = abs(raw) / (1 - raw) if log else 0.0 - math.expm1(raw)
    units = riskiest_tokens(reading, p, 1 - p)
    return Score.of(risk, raw=raw if log else math.exp(raw), units=units)


@scorer(
    "perplexity",
    level="response",
    needs={"logprobs"},
    source="Jelinek 1977; Kulkarni 2025, figures 3-4",
    cost="probabilities",
    raw_is="risk",
    presets={"all"},
)
async def perplexity(
    record: Record, evidence: Evidence, *, proxy: str | None = None, condition: Condition = "all"
) -> Score:
    """Perplexity of the response: exp of the mean of -log p over its tokens.

    Args:
        proxy: language model that reads the response; None takes the record's own ``logprobs``.
        condition: what a proxy reads before it: the contexts and the prompt, the prompt alone,
            or nothing.

    ``raw`` is at least 1. ``risk = 1 - 1 / raw``, one less the geometric mean of the tokens'
    probabilities. The units are the 16 least likely tokens.

    Raises:
        NotApplicable: the response is blank, or has no log-probabilities and no proxy is named.
        MisalignedTokens: the record's tokens do not spell its response.
        ModelError: the proxy failed.
    """
    reading = await read_response(record, evidence, proxy, condition)
    mean = log_probability(reading, length_normalize=True)
    p = np.exp(reading.tokens.logprobs)
    units = riskiest_tokens(reading, 1 / p, 1 - p)
    return Score.of(0.0 - math.expm1(mean), raw=math.exp(-mean), units=units)


@scorer(
    "monte_carlo_probability",
    level="response",
    needs={"samples", "logprobs"},
    source="Kuhn 2023; UQLM, monte_carlo_probability",
    cost="probabilities",
    raw_is="confidence",
    presets={"all"},
)
async def monte_carlo_probability(
    record: Record,
    evidence: Evidence,
    *,
    length_normalize: bool = True,
    proxy: str | None = None,
    condition: Condition = "all",
) -> Score:
    """Mean over the response and the samples of each one's sequence probability.

    Args:
        length_normalize: an answer's probability is the geometric mean of its tokens'
            probabilities; else their product.
        proxy: language model that reads the answers; None takes their own ``logprobs``.
        condition: what a proxy reads before each: the contexts and the prompt, the prompt alone,
            or nothing.

    ``raw`` is in [0, 1] (confidence); ``risk = 1 - raw``.

    Raises:
        NotApplicable: the response is blank, no sample has a text, or an answer has no
            log-probabilities and no proxy is named.
        MisalignedTokens: tokens do not spell the answer that they belong to.
        ModelError: the proxy failed.
    """
    readings = await read_answers(record, evidence, proxy, condition)
    logs = [log_probability(reading, length_normalize) for reading in readings]
    raw = float(np.exp(logs).mean())
    return Score.of(1 - raw, raw=raw)


def log_probability(reading: TokenReading, length_normalize: bool) -> float:
    """Sum of the tokens' log-probabilities, or their mean."""
    logs = reading.tokens.logprobs
    return float(logs.mean() if length_normalize else logs.sum())


def _odds_risk(raw: float) -> float:
    """The increasing map ``raw / (raw + 1)`` from [0, inf) to [0, 1)."""
    return raw / (raw + 1)
