"""Conditional mean log-likelihood of texts, for BARTScore and PRISM."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean
from typing import Literal

from veridical.core.records import Source
from veridical.scorers.grounding._documents import documents, over_documents
from veridical_lab.models.evidence import CheckpointEvidence as Evidence

#: Direction: the response after the source (faithfulness, or precision after a reference), the
#: source after the response (recall), or the mean of both.
Direction = Literal["to_response", "from_response", "mean"]


async def mean_likelihood(
    evidence: Evidence,
    response: str,
    sources: Sequence[Source],
    direction: Direction,
    model: str,
    language: str | None = None,
) -> tuple[float, dict[str, float]]:
    """Compute the mean log-probability (nats, at most 0) of tokens, and that of each direction.

    A given text too long for the model is windowed, and the window with the highest likelihood
    counts. Contexts are one document. Of several references the best counts; over samples, the
    mean.
    """
    docs = documents(sources)
    ways = {
        "to_response": [(d.text, (response,)) for d in docs],
        "from_response": [(response, (d.text,)) for d in docs],
    }
    chosen = list(ways) if direction == "mean" else [direction]
    requests = [request for way in chosen for request in ways[way]]
    likelihoods = await evidence.likelihood(requests, model, language=language)
    values = [max(fmean(w.logprobs[0].tolist()) for w in r.windows) for r in likelihoods]
    n = len(docs)
    table = {way: values[i * n : (i + 1) * n] for i, way in enumerate(chosen)}
    # the mean of the two is that of one document, before the best is chosen
    joint = over_documents(docs, [fmean(pair) for pair in zip(*table.values(), strict=True)])
    return joint, {way: over_documents(docs, row) for way, row in table.items()}


def risk_of(loglikelihood: float) -> float:
    """Compute ``x / (x + 1)`` of the mean negative log-likelihood x, as ``avg_logprob`` does."""
    return -loglikelihood / (1 - loglikelihood)
