"""SAR: entropy weighted by relevance (Duan et al. 2024)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Annotated

import numpy as np
from pydantic import Field

from veridical.arrays import Floats, Matrix
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
from veridical.scorers.probability._units import riskiest_tokens, tokens_of
from veridical.text.spans import Span
from veridical.text.words import content_spans


@scorer(
    "token_sar",
    level="response",
    needs={"logprobs"},
    source="Duan 2024 (TokenSAR)",
    cost="probabilities",
    uses={"embed"},
    raw_is="risk",
)
async def token_sar(
    record: Record, evidence: Evidence, *, proxy: str | None = None, condition: Condition = "all"
) -> Score:
    """Weight the surprisal of the response's tokens by their relevance to its meaning.

    The formula is ``raw = -sum_t r_t log p_t``, with shares ``r_t`` that sum to 1. A word's
    relevance is ``1 - s`` with ``s = 0.5 + cos / 2``, the similarity of the response's embeddings
    with and without the word. The tokens of a word share it equally. Only content words with a
    letter or a figure are removed in turn, as each needs an embedding; other words have no share.
    If no word is relevant, all tokens have equal weights. The published method removes single
    tokens and judges both texts after the prompt.

    Args:
        proxy: language model that reads the response; None takes the record's own ``logprobs``.
        condition: the proxy's text before it: contexts and prompt, prompt alone, or nothing.

    ``raw`` is in nats, at least 0; ``risk = 1 - exp(-raw)``. The units are the 16 tokens with the
    largest ``r_t`` times surprisal.

    Raises:
        NotApplicable: the response is blank, or has no log-probabilities and no proxy is named, or
            the embedder does not support its script.
        MisalignedTokens: the record's tokens do not spell its response.
        ModelError: a model failed.
    """
    reading = await read_response(record, evidence, proxy, condition)
    (shares,) = await token_shares(evidence, [reading])
    raws = np.maximum(-shares * reading.tokens.logprobs, 0.0)
    raw = float(raws.sum())
    units = riskiest_tokens(reading, raws, -np.expm1(-raws))
    return Score.of(-math.expm1(-raw), raw=raw, units=units)


@scorer(
    "sar",
    level="response",
    needs={"samples", "logprobs"},
    source="Duan 2024 (SAR)",
    cost="probabilities",
    uses={"embed"},
    raw_is="risk",
)
async def sar(
    record: Record,
    evidence: Evidence,
    *,
    lam: Annotated[float, Field(gt=0, le=1000)] = 0.001,
    response: bool = True,
    proxy: str | None = None,
    condition: Condition = "all",
) -> Score:
    """Compute the surprisal of the answers, lowered for those similar to probable ones.

    With ``p_i = exp(-T_i)``, where T is the ``token_sar`` of an answer, ``raw = -mean_i log(p_i +
    (1 / lam) sum_(j != i) p_j s_ij)``, where ``s = 0.5 + cos / 2`` is the similarity of the
    answers' embeddings.

    Args:
        lam: temperature; the smaller, the more the other answers count; 0.001 in the paper.
        response: include the response among the answers, as in ``semantic_entropy``; false uses the
            samples alone, as published.
        proxy: language model that reads the answers; None takes their own ``logprobs``.
        condition: the proxy's text before each: contexts and prompt, prompt alone, or
            nothing.

    ``raw`` is in nats and may be negative; its minimum is ``log(lam / m)`` for m other answers.
    ``risk = 1 / (1 + lam exp(-raw))``.

    Raises:
        NotApplicable: the response is blank, or no sample has a text. Or an answer has no
            log-probabilities and no proxy is named, or the embedder does not support their script.
        MisalignedTokens: tokens do not spell the answer that they belong to.
        ModelError: a model failed.
    """
    readings = await read_answers(record, evidence, proxy, condition)
    if not response:
        del readings[0]
    shares = await token_shares(evidence, readings)
    surprisal = np.array(
        [-(r * x.tokens.logprobs).sum() for r, x in zip(shares, readings, strict=True)]
    )
    vectors = (await evidence.embed([x.text for x in readings])).astype(np.float64)
    similarity = 0.5 + np.clip(vectors @ vectors.T, -1, 1) / 2
    raw = relevant_surprise(surprisal, similarity, lam)
    return Score.of(float(1 / (1 + lam * np.exp(min(-raw, 700.0)))), raw=raw)


def relevant_surprise(surprisal: Matrix, similarity: Matrix, lam: float) -> float:
    """Return ``-mean_i log(p_i + (1 / lam) sum_(j != i) p_j s_ij)`` of (n,) ``-log p`` and (n, n)
    s.
    """
    logs = np.broadcast_to(-surprisal, similarity.shape).copy()
    with np.errstate(divide="ignore"):
        logs += np.log(similarity / lam)
    np.fill_diagonal(logs, -surprisal)
    return float(-np.logaddexp.reduce(logs, axis=1).mean())


async def token_shares(evidence: Evidence, readings: Sequence[TokenReading]) -> list[Floats]:
    """Return the (n,) token shares of each text, summing to 1, with one embedding request.

    A content word's relevance is ``(1 - cos) / 2`` between the embeddings of the text with and
    without it. Its tokens share it equally; tokens of other words have no share. If no word is
    relevant, all tokens have the same share.
    """
    words = [content_spans(reading.text) for reading in readings]
    texts = []
    for reading, spans in zip(readings, words, strict=True):
        texts += [reading.text, *(_without(reading.text, span) for span in spans)]
    vectors = (await evidence.embed(texts)).astype(np.float64)
    shares, at = [], 0
    for reading, spans in zip(readings, words, strict=True):
        whole, cut = vectors[at], vectors[at + 1 : at + 1 + len(spans)]
        at += 1 + len(spans)
        relevance = np.clip((1 - np.clip(cut @ whole, -1, 1)) / 2, 0, 1).round(6)
        shares.append(_shared(reading, spans, relevance))
    return shares


def _without(text: str, span: Span) -> str:
    return " ".join((text[: span.start] + text[span.end :]).split())


def _shared(reading: TokenReading, spans: Sequence[Span], relevance: Floats) -> Floats:
    n = len(reading.tokens)
    shares: Floats = np.zeros(n)
    for span, value in zip(spans, relevance.tolist(), strict=True):
        inside = tokens_of(reading, span)
        if len(inside):
            shares[inside] += value / len(inside)
    total = shares.sum()
    return shares / total if total > 0 else np.full(n, 1 / n)
