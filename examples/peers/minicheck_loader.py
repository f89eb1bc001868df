"""MiniCheck by its authors' loader (github.com/Liyan06/MiniCheck), as a scorer for ``bench``.

    veridical bench grounded --data DATA --scorers \
        "./examples/peers/minicheck_loader.py:minicheck_loader(folder='WEIGHTS')"
"""

from __future__ import annotations

import asyncio
from functools import cache
from typing import Any

from veridical import Evidence, Record, Score, Unit, scorer


@cache
def _model(name: str, folder: str | None) -> Any:
    from minicheck.minicheck import MiniCheck

    return MiniCheck(model_name=name, cache_dir=folder)


@scorer("minicheck_loader", level="sentence", source="Tang et al. 2024, by its own loader")
async def minicheck_loader(
    record: Record, evidence: Evidence, *, model: str = "flan-t5-large", folder: str | None = None
) -> Score:
    """Return 1 - P(supported) of each sentence by MiniCheck; the response's risk is the largest."""
    texts = [sentence.text for sentence in record.sentences]
    document = "\n\n".join(source.text for source in record.against("contexts"))
    score = _model(model, folder).score
    _, supported, *_ = await asyncio.to_thread(score, docs=[document] * len(texts), claims=texts)
    risks = [1 - float(p) for p in supported]
    units = [Unit.of(s, r, raw=r) for s, r in zip(record.sentences, risks, strict=True)]
    return Score.of(max(risks), units=units)
