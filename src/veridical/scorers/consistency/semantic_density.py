"""Semantic density (Qiu & Miikkulainen 2024)."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from veridical.core.answer_parts import AnswerPart, answer_parts
from veridical.core.evidence import Evidence
from veridical.core.records import Record
from veridical.core.registry import scorer
from veridical.core.scores import Score
from veridical.scorers.consistency._response_pairs import prompted, stated
from veridical.scorers.consistency._sequence_weights import Weights, log_weights


@scorer(
    "semantic_density",
    level="response",
    needs={"samples"},
    source="Qiu & Miikkulainen 2024",
    cost="nli",
    version=3,
    raw_is="confidence",
    added={"answer"},
    presets={"all"},
)
async def semantic_density(
    record: Record,
    evidence: Evidence,
    *,
    weights: Weights = "auto",
    length_normalize: bool = True,
    prompts: bool = True,
    unique: bool = False,
    answer: AnswerPart | None = None,
) -> Score:
    """Compute the density of the samples around the response, with distances by NLI.

    A sample has distance 0 if the response entails it, sqrt(2)/2 if it is neutral and 1 if they
    contradict each other. Let P(neutral) = n and P(contradiction) = c. The expected distance is
    E[d] = c + n sqrt(2)/2, and E[d^2] = c + n/2. The kernel is K = 1 - E[d^2] if E[d] <= 1, else 0.
    The density is the weighted mean of K over samples. The response does not count as a sample, as
    in the UQLM package.

    Args:
        weights: samples are weighted by ``probability``, or equally (``discrete``). ``auto`` uses
            probabilities if all samples have log-probabilities.
        length_normalize: a sample's probability is the geometric mean of its tokens'
            probabilities, as published; else their product.
        prompts: prepend the prompt to both texts, as published. A record without a prompt is judged
            by its texts alone.
        unique: count equal samples once, as in the paper, whose samples are distinct; if false,
            count every sample, as in the UQLM package.
        answer: compare only a part of each answer, as ``exact_match`` does; a sample without it
            contradicts the response.

    ``raw`` is the density, in [0, 1] (confidence); ``risk = 1 - raw``.

    Raises:
        NotApplicable: the response is blank, no sample has a text, or the NLI model has no
            contradiction class. Or every sample has probability 0, or ``weights="probability"`` and
            log-probabilities are missing.
    """
    parts = answer_parts(record, "samples", answer)
    texts = [parts.response, *(text or "" for text in parts.others)]
    response, *samples = (prompted if prompts else stated)(record, texts)
    weight = np.exp(log_weights(record, weights, length_normalize, response=False))
    verdicts = await evidence.nli([(response, samples[i]) for i in parts.found])
    distance = verdicts.contradiction + verdicts.neutral * (math.sqrt(2) / 2)
    squared = verdicts.contradiction + verdicts.neutral / 2
    kernel = np.zeros(len(samples))
    kernel[parts.found] = np.where(distance <= 1, 1 - squared, 0.0)
    if unique:
        weight *= _most_probable(samples, weight)
    raw = min(float((weight * kernel).sum() / weight.sum()), 1.0)
    return Score.of(1 - raw, raw=raw)


def _most_probable(texts: list[str], weight: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Return an (m,) mask with one place for each distinct text, that of its largest weight."""
    best: dict[str, int] = {}
    for i, text in enumerate(texts):
        if text not in best or weight[i] > weight[best[text]]:
            best[text] = i
    return np.isin(np.arange(len(texts)), list(best.values()))
