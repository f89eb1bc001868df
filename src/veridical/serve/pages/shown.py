"""Display data of an answer: texts, statements with evidence, and scores."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from veridical.core.prompt_text import question_text
from veridical.report.overview import REASONS
from veridical.report.payload import MAX_EVIDENCE, MAX_ITEMS, MAX_UNITS, shorten

if TYPE_CHECKING:
    from veridical.core.records import Record
    from veridical.core.scores import Result, Unit

#: Maximum code points of a text in a table, and of a piece of evidence.
_SNIPPET, _PIECE = 160, 4_000


def snippet(text: str) -> str:
    """Return the beginning of a text, on one line."""
    return " ".join(text[: 4 * _SNIPPET].split())[:_SNIPPET]


def record_payload(record: Record, result: Result) -> dict[str, Any]:
    """Return a whole record and its result. Of very many sources or samples, only the first."""
    return {
        "row": result.row,
        "id": snippet(str(result.id)),
        "question": shorten(question_text(record.prompt) or ""),
        "contexts": [shorten(c.text) for c in record.contexts[:MAX_ITEMS]],
        "samples": [shorten(s.text or "") for s in record.samples[:MAX_ITEMS]],
        "reference": [shorten(text) for text in record.reference[:MAX_ITEMS]],
        **judged(record, result),
    }


def judged(record: Record, result: Result) -> dict[str, Any]:
    """Return the outcome of an answer: its verdict, and the statements judged for it."""
    units = () if result.deciding is None else result.deciding.units
    return {
        "response": shorten(record.response),
        "verdict": result.verdict,
        "why": None if result.reason is None else REASONS[result.reason],
        "risk": result.risk,
        "by": result.by,
        "decision": result.decision,
        "units": [unit(u) for u in units if u.level in ("sentence", "claim")][:MAX_UNITS],
        "scores": [[name, s.risk, s.status, s.reason] for name, s in result.scores.items()],
    }


def unit(u: Unit) -> dict[str, Any]:
    """Return a statement, its label and its evidence."""
    return {
        "start": u.start,
        "end": u.end,
        "text": shorten(u.text, _PIECE),
        "risk": u.risk,
        "label": u.label,
        **({} if u.kind is None else {"kind": u.kind}),
        "evidence": [[e.kind, e.index, shorten(e.text, _PIECE)] for e in u.evidence[:MAX_EVIDENCE]],
    }
