"""LettuceDetect as a scorer, by its own package (``pip install lettucedetect``).

    veridical bench grounded --data DATA --scorers \
        "./examples/peers/lettucedetect_package.py:lettucedetect(folder='WEIGHTS')"
"""

from __future__ import annotations

import asyncio
from functools import cache
from typing import Any

from veridical import Evidence, Record, Score, Unit, scorer
from veridical.core.prompt_text import last_question
from veridical.text.spans import Span


@cache
def _detector(folder: str) -> Any:
    from lettucedetect.models.inference import HallucinationDetector

    return HallucinationDetector(method="transformer", model_path=folder)


@scorer("lettucedetect", level="span", source="Kovacs 2025 (LettuceDetect), by its own package")
async def lettucedetect(record: Record, evidence: Evidence, *, folder: str) -> Score:
    """Confidence of the spans that LettuceDetect marks; the response's risk is the largest."""
    asked = {
        "context": [source.text for source in record.against("contexts")],
        "question": last_question(record.prompt) or None,
        "answer": record.response,
        "output_format": "spans",
    }
    found = await asyncio.to_thread(_detector(folder).predict, **asked)
    spans = [(Span(s["start"], s["end"], record.response[s["start"] : s["end"]]), s) for s in found]
    units = [Unit.of(p, float(s["confidence"]), level="span") for p, s in spans]
    return Score.of(max((u.risk or 0.0 for u in units), default=0.0), units=units)
