"""How much each token of a text matters to its meaning (Duan et al. 2024)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from veridical.arrays import Floats
from veridical.core.evidence import Evidence
from veridical.scorers.probability.readings import Reading
from veridical.scorers.probability.units import tokens_of
from veridical.text.spans import Span
from veridical.text.words import content_spans


async def token_shares(evidence: Evidence, readings: Sequence[Reading]) -> list[Floats]:
    """Of each text the (n,) shares of its tokens, which add up to 1, by one request.

    A content word's relevance is ``(1 - cos) / 2`` of the embeddings of the text and of the text
    without it. Its tokens have equal parts of it, tokens of no such word nothing. Where no word
    matters all tokens have the same share.
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


def _shared(reading: Reading, spans: Sequence[Span], relevance: Floats) -> Floats:
    n = len(reading.tokens)
    shares: Floats = np.zeros(n)
    for span, value in zip(spans, relevance.tolist(), strict=True):
        inside = tokens_of(reading, span)
        if len(inside):
            shares[inside] += value / len(inside)
    total = shares.sum()
    return shares / total if total > 0 else np.full(n, 1 / n)
