"""Record data of the HTML report: index row, search text, detail object.

All of it is plain JSON data. Nothing is cut silently: a text or list that is too long reports the
size of the missing part.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from itertools import zip_longest
from typing import Any

from veridical.core.records import Record
from veridical.core.scores import EvidenceItem, Result, Score, Unit
from veridical.report.claim_payload import ClaimFact, claim_facts, claims_of
from veridical.report.decision_payload import decision_of
from veridical.report.unexplained import Unexplained

MAX_TEXT = 100_000  #: code points of one text
MAX_ITEMS = 100  #: samples, contexts or references of one record
MAX_COLUMNS = 12  #: columns of a table of findings
MAX_UNITS = 5_000  #: units of one score
MAX_EVIDENCE = 25  #: evidence items of one unit
MAX_MATRIX = 32  #: rows of a heat map
MAX_VALUE = 4_000  #: characters of one meta or raw value
SNIPPET = 160

Json = Any
_DECISION = {None: "", "accept": "accept", "review": "review", "reject": "reject"}


def index_row(record: Record, result: Result) -> list[Json]:
    """Return ``[row, id, risk, verdict, decision, question, snippet, failed]`` for the list of
    records. ``snippet`` is the beginning of the riskiest statement, ``failed`` the number of failed
    scorers."""
    worst = result.worst
    text = record.response if worst is None else record.response[worst.start :]
    start = "… " if worst is not None and record.response[: worst.start].strip() else ""
    asked = _messages(record.prompt)[-1:]
    return [
        result.row,
        shorten(str(result.id), MAX_VALUE),
        _round(result.risk),
        result.verdict,
        _DECISION[result.decision],
        _line(asked[0]["text"]) if asked else "",
        start + _line(text or record.response or _named_image(record)),
        sum(score.status == "failed" for score in result.scores.values()),
    ]


def _named_image(record: Record) -> str:
    """Return a placeholder for a response that is an image; an empty string for others."""
    return "" if record.response_image is None else "[image, not shown]"


def _line(text: str) -> str:
    """Return the beginning of a text, on one line."""
    return " ".join(text[: 4 * SNIPPET].split())[:SNIPPET]


def search_text(record: Record, result: Result) -> str:
    """Return the text of the search box: id, prompt and response."""
    prompt = "\n".join(m["text"] for m in _messages(record.prompt))
    return "\n".join((str(result.id), shorten(prompt), shorten(record.response)))


def detail(record: Record, result: Result) -> dict[str, Json]:
    """Return all data of the detail view of a record."""
    notes: list[str] = []
    samples = _some(record.samples, MAX_ITEMS, "samples", notes)
    contexts = _some(record.contexts, MAX_ITEMS, "contexts", notes)
    if images := sum(s.image is not None for s in record.samples):
        notes.append(f"samples that are images are not shown: {images:,}")
    unexplained = Unexplained(record)
    return {
        "by": result.by,
        "reason": result.reason,
        "prompt": _messages(record.prompt),
        "response": shorten(record.response) or _named_image(record),
        "samples": [None if s.text is None else shorten(s.text) for s in samples],
        "contexts": [
            {"id": None if c.id is None else str(c.id), "text": shorten(c.text)} for c in contexts
        ],
        "reference": [shorten(r) for r in _some(record.reference, MAX_ITEMS, "references", notes)],
        "label": record.label,
        "labels": [[u.start, u.end, u.label] for u in (record.unit_labels or ())[:MAX_UNITS]],
        "meta": [[str(k), show(v)] for k, v in record.meta.items()],
        "scores": [
            _score(record, name, s, unexplained, notes) for name, s in result.scores.items()
        ],
        "fields": [
            [f.path, shorten(f.value, MAX_VALUE), f.verdict, _round(f.risk), f.start, f.end]
            for f in _some(result.fields or (), MAX_UNITS, "fields", notes)
        ],
        **decision_of(result, shorten),
        "notes": notes,
    }


def shorten(text: str, limit: int = MAX_TEXT) -> str:
    """Return ``text``, or its first ``limit`` code points with the number of missing ones."""
    if len(text) <= limit:
        return text
    return f"{text[:limit]}\n[... {len(text) - limit:,} more characters are not shown]"


def show(value: Any) -> str:
    """Return any value as readable text: strings unaltered, the rest as JSON."""
    if isinstance(value, str):
        return shorten(value, MAX_VALUE)
    if isinstance(value, float) and not isinstance(value, bool):
        return f"{value:.5g}"
    text = json.dumps(_plain(value), ensure_ascii=False, indent=1)
    return shorten(text if len(text) > 80 else " ".join(text.split()), MAX_VALUE)


def heat_map(raw: Any) -> dict[str, Json] | None:
    """Return the similarity matrix of a CheckEmbed-like raw value; None if it has no valid one.

    Args:
        raw: an object with ``matrix`` (or ``cosine``), a square list of lists of numbers.
            Optional are ``order`` (its labels) and ``outlier`` (one number per answer or per
            sample). Also ``mean``, ``std`` and ``frobenius``, directly or in an object ``cosine``.
    """
    if not isinstance(raw, Mapping):
        return None
    matrix = next((m for m in (raw.get("matrix"), raw.get("cosine")) if _is_square(m)), None)
    if matrix is None:
        return None
    n = len(matrix)
    cells = [[_number(v) for v in row[:MAX_MATRIX]] for row in matrix[:MAX_MATRIX]]
    if all(v is None for row in cells for v in row):
        return None
    order = raw.get("order")
    if not isinstance(order, (list, tuple)) or len(order) != n:
        order = [str(i) for i in range(n)]
    labels = [shorten(str(o), 80) for o in order]
    facts = raw["cosine"] if isinstance(raw.get("cosine"), Mapping) else raw
    figures = [(k, _number(facts.get(k))) for k in ("mean", "std", "frobenius")]
    return {
        "labels": labels[:MAX_MATRIX],
        "cells": cells,
        "outlier": _outliers(raw.get("outlier"), labels),
        "of": n,
        "facts": [[k, v] for k, v in figures if v is not None],
    }


def _is_square(matrix: Any) -> bool:
    return (
        isinstance(matrix, (list, tuple))
        and len(matrix) > 1
        and all(isinstance(row, (list, tuple)) and len(row) == len(matrix) for row in matrix)
    )


def _outliers(values: Any, labels: list[str]) -> list[float | None] | None:
    """Return ``values`` aligned with their rows: all answers, or the samples only."""
    answers = [i for i, label in enumerate(labels) if not label.startswith("reference")]
    samples = [i for i, label in enumerate(labels) if label.startswith("sample")]
    if not isinstance(values, (list, tuple)):
        return None
    rows = next((r for r in (answers, samples) if len(r) == len(values)), [])
    column: list[float | None] = [None] * len(labels)
    for i, v in zip(rows, values, strict=False):
        column[i] = _number(v)
    return column[:MAX_MATRIX] if any(v is not None for v in column) else None


def _score(
    record: Record, name: str, score: Score, unexplained: Unexplained, notes: list[str]
) -> dict[str, Json]:
    raw, matrix = score.raw, heat_map(score.raw)
    claims = claims_of(score)
    facts = claim_facts(score) if claims else [ClaimFact({}, [])] * len(score.units)
    shown_apart = ("matrix", "order", "outlier") if matrix else ()
    shown_apart = (*shown_apart, "claims", "left_out") if claims else shown_apart
    found = _findings(raw, notes)
    shown_apart = (*shown_apart, "findings") if found else shown_apart
    units = list(zip(score.units, facts, strict=True))
    return {
        "name": name,
        "risk": _round(score.risk),
        "status": score.status,
        "reason": score.reason,
        "raw": [[str(k), _brief(v)] for k, v in raw.items() if k not in shown_apart]
        if isinstance(raw, dict)
        else [["", show(raw)]] * (raw is not None),
        "signature": score.signature,
        "units": [
            _unit(record, unit, fact, notes)
            | ({} if unit.evidence else {"none": unexplained.why(score, unit)})
            for unit, fact in _some(units, MAX_UNITS, f"units of {name}", notes)
        ],
        "matrix": matrix,
        **({"claims": claims} if claims else {}),
        **({"findings": found} if found else {}),
    }


def _findings(raw: Any, notes: list[str]) -> dict[str, Json] | None:
    """Return the table of a raw value's ``findings`` (objects); None without findings."""
    rows = raw.get("findings") if isinstance(raw, Mapping) else None
    if not isinstance(rows, list) or not rows or not all(isinstance(r, Mapping) for r in rows):
        return None
    columns = list(dict.fromkeys(str(key) for row in rows for key in row))[:MAX_COLUMNS]
    return {
        "columns": columns,
        "rows": [
            ["" if row.get(c) is None else show(row[c]) for c in columns]
            for row in _some(rows, MAX_UNITS, "findings", notes)
        ],
    }


def _unit(record: Record, unit: Unit, fact: ClaimFact, notes: list[str]) -> dict[str, Json]:
    out: dict[str, Json] = {
        "level": unit.level,
        "start": unit.start,
        "end": unit.end,
        "risk": _round(unit.risk),
        "evidence": [
            _evidence(record, e, says)
            for e, says in zip_longest(
                _some(unit.evidence, MAX_EVIDENCE, "evidence items of a unit", notes), fact.says
            )
            if e is not None
        ],
    }
    if fact.shown:
        out["claim"] = fact.shown
    if unit.text != record.response[unit.start : unit.end]:
        out["text"] = shorten(unit.text)
    if unit.raw is not None:
        out["raw"] = show(unit.raw)
    if unit.label is not None:
        out["label"] = unit.label
    if unit.kind is not None:
        out["kind"] = unit.kind
    if unit.probabilities:
        out["probabilities"] = [[k, _round(v)] for k, v in unit.probabilities.items()]
    return out


def _evidence(record: Record, item: EvidenceItem, says: str | None) -> dict[str, Json]:
    out: dict[str, Json] = {"kind": item.kind, "index": item.index}
    if says is not None:
        out["says"] = says
    if item.probability is not None:
        out["p"] = _round(item.probability)
    if item.computed is not None:
        out["computed"] = shorten(item.computed)
    # the slice is not stored if it can be cut from the shown text
    if item.text == _source(record, item)[item.start : item.end] and item.end <= MAX_TEXT:
        out["start"], out["end"] = item.start, item.end
    else:
        out["text"] = shorten(item.text)
    return out


def _source(record: Record, item: EvidenceItem) -> str:
    lists: dict[str, Sequence[Any]] = {
        "sample": record.samples,
        "context": record.contexts,
        "reference": record.reference,
    }
    texts = lists.get(item.kind, ())
    if item.index >= min(len(texts), MAX_ITEMS):
        return ""
    text = texts[item.index]
    return (text if isinstance(text, str) else text.text) or ""


def _messages(prompt: str | list[dict[str, Any]] | None) -> list[dict[str, Json]]:
    if prompt is None:
        return []
    if isinstance(prompt, str):
        return [{"role": None, "text": shorten(prompt)}]
    out = []
    for message in prompt[:MAX_ITEMS]:
        role = message.get("role")
        content = message.get("content")
        parts = content if isinstance(content, list) else [content]
        text = "\n".join(_part(p) for p in parts if p is not None)
        out.append({"role": None if role is None else str(role), "text": shorten(text)})
    return out


def _part(part: Any) -> str:
    """Return the text of one part of a chat message; an image is named, never loaded."""
    if isinstance(part, str):
        return part
    if isinstance(part, dict) and isinstance(part.get("text"), str):
        return str(part["text"])
    kind = str(part.get("type", "part")) if isinstance(part, dict) else "part"
    return f"[{kind.removesuffix('_url').removeprefix('input_')}, not shown]"


def _some(items: Sequence[Any], limit: int, what: str, notes: list[str]) -> Sequence[Any]:
    if len(items) > limit:
        notes.append(f"{limit:,} of {len(items):,} {what} are shown")
    return items[:limit]


def _brief(value: Any) -> str:
    """Return a value as :func:`show` does, but a matrix or long list by its size."""
    if isinstance(value, (list, tuple)) and value:
        if isinstance(value[0], (list, tuple)):
            return f"{len(value)} × {len(value[0])} values"
        if len(value) > 8:
            return f"{len(value)} values"
        if all(isinstance(v, float) for v in value):
            return ", ".join(show(v) for v in value)
    if isinstance(value, dict) and all(isinstance(v, float) for v in value.values()):
        return ", ".join(f"{k} {show(v)}" for k, v in value.items())
    return show(value)


def _plain(value: Any, depth: int = 0) -> Json:
    """Convert ``value`` to strict JSON: no NaN, no foreign type, no unlimited nesting."""
    if value is None or isinstance(value, (bool, str, int)):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if depth >= 12:
        return "..."
    if isinstance(value, Mapping):
        return {str(k): _plain(v, depth + 1) for k, v in value.items()}
    if isinstance(value, Iterable) and not isinstance(value, (bytes, bytearray)):
        return [_plain(v, depth + 1) for v in value]
    return str(value)


def _number(value: Any) -> float | None:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        return None
    return _round(float(value))


def _round(value: float | None, digits: int = 6) -> float | None:
    return None if value is None else round(value, digits)
