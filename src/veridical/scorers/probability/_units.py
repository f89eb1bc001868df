"""From values of tokens to the score of a response, with its sentences and riskiest tokens."""

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

#: What scorers of sentences, and those of the whole response, by its tokens declare alike.
OF_SENTENCES: dict[str, Any] = {
    "level": "sentence",
    "needs": {"logprobs"},
    "cost": "probabilities",
    "raw_is": "risk",
}
OF_RESPONSE: dict[str, Any] = OF_SENTENCES | {"level": "response", "raw_is": "confidence"}
#: Most tokens that a score shows as units.
TOKENS_SHOWN = 16


def of_sentences(
    record: Record,
    reading: TokenReading,
    values: NDArray[np.float64],
    join: Literal["mean", "max"],
    risk: Callable[[float], float],
) -> Score:
    """A score from riskier-is-larger ``values`` (n,) of the response's tokens, NaN where unknown.

    A token belongs to every sentence that it shares a character with. A sentence's ``raw`` is the
    mean or the maximum over its tokens. The response's is the mean over all tokens, those between
    sentences too, or the mean of the sentences' maxima. The evidence of a sentence is its (up to
    3) tokens of the largest values, with their probabilities; a sentence without any known value
    has no risk.

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
        raise NotApplicable("nothing is known of the tokens of any sentence")
    whole = float(np.nanmean(values)) if join == "mean" else float(np.mean(raws))
    return Score.of(risk(whole), raw=whole, units=units)


def tokens_of(reading: TokenReading, span: Span) -> NDArray[np.int64]:
    """Indices of the tokens that share a character with ``span``."""
    tokens = reading.tokens
    first = int(np.searchsorted(tokens.ends, span.start, side="right"))
    last = int(np.searchsorted(tokens.starts, span.end, side="left"))
    inside = np.arange(first, max(first, last))
    return inside[tokens.ends[inside] > tokens.starts[inside]]


def riskiest_tokens(
    reading: TokenReading, raws: NDArray[np.float64], risks: NDArray[np.float64]
) -> list[Unit]:
    """The (up to 16) tokens of the highest ``risks`` (n,), as units in the order of the text.

    Tokens of white space, and those of unknown risk (NaN), are left out.
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
    """Token ``i`` as evidence, with its probability."""
    start, end, text = _span(reading, i)
    return EvidenceItem(
        kind="token",
        index=int(reading.places[i]),
        start=start,
        end=end,
        text=text,
        probability=float(np.exp(reading.tokens.logprobs[i])),
    )
