"""Records and results without texts, for reports shared outside the organisation.

Lengths, verdicts, risks and offsets remain. Everything that may contain words of a record is
removed: its texts, names of its contexts, values of its ``meta``, and textual output of scorers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from veridical.core.records import Record
from veridical.core.scores import EvidenceItem, Result, Score, Unit
from veridical.core.verdict_cuts import verdict_of_label
from veridical.report.claim_payload import VERDICTS

NOTE = "texts are redacted: only their lengths are shown"

_BLOCK = "▒"
_GONE = "[redacted]"
_LEVELS = ("response", "sentence", "claim")  # finer units would reveal the lengths of words
_CATEGORIES = ("number", "date", "name", "other")


def redacted(record: Record, result: Result) -> tuple[Record, Result]:
    """Return redacted copies of both.

    The response becomes blocks, one per character, so that units keep their offsets. Other texts
    become their lengths in square brackets.
    """
    length = len(record.response)
    blank = {
        "row": record.row,
        "id": record.id,
        "label": record.label,
        "unit_labels": record.unit_labels,
        "meta": dict.fromkeys(record.meta, _GONE),
        "prompt": None if record.prompt is None else _measure(_asked(record.prompt)),
        "response": _BLOCK * length if record.response.strip() else "",
        "samples": [_measure(s.text or "") for s in record.samples],
        "contexts": [_measure(c.text) for c in record.contexts],
        "reference": [_measure(r) for r in record.reference],
    }
    scores = {name: _score(score) for name, score in result.scores.items()}
    changes = {"scores": scores, "selected": None, "repair": None}
    return Record.model_validate(blank), result.model_copy(update=changes)


def redacted_summary(summary: Mapping[str, Any]) -> dict[str, Any]:
    """Return a summary in which no cause or error quotes a record."""
    scorers = [
        {
            **scorer,
            "failed_reasons": {_GONE: n} if (n := scorer["n_failed"]) else {},
            "not_applicable_reasons": {_GONE: n} if (n := scorer["n_not_applicable"]) else {},
        }
        for scorer in summary.get("scorers") or ()
    ]
    errors = [{**error, "error": _GONE} for error in summary.get("errors") or ()]
    return {**summary, "scorers": scorers, "errors": errors}


def _score(score: Score) -> Score:
    units = [unit for unit in score.units if unit.level in _LEVELS]
    return score.model_copy(
        update={
            "raw": _raw(score, units),
            "reason": None if score.reason is None else _GONE,
            "units": tuple(map(_unit, units)),
        }
    )


def _unit(unit: Unit) -> Unit:
    known = {k: p for k, p in (unit.probabilities or {}).items() if k in VERDICTS}
    return unit.model_copy(
        update={
            "text": _BLOCK * len(unit.text),
            "label": unit.label if verdict_of_label(unit.label) else None,
            "probabilities": known or None,
            "evidence": tuple(_item(e) for e in unit.evidence if e.kind != "token"),
        }
    )


def _item(item: EvidenceItem) -> EvidenceItem:
    gone = {"text": _measure(item.text), "start": 0, "end": 0, "computed": None}
    return item.model_copy(update=gone)


def _raw(score: Score, units: Sequence[Unit]) -> float | dict[str, Any] | None:
    """Return the numbers of a raw value, and the verdicts on claims."""
    raw = score.raw
    if not isinstance(raw, Mapping):
        return raw
    numbers: dict[str, Any] = {str(k): v for k, v in raw.items() if isinstance(v, (int, float))}
    if raw.get("label") == "abstain":
        numbers["label"] = "abstain"
    claims = raw.get("claims")
    if isinstance(claims, (list, tuple)) and len(claims) == len(units) == len(score.units):
        numbers["claims"] = [_claim(claim) for claim in claims]
    return numbers


def _claim(claim: Any) -> dict[str, Any]:
    claim = claim if isinstance(claim, Mapping) else {}
    kind = str(claim.get("category") or "").rpartition("/")[2]
    says = claim.get("says")
    known = [s if s in VERDICTS else None for s in says] if isinstance(says, (list, tuple)) else []
    return {
        **({"category": kind} if kind in _CATEGORIES else {}),
        **({"conflict": True} if claim.get("conflict") is True else {}),
        **({"says": known} if known else {}),
    }


def _asked(prompt: str | list[dict[str, Any]]) -> str:
    if isinstance(prompt, str):
        return prompt
    contents = [message.get("content") for message in prompt]
    return "".join(c if isinstance(c, str) else "" for c in contents)


def _measure(text: str) -> str:
    count = len(text)
    return f"[{count:,} {'character' if count == 1 else 'characters'}]"
