"""Result lines made by hand: what ``check --json`` writes, with the figures that a test wants."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

LABELS = {"contradicted": "contradiction", "unsupported": "neutral", "supported": "entailment"}


def line(
    row: int,
    verdict: str = "supported",
    risk: float | None = 0.1,
    *,
    id: str | int | None = None,
    text: str = "It is so.",
    decision: str | None = None,
    reason: str | None = None,
    signature: str = "nli_grounding|v1|nli:m@1",
    claims: tuple[float, float, float] | None = None,
    scorer: str = "nli_grounding",
) -> dict[str, Any]:
    """One result. ``claims`` are the shares of entailed, neutral and contradicted claims."""
    if verdict == "unchecked" and reason is None:
        reason, risk = "failed", None
    unit = {
        "level": "sentence",
        "start": 0,
        "end": len(text),
        "text": text,
        "risk": risk,
        "label": LABELS.get(verdict),
        "evidence": [
            {"kind": "context", "index": 0, "context": 0, "start": 0, "end": 9, "text": "So it is."}
        ],
    }
    scored = risk is not None
    scores: dict[str, Any] = {
        scorer: {
            "risk": risk,
            "raw": risk,
            "status": "scored" if scored else "failed",
            "reason": None if scored else "it broke",
            "units": [unit] if scored else [],
            "signature": signature if scored else "",
        }
    }
    if claims is not None:
        names = ("entailment", "neutral", "contradiction")
        raw = {**dict(zip(names, claims, strict=True)), "abstain": 0.0}
        raw["hallucination"] = claims[1] + claims[2]
        scores["claims"] = {**scores[scorer], "raw": raw, "units": [], "signature": "claims|v1"}
    return {
        "id": row if id is None else id,
        "row": row,
        "risk": risk,
        "by": scorer if scored else None,
        "verdict": verdict,
        "reason": reason,
        "decision": decision,
        "scores": scores,
    }


def write_lines(path: Path, lines: Iterable[dict[str, Any]]) -> Path:
    """The lines as a file."""
    path.write_text("".join(json.dumps(found) + "\n" for found in lines), "utf-8")
    return path
