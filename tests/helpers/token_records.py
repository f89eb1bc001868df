"""Records with log-probabilities, and readings of a proxy, for the tests of the scorers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from veridical.core.records import Record
from veridical.core.tokens import TokenProbabilities


def token(text: str, p: float, *others: float) -> dict[str, Any]:
    """A token of probability ``p``; with ``others``, the alternatives are it and those."""
    listed = [{"token": f"t{i}", "logprob": float(np.log(q))} for i, q in enumerate((p, *others))]
    top = {"top": listed} if others else {}
    return {"token": text, "logprob": float(np.log(p)), **top}


def record_of(tokens: Sequence[dict[str, Any]], **fields: Any) -> Record:
    """A record whose response the tokens spell."""
    response = fields.pop("response", "".join(t["token"] for t in tokens))
    return Record(response=response, logprobs=list(tokens), **fields)


def sample_of(tokens: Sequence[dict[str, Any]]) -> dict[str, Any]:
    return {"text": "".join(t["token"] for t in tokens), "logprobs": list(tokens)}


def reading_of(
    pieces: Sequence[str],
    p: Sequence[float],
    *,
    top: Sequence[Sequence[float]] | None = None,
    entropy: Sequence[float] | None = None,
    lowest: Sequence[float] | None = None,
) -> TokenProbabilities:
    """What a proxy makes of the text that ``pieces`` spell; all are probabilities, not logs,
    but for the entropy."""
    ends = np.cumsum([len(piece) for piece in pieces])
    return TokenProbabilities(
        starts=(ends - [len(piece) for piece in pieces]).astype(np.int64),
        ends=ends.astype(np.int64),
        logprobs=np.log(np.array(p, dtype=np.float64)),
        top=None if top is None else np.log(np.array(top, dtype=np.float64)),
        entropy=None if entropy is None else np.array(entropy, dtype=np.float64),
        lowest=None if lowest is None else np.log(np.array(lowest, dtype=np.float64)),
    )
