"""Scores from token values, with sentences and riskiest tokens."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from veridical.core.records import Record
from veridical.core.scores import SHOWN, EvidenceItem, Score, Unit
from veridical.errors import NotApplicable
from veridical.scorers.probability._readings import TokenReading
from veridical.text.spans import Span

#: Declarations shared by token scorers of sentences, and by those of the whole response.
OF_SENTENCES: dict[str, Any] = {
    "level": "sentence",
    "needs": {"logprobs"},
    "cost": "probabilities",
    "raw_is": "risk",
}
OF_RESPONSE: dict[str, Any] = OF_SENTENCES | {"level": "response", "raw_is": "confidence"}
#: Maximum number of tokens shown as units.
TOKENS_SHOWN = 16


def of_sentences(
    record: Record,
    reading: TokenReading,
    values: NDArray[np.float64],
    join: Literal["mean", "max"],
    risk: Callable[[float], float],
) -> Score:
    """Build a score from the (n,) ``values`` of the response's tokens, larger being riskier.

    Unknown values are NaN. A token belongs to every sentence that it overlaps. A sentence's ``raw``
    is the mean or the maximum over its tokens. The response's is the mean over all tokens,
    including those between sentences, or the mean of the sentences' maxima. The evidence of a
    sentence is its (up to 3) tokens with the largest values, with their probabilities. A sentence
    without a known value has no risk.

    Raises:
        NotApplicable: no sentence has a known value.
    """
    units, raws = [], []
    for sentence in record.need_sentences():
        inside = tokens_of(reading, sentence)
        known = inside[~np.isnan(values[inside])]
        if not len(known):
            units.append(Unit.of(sentence, None))
            continue
        sentence_values = values[known]
        raw = float(sentence_values.mean() if join == "mean" else sentence_values.max())
        raws.append(raw)
        riskiest = known[np.argsort(-sentence_values, kind="stable")[:SHOWN]]
        evidence = [token_item(reading, int(i)) for i in riskiest]
        units.append(Unit.of(sentence, risk(raw), raw=raw, evidence=evidence))
    if not raws:
        raise NotApplicable("no sentence has a token with a known value")
    whole = float(np.nanmean(values)) if join == "mean" else float(np.mean(raws))
    return Score.of(risk(whole), raw=whole, units=units)


def tokens_of(reading: TokenReading, span: Span) -> NDArray[np.int64]:
    """Return the indices of the tokens that overlap ``span``."""
    tokens = reading.tokens
    first = int(np.searchsorted(tokens.ends, span.start, side="right"))
    last = int(np.searchsorted(tokens.starts, span.end, side="left"))
    inside = np.arange(first, max(first, last))
    return inside[tokens.ends[inside] > tokens.starts[inside]]


def riskiest_tokens(
    reading: TokenReading, raws: NDArray[np.float64], risks: NDArray[np.float64]
) -> list[Unit]:
    """Return the (up to 16) tokens of the highest ``risks`` (n,) as units in text order.

    Tokens of white space, and those of unknown risk (NaN), are skipped.
    """
    tokens = reading.tokens
    chosen: list[int] = []
    for i in np.argsort(-risks, kind="stable").tolist():  # NaN comes last
        if len(chosen) == TOKENS_SHOWN or np.isnan(risks[i]):
            break
        if reading.text[tokens.starts[i] : tokens.ends[i]].strip():
            chosen.append(i)
    return [
        Unit.of(_span(reading, i), float(risks[i]), raw=float(raws[i]), level="token")
        for i in sorted(chosen)
    ]


def _span(reading: TokenReading, i: int) -> Span:
    start, end = int(reading.tokens.starts[i]), int(reading.tokens.ends[i])
    return Span(start, end, reading.text[start:end])


def token_item(reading: TokenReading, i: int) -> EvidenceItem:
    """Return token ``i`` as evidence, with its probability."""
    start, end, text = _span(reading, i)
    return EvidenceItem(
        kind="token",
        index=int(reading.places[i]),
        start=start,
        end=end,
        text=text,
        probability=float(np.exp(reading.tokens.logprobs[i])),
    )
