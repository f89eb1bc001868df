"""Calibrated Entropy Score: token entropies against a reference (Villani 2026)."""

from __future__ import annotations

import json
import math
from functools import lru_cache
from importlib.resources import files
from typing import Annotated

import numpy as np
from pydantic import AfterValidator, TypeAdapter

from veridical.arrays import Floats
from veridical.core.evidence import Evidence
from veridical.core.records import Record, TokenLogprob
from veridical.core.registry import scorer
from veridical.core.scores import Score
from veridical.errors import NotApplicable
from veridical.files.trained_files import pinned, read_trained
from veridical.scorers.probability._readings import Condition, of_record, read_response
from veridical.scorers.probability._units import OF_RESPONSE, riskiest_tokens
from veridical.scorers.probability.token_alternatives import TopK, likeliest, top_entropy
from veridical.text.token_spans import MisalignedTokens

_MOST_BYTES = 1 << 28
_TOKENS = TypeAdapter(list[TokenLogprob])


def _parse(content: bytes, safetensors: bool, version: str) -> tuple[str, list[Floats]]:
    """Return the file's version and the log-probabilities of the alternatives in each row."""
    tops = []
    for number, line in enumerate(content.splitlines(), 1):
        if not line.strip():
            continue
        row = json.loads(line)
        try:
            reading = of_record(_TOKENS.validate_python(row["logprobs"]), row["response"])
            tops.append(likeliest(reading.tokens, None))
        except (NotApplicable, MisalignedTokens, ValueError) as e:
            raise ValueError(f"line {number}: {e}") from None
    if not tops:
        raise ValueError("the file has no rows")
    return version, tops


def _read(name: str) -> tuple[str, list[Floats]]:
    return read_trained(
        name, _parse, title="reference", command="veridical sample --logprobs 20", most=_MOST_BYTES
    )


#: Annotation of the parameter ``reference``: validated, and pinned to the file's content.
ReferenceFile = Annotated[str, AfterValidator(lambda name: pinned(name, _read(name)[0]))]


@lru_cache(maxsize=8)
def reference_entropies(name: str | None, k: int) -> Floats:
    """Return the sorted token entropies of the reference in nats."""
    if name is None:
        file = files("veridical.scorers.probability").joinpath("ces_reference.json")
        return np.array(json.loads(file.read_text("utf-8"))["entropies"])
    entropies = np.concatenate([top_entropy(top[:, :k])[0] for top in _read(name)[1]])
    return np.sort(entropies[~np.isnan(entropies)])


@scorer(
    "ces",
    source="Villani 2026 (CES, arXiv 2605.28264)",
    raw_key="ces",
    **(OF_RESPONSE | {"raw_is": "risk"}),
)
async def ces(
    record: Record,
    evidence: Evidence,
    *,
    reference: ReferenceFile | None = None,
    k: TopK = 20,
    proxy: str | None = None,
    condition: Condition = "all",
) -> Score:
    """Rank the mean and the maximum token entropy among those of a reference.

    F is the share of the reference's tokens whose entropy is not larger. The score is
    ``sqrt(F(mean) F(max))``, the geometric mean of F at the mean and at the maximum of the
    response's token entropies. An entropy is that of the k likeliest tokens, normalised to sum to
    1; tokens with fewer than two alternatives do not count.

    Args:
        reference: JSON Lines file of answers of the same model to questions of the same kind,
            preferably answers known to be right. Each has ``response`` and ``logprobs``, as
            ``veridical sample --logprobs 20`` writes them. None takes the shipped reference, a
            small model's short answers to factual questions; its values rank answers and are not
            comparable across models.
        k: number of alternatives.
        proxy: language model that reads the response; None takes the record's own ``logprobs``.
        condition: the proxy's text before it: contexts and prompt, prompt alone, or nothing.

    ``raw`` has the score as ``ces``, in [0, 1], which is also the ``risk``, and its two parts
    ``mean`` and ``max``. It is a rank among the reference's tokens, not a probability. The units
    are the 16 tokens with the largest entropy.

    Raises:
        UsageError: the reference cannot be read.
        NotApplicable: the response is blank, or has no log-probabilities and no proxy is named, or
            they have no alternatives.
        MisalignedTokens: the record's tokens do not spell its response.
        ModelError: the proxy failed.
    """
    reading = await read_response(record, evidence, proxy, condition)
    entropy, _ = top_entropy(likeliest(reading.tokens, k))
    known = reference_entropies(reference, k)

    def share(values: Floats) -> Floats:
        ranks = np.searchsorted(known, values, side="right") / len(known)
        return np.where(np.isnan(values), np.nan, ranks)

    mean, most = share(np.array([np.nanmean(entropy), np.nanmax(entropy)])).tolist()
    raw = {"ces": math.sqrt(mean * most), "mean": mean, "max": most}
    units = riskiest_tokens(reading, entropy, share(entropy))
    return Score.of(raw["ces"], raw=raw, units=units)
