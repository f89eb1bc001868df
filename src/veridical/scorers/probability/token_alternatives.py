"""Scorers by the likeliest alternatives at each token."""

from __future__ import annotations

import math
from typing import Annotated, Literal

import numpy as np
from pydantic import Field

from veridical.arrays import Floats, Ints
from veridical.core.evidence import Evidence
from veridical.core.records import Record
from veridical.core.registry import scorer
from veridical.core.scores import Score
from veridical.core.tokens import FLOOR, TokenProbabilities
from veridical.errors import NotApplicable
from veridical.scorers.probability._readings import Condition, read_response
from veridical.scorers.probability._units import (
    OF_RESPONSE,
    OF_SENTENCES,
    of_sentences,
    riskiest_tokens,
)

#: Number of likeliest tokens.
TopK = Annotated[int, Field(ge=2, le=1_000_000)]
#: The entropy H in nats, or the perplexity e^H = 2^(H in bits), the number of equally likely
#: tokens with the same entropy.
Form = Literal["entropy", "perplexity"]
#: Vocabulary size of a model.
Vocabulary = Annotated[int, Field(ge=2, le=10_000_000)]
#: A share in [0, 1].
Share = Annotated[float, Field(ge=0, lt=1)]
#: Minimum total probability of unlisted tokens: log-probabilities are accurate to about 1e-6.
_LEAST_REST = 1e-6
_SAME = 1e-6  # by which two log-probabilities of one token may differ


@scorer("avg_entropy", source="Manakul 2023, Avg(H), eq. 13", presets={"all"}, **OF_SENTENCES)
async def avg_entropy(
    record: Record,
    evidence: Evidence,
    *,
    form: Form = "entropy",
    k: TopK | None = None,
    proxy: str | None = None,
    condition: Condition = "all",
) -> Score:
    """Compute the mean over a sentence's tokens of the model's prediction entropy.

    Args:
        form: ``entropy`` is H in nats; ``perplexity`` is 2^(H in bits), as in eq. 13 and
            the published results.
        k: number of likeliest tokens, normalised to sum to 1 (5 in the published results for
            GPT-3). None takes the whole vocabulary if the proxy provides it, else all the
            alternatives. Tokens with fewer than two do not count.
        proxy: language model that reads the response; None takes the record's own ``logprobs``.
        condition: the proxy's text before it: contexts and prompt, prompt alone, or nothing.

    A sentence's ``raw`` is the mean over its tokens; the response's is the mean over all its
    tokens. H lies in [0, log n] for n tokens to choose from, its perplexity in [1, n]. ``risk = 1 -
    exp(-raw)`` for entropy, ``1 - 1 / raw`` for perplexity; both are 1 - 1/n for n equally likely
    tokens. A sentence's evidence is its 3 tokens with the largest entropy, with their
    probabilities.

    Raises:
        NotApplicable: the response is blank, or has no log-probabilities and no proxy is named, or
            they have no alternatives.
        MisalignedTokens: the record's tokens do not spell its response.
        ModelError: the proxy failed.
    """
    return await _by_entropy(record, evidence, "mean", form, k, proxy, condition)


@scorer("max_entropy", source="Manakul 2023, Max(H), eq. 13", presets={"all"}, **OF_SENTENCES)
async def max_entropy(
    record: Record,
    evidence: Evidence,
    *,
    form: Form = "entropy",
    k: TopK | None = None,
    proxy: str | None = None,
    condition: Condition = "all",
) -> Score:
    """Compute the maximum over a sentence's tokens of the model's prediction entropy.

    Args:
        form: ``entropy`` is H in nats; ``perplexity`` is 2^(H in bits), as in eq. 13 and
            the published results.
        k: number of likeliest tokens, normalised to sum to 1 (5 in the published results for
            GPT-3). None takes the whole vocabulary if the proxy provides it, else all the
            alternatives. Tokens with fewer than two do not count.
        proxy: language model that reads the response; None takes the record's own ``logprobs``.
        condition: the proxy's text before it: contexts and prompt, prompt alone, or nothing.

    A sentence's ``raw`` is the maximum over its tokens; the response's is the mean of its
    sentences' maxima. H lies in [0, log n] for n tokens to choose from, its perplexity in [1, n].
    ``risk = 1 - exp(-raw)`` for entropy, ``1 - 1 / raw`` for perplexity; both are 1 - 1/n for n
    equally likely tokens. A sentence's evidence is its 3 tokens with the largest entropy, with
    their probabilities.

    Raises:
        NotApplicable: the response is blank, or has no log-probabilities and no proxy is named, or
            they have no alternatives.
        MisalignedTokens: the record's tokens do not spell its response.
        ModelError: the proxy failed.
    """
    return await _by_entropy(record, evidence, "max", form, k, proxy, condition)


@scorer(
    "token_negentropy",
    source="UQLM, mean_token_negentropy and min_token_negentropy",
    presets={"all"},
    **OF_RESPONSE,
)
async def token_negentropy(
    record: Record,
    evidence: Evidence,
    *,
    stat: Literal["mean", "min"] = "mean",
    k: TopK | None = None,
    proxy: str | None = None,
    condition: Condition = "all",
) -> Score:
    """Compute 1 - the normalised entropy of the k likeliest tokens at each token.

    The entropy is that of the k normalised probabilities, divided by log k. If fewer than k are
    known, k is their number; tokens with fewer than two do not count. (UQLM, with k = 15, drops
    tokens with fewer than k.)

    Args:
        stat: the mean over the response's tokens, or the minimum.
        k: number of alternatives; None takes all.
        proxy: language model that reads the response; None takes the record's own ``logprobs``.
        condition: the proxy's text before it: contexts and prompt, prompt alone, or nothing.

    ``raw`` is in [0, 1] (confidence); ``risk = 1 - raw``. The units are the 16 tokens with the
    lowest certainty.

    Raises:
        NotApplicable: the response is blank, or has no log-probabilities and no proxy is named, or
            they have no alternatives.
        MisalignedTokens: the record's tokens do not spell its response.
        ModelError: the proxy failed.
    """
    reading = await read_response(record, evidence, proxy, condition)
    entropy, count = top_entropy(likeliest(reading.tokens, k))
    share = np.clip(entropy / np.log(np.maximum(count, 2)), 0.0, 1.0)
    risk = float(np.nanmean(share) if stat == "mean" else np.nanmax(share))
    return Score.of(risk, raw=1 - risk, units=riskiest_tokens(reading, 1 - share, share))


@scorer(
    "probability_margin",
    source="Farr 2024; UQLM, probability_margin",
    presets={"all"},
    **OF_RESPONSE,
)
async def probability_margin(
    record: Record, evidence: Evidence, *, proxy: str | None = None, condition: Condition = "all"
) -> Score:
    """Compute the mean difference between the probabilities of the two likeliest tokens.

    Tokens with fewer than two known alternatives do not count.

    Args:
        proxy: language model that reads the response; None takes the record's own ``logprobs``.
        condition: the proxy's text before it: contexts and prompt, prompt alone, or nothing.

    ``raw`` is in [0, 1] (confidence); ``risk = 1 - raw``. The units are the 16 tokens with the
    smallest difference.

    Raises:
        NotApplicable: the response is blank, or has no log-probabilities and no proxy is named, or
            they have no alternatives.
        MisalignedTokens: the record's tokens do not spell its response.
        ModelError: the proxy failed.
    """
    reading = await read_response(record, evidence, proxy, condition)
    top = likeliest(reading.tokens, 2)
    margin = np.where(np.isfinite(top[:, 1]), np.exp(top[:, 0]) - np.exp(top[:, 1]), np.nan)
    raw = float(np.nanmean(margin))
    return Score.of(1 - raw, raw=raw, units=riskiest_tokens(reading, margin, 1 - margin))


@scorer("self_certainty", source="Kang 2025 (self-certainty), eq. 8", **OF_RESPONSE)
async def self_certainty(
    record: Record,
    evidence: Evidence,
    *,
    vocabulary: Vocabulary = 100_000,
    k: TopK | None = None,
    proxy: str | None = None,
    condition: Condition = "all",
) -> Score:
    """Compute the mean over tokens of KL(uniform || p), p being the model's distribution.

    The formula is ``KL = -(1/V) sum_v log(V p_v)`` over the V tokens of the vocabulary.
    Log-probabilities are known for the likeliest tokens only; the remaining probability (at least
    1e-6, because of rounding) is spread evenly over the rest. With a short list the value mostly
    measures this remainder. Tokens without any listed alternative do not count.

    Args:
        vocabulary: V, which records do not contain. Values with different V are not comparable.
        k: number of alternatives; None takes all.
        proxy: language model that reads the response; None takes the record's own ``logprobs``.
        condition: the proxy's text before it: contexts and prompt, prompt alone, or nothing.

    ``raw`` is that mean in nats, at least 0 (confidence); ``risk = 1 / (1 + raw)``. The units are
    the 16 tokens with the lowest certainty.

    Raises:
        NotApplicable: the response is blank, or has no log-probabilities and no proxy is named, or
            they have no alternatives, or more than ``vocabulary`` tokens.
        MisalignedTokens: the record's tokens do not spell its response.
        ModelError: the proxy failed.
    """
    reading = await read_response(record, evidence, proxy, condition)
    certainty = certainties(likeliest(reading.tokens, k), vocabulary)
    raw = float(np.nanmean(certainty))
    units = riskiest_tokens(reading, certainty, 1 / (1 + certainty))
    return Score.of(1 / (1 + raw), raw=raw, units=units)


def certainties(top: Floats, vocabulary: int) -> Floats:
    """Return (n,) KL(uniform || p) in nats; NaN if no alternative is known.

    The argument holds (n, k) log-probabilities, -inf where unknown.

    Raises:
        NotApplicable: there are more alternatives than ``vocabulary``.
    """
    known = np.isfinite(top)
    count = known.sum(axis=1)
    if count.max(initial=0) > vocabulary:
        raise NotApplicable(f"there are more alternatives than vocabulary={vocabulary} tokens")
    listed = np.where(known, np.maximum(top, FLOOR), 0.0)
    rest = np.maximum(1 - np.where(known, np.exp(listed), 0.0).sum(axis=1), _LEAST_REST)
    others = vocabulary - count
    logs = listed.sum(axis=1) + others * np.log(rest / np.maximum(others, 1))
    certainty: Floats = np.maximum(-logs / vocabulary - np.log(vocabulary), 0.0)
    return np.where(count > 0, certainty, np.nan)


@scorer(
    "boosted_prob",
    source="Dinh & Niehues 2025 (BoostedProb), sum of the dominant mass",
    **OF_RESPONSE,
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
    """Compute the mean probability of the tokens, where dominant tokens share theirs.

    A token may be improbable only because several are acceptable. At each token the known
    probabilities are sorted, p1 >= p2 >= ...; the dominant tokens are those up to the last i with
    ``p_i - p_(i+1) > jump * p_i`` and ``p_i - p_(i+1) > least``. A dominant token counts with the
    sum of all dominant ones, any other with its own probability; without such an i none is
    dominant. The method sorts the whole vocabulary; about 20 alternatives are nearly sufficient, as
    larger groups are rare. Tokens with fewer than two known alternatives do not count.

    Args:
        jump: minimum drop to the next probability, as a share of p_i.
        least: minimum drop in probability.
        proxy: language model that reads the response; None takes the record's own ``logprobs``.
        condition: the proxy's text before it: contexts and prompt, prompt alone, or nothing.

    ``raw`` is in [0, 1] (confidence); ``risk = 1 - raw``. The units are the 16 tokens with the
    lowest boosted probability.

    Raises:
        NotApplicable: the response is blank, or has no log-probabilities and no proxy is named, or
            they have no alternatives.
        MisalignedTokens: the record's tokens do not spell its response.
        ModelError: the proxy failed.
    """
    reading = await read_response(record, evidence, proxy, condition)
    boosted = boosted_probabilities(reading.tokens, jump, least)
    raw = min(float(np.nanmean(boosted)), 1.0)  # rounded probabilities may sum to more
    return Score.of(1 - raw, raw=raw, units=riskiest_tokens(reading, boosted, 1 - boosted))


def boosted_probabilities(tokens: TokenProbabilities, jump: float, least: float) -> Floats:
    """Return the (n,) boosted probabilities in [0, 1]; NaN with fewer than two alternatives.

    Raises:
        NotApplicable: all tokens have fewer than two alternatives.
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


def likeliest(tokens: TokenProbabilities, k: int | None) -> Floats:
    """Return the (n, k) log-probabilities of the k likeliest tokens, descending, -inf if unknown.

    Without ``k`` all known ones are returned.

    Raises:
        NotApplicable: no token has two alternatives.
    """
    top = tokens.top
    if top is None:
        raise NotApplicable("the logprobs have no alternatives (top)")
    if k is not None:
        top = top[:, :k]
    if not (np.isfinite(top).sum(axis=1) > 1).any():
        raise NotApplicable("no token of the logprobs has two alternatives (top)")
    return top


def top_entropy(top: Floats) -> tuple[Floats, Ints]:
    """Return the entropy in nats of each row's normalised probabilities, and their number.

    The entropy is NaN with fewer than two.
    """
    known = np.isfinite(top)
    count = known.sum(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        p = np.exp(np.where(known, top - top.max(axis=1, keepdims=True), -np.inf))
        p /= p.sum(axis=1, keepdims=True)
        terms = np.where(p > 0, p * np.log(p), 0.0)
    return np.where(count > 1, np.maximum(-terms.sum(axis=1), 0.0), np.nan), count


async def _by_entropy(
    record: Record,
    evidence: Evidence,
    join: Literal["mean", "max"],
    form: Form,
    k: int | None,
    proxy: str | None,
    condition: Condition,
) -> Score:
    """Build the score from the entropy at each token.

    Without ``k`` it is the entropy of the whole vocabulary if the source provides it, else that of
    all known alternatives.
    """
    reading = await read_response(record, evidence, proxy, condition)
    if k is None and reading.tokens.entropy is not None:
        entropy = np.maximum(reading.tokens.entropy, 0.0)
    else:
        entropy, _ = top_entropy(likeliest(reading.tokens, k))
    # both forms give 1 - 1/n for n equally likely tokens
    if form == "entropy":
        return of_sentences(record, reading, entropy, join, lambda raw: -math.expm1(-raw))
    return of_sentences(record, reading, np.exp(entropy), join, lambda raw: 1 - 1 / raw)
