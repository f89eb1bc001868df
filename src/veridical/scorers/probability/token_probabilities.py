"""Scorers by the probabilities of the answer's tokens."""

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
    """Compute the mean of -log p over a sentence's tokens.

    Args:
        proxy: language model that reads the response; None takes the record's own ``logprobs``.
        condition: the proxy's text before it: contexts and prompt, prompt alone, or nothing.

    A sentence's ``raw`` is the mean over its tokens, in nats from 0; the response's is the
    mean over all its tokens. A token belongs to every sentence it overlaps.
    Log-probabilities are clipped at -103, the float32 minimum. ``risk = raw / (raw + 1)``.
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
    """Compute the maximum of -log p over a sentence's tokens.

    Args:
        proxy: language model that reads the response; None takes the record's own ``logprobs``.
        condition: the proxy's text before it: contexts and prompt, prompt alone, or nothing.

    A sentence's ``raw`` is the maximum over its tokens, in nats from 0; the response's is the
    mean of its sentences' maxima. A token belongs to every sentence it overlaps.
    Log-probabilities are clipped at -103, the float32 minimum. ``risk = raw / (raw + 1)``.
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
    """Return the probability of the least likely token of the response.

    Args:
        proxy: language model that reads the response; None takes the record's own ``logprobs``.
        condition: the proxy's text before it: contexts and prompt, prompt alone, or nothing.

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
    """Compute the response's probability: mean or product of its tokens' probabilities.

    Args:
        length_normalize: use the geometric mean of the tokens' probabilities, exp(mean log p),
            which is 1 / ``perplexity``. If false, use their product, the maximum sequence
            probability (MSP).
        log: return the natural logarithm, as products over long texts underflow to 0. With
            ``length_normalize=false`` its negative is the MSP of lm-polygraph.
        proxy: language model that reads the response; None takes the record's own ``logprobs``.
        condition: the proxy's text before it: contexts and prompt, prompt alone, or nothing.

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
    """Compute the perplexity of the response: exp of the mean of -log p over its tokens.

    Args:
        proxy: language model that reads the response; None takes the record's own ``logprobs``.
        condition: the proxy's text before it: contexts and prompt, prompt alone, or nothing.

    ``raw`` is at least 1. ``risk = 1 - 1 / raw``, that is 1 - the geometric mean of the tokens'
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
    """Compute the mean sequence probability of the response and the samples.

    Args:
        length_normalize: use the geometric mean of an answer's token probabilities; if false, their
            product.
        proxy: language model that reads the answers; None takes their own ``logprobs``.
        condition: the proxy's text before each: contexts and prompt, prompt alone, or
            nothing.

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
    """Return the sum of the tokens' log-probabilities, or their mean."""
    logs = reading.tokens.logprobs
    return float(logs.mean() if length_normalize else logs.sum())


def _odds_risk(raw: float) -> float:
    """Map [0, inf) to [0, 1) by ``raw / (raw + 1)``."""
    return raw / (raw + 1)
