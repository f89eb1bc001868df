"""From the columns of an input row to the fields of a record."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from veridical.errors import UsageError, unknown_name
from veridical.io.problems import RowProblem, from_validation, named, shown, visible

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from veridical.records import Record

#: Record field -> other column names it is known by, where the field's own name is absent.
ALIASES: dict[str, tuple[str, ...]] = {
    "id": ("example_id", "idx"),
    "prompt": ("question", "query", "input", "user_input"),
    "response": ("answer", "output", "actual_output", "generated_text", "prediction"),
    "samples": ("sampled_responses", "gpt3_text_samples"),
    "contexts": (
        "context",
        "retrieved_contexts",
        "retrieval_context",
        "knowledge",
        "document",
        "documents",
        "source",
        "passages",
    ),
    "reference": ("reference_answer", "gold", "ground_truth", "expected_output", "right_answer"),
    "logprobs": (),
    "sentences": (),
    "label": (),
    "unit_labels": (),
    "meta": (),
}
_CONTEXT_TEXT = ("text", "content", "page_content", "passage")
_SAMPLE_KEYS = ("text", "image", "logprobs", "finish_reason")
_MOST_PLANS = 256
_ABSENT = object()

Plan = tuple[tuple[tuple[str, tuple[str, ...]], ...], tuple[str, ...]]


class Columns:
    """Which column feeds which field: the field's own name, else an alias, unless mapped.

    Args:
        mapping: record field -> column, or a dotted path into nested objects and lists.
        prompts: rows may lack the response; those that do must have a prompt, and become
            :class:`~veridical.io.prompts.Unanswered` records.

    Raises:
        UsageError: an unknown field, or an empty column name.
    """

    def __init__(self, mapping: Mapping[str, str] | None = None, *, prompts: bool = False) -> None:
        self.mapping = dict(mapping or {})
        self._prompts = prompts
        for field, column in self.mapping.items():
            _check_field(field)
            if not isinstance(column, str) or not column:
                raise UsageError(f"--map {field}=...: give the name of a column")
        self._plans: dict[tuple[str, ...], Plan] = {}

    def record(
        self, row: Mapping[str, Any], ordinal: int, original: Mapping[str, Any] | None = None
    ) -> Record:
        """The record of one row.

        Args:
            original: where mapped columns are looked up, when a reader made ``row`` out of it.

        Raises:
            RowProblem: the row is not a valid record.
        """
        from pydantic import ValidationError

        from veridical.records import Record

        fields, columns = self._fields(row, row if original is None else original)
        kind = Record
        if "response" not in fields:
            kind = self._unanswered(row, fields, columns)
        check_finite(fields.get("prompt"), columns.get("prompt"))
        for key, value in fields["meta"].items():
            check_finite(value, key)
        for field, shape in _SHAPES.items():
            if field in fields:
                fields[field] = shape(fields[field])
        if fields.get("id") is None:
            fields["id"] = ordinal
        elif isinstance(fields["id"], int) and not -(2**63) <= fields["id"] < 2**63:
            raise RowProblem("must fit in 64 bits", columns["id"])
        fields["row"] = ordinal
        try:
            return kind.model_validate(fields)
        except ValidationError as e:
            raise from_validation(e, columns, fields) from None

    def field_of(self, column: str) -> str | None:
        """The field a column feeds; ``meta`` (an object) for one that a dotted path enters."""
        for field, path in self.mapping.items():
            if path == column:
                return field
        for path in self.mapping.values():
            if path.startswith(column + "."):
                return "meta"
        for field, aliases in ALIASES.items():
            if field not in self.mapping and (column == field or column in aliases):
                return field
        return None

    def _fields(
        self, row: Mapping[str, Any], original: Mapping[str, Any]
    ) -> tuple[dict[str, Any], dict[str, str]]:
        """Field -> value (``meta`` always there) and field -> the column it came from."""
        keys = tuple(row)
        plan = self._plans.get(keys)
        if plan is None:
            plan = self._plan(keys)
            if len(self._plans) < _MOST_PLANS:  # a hostile file has as many shapes as rows
                self._plans[keys] = plan
        known, unknown = plan
        fields: dict[str, Any] = {}
        columns: dict[str, str] = {}
        meta: dict[str, Any] = {k: row[k] for k in unknown}
        for field, candidates in known:
            column = candidates[0]
            if len(candidates) > 1:
                column = _choose(row, field, candidates)
                for other in candidates:
                    if other != column and row[other] is not None:
                        meta[other] = row[other]
            value = row[column]
            if value is not None:
                fields[field] = value
                columns[field] = column
        for field, path in self.mapping.items():
            value = _lookup(original, path)
            if value is not _ABSENT and value is not None:
                fields[field] = value
                columns[field] = path
            elif field == "response" and not self._prompts:
                what = "is missing" if value is _ABSENT else "is null"
                raise RowProblem(f"column {shown(path)} (mapped to response) {what}", path)
            else:
                fields.pop(field, None)
        given = fields.get("meta")
        if given is not None:
            if not isinstance(given, dict):
                raise RowProblem(f"must be an object, got {shown(given)}", columns["meta"])
            # Neither the object nor a column of the same name may be lost.
            meta = {**{f"column.{k}" if k in given else k: v for k, v in meta.items()}, **given}
        fields["meta"] = meta
        return fields, columns

    def _plan(self, keys: tuple[str, ...]) -> Plan:
        present = set(keys)
        taken = set(self.mapping.values())
        plan = []
        for field, aliases in ALIASES.items():
            if field in self.mapping:
                continue
            found = tuple(n for n in (field, *aliases) if n in present and n not in taken)
            if found:
                plan.append((field, found))
                taken.update(found)
        return tuple(plan), tuple(k for k in keys if k not in taken)

    def _unanswered(
        self, row: Mapping[str, Any], fields: Mapping[str, Any], columns: Mapping[str, str]
    ) -> type[Record]:
        """What a row without a response becomes, where there may be such rows."""
        from veridical.io.prompts import Unanswered, messages_of

        if not self._prompts:
            raise self._no_response(row)
        for field in ("logprobs", "sentences", "unit_labels"):
            if field in fields:
                raise RowProblem("belongs to a response, and the row has none", columns[field])
        if not isinstance(fields.get("prompt"), (str, list, type(None))):
            return Unanswered  # refused with the other fields of a wrong type
        try:
            messages_of(fields.get("prompt"))
        except RowProblem as e:
            where = columns.get("prompt", "prompt") + (e.field or "").removeprefix("prompt")
            raise RowProblem(e.error, where) from None
        return Unanswered

    def _no_response(self, row: Mapping[str, Any]) -> RowProblem:
        for name in ("response", *ALIASES["response"]):
            if name in row and row[name] is None:
                return RowProblem("is null; a response must be text", name)
        has = f"the row has {named(row)}" if row else "the row is empty"
        also = ", ".join(ALIASES["response"])
        return RowProblem(
            f"is missing (nor is there {also}); {has}; --map response=COLUMN names another",
            "response",
        )


def check_finite(value: Any, column: str | None) -> None:
    """Refuse NaN and infinities, which no JSON result could carry (``1e999`` reads as one)."""
    if isinstance(value, float):
        if not math.isfinite(value):
            raise RowProblem("holds a number that is too large or not a number", column)
    elif isinstance(value, dict):
        for v in value.values():
            check_finite(v, column)
    elif isinstance(value, list):
        for v in value:
            check_finite(v, column)


def _check_field(field: str) -> None:
    if field in ALIASES:
        return
    for known, aliases in ALIASES.items():
        if field in aliases:
            raise UsageError(
                f"--map: {field!r} is a column name; the record's field is {known!r}: "
                f"write {known}={field} (field=column)"
            )
    raise unknown_name("record field", visible(str(field)), ALIASES)


def _choose(row: Mapping[str, Any], field: str, candidates: Iterable[str]) -> str:
    """The field's own column when it has a value, else the one alias that has one."""
    filled = [c for c in candidates if row[c] is not None]
    if not filled:
        return next(iter(candidates))
    if filled[0] != field:
        for other in filled[1:]:
            if row[other] != row[filled[0]]:
                raise RowProblem(
                    f"columns {filled[0]!r} and {other!r} both mean {field} and differ; "
                    f"--map {field}=COLUMN says which",
                    filled[0],
                )
    return filled[0]


def _lookup(row: Mapping[str, Any], path: str) -> Any:
    if path in row:
        return row[path]
    value: Any = row
    for part in path.split("."):
        if isinstance(value, dict) and part in value:
            value = value[part]
        elif isinstance(value, list) and part.isdecimal() and len(part) < 10:
            index = int(part)
            if index >= len(value):
                return _ABSENT
            value = value[index]
        else:
            return _ABSENT
    return value


def _samples(value: Any) -> Any:
    if not isinstance(value, list):
        return [_sample(value)] if isinstance(value, dict) else value
    return [_sample(v) if isinstance(v, dict) else v for v in value]


def _sample(value: dict[str, Any]) -> dict[str, Any]:
    kept = {k: value[k] for k in _SAMPLE_KEYS if k in value}
    if kept.get("logprobs") is not None:
        kept["logprobs"] = _logprobs(kept["logprobs"])
    return kept


def _contexts(value: Any) -> Any:
    if not isinstance(value, list):
        return [_context(value)] if isinstance(value, dict) else value
    return [_context(v) if isinstance(v, dict) else v for v in value]


def _context(value: dict[str, Any]) -> dict[str, Any]:
    kept = {"id": value["id"]} if "id" in value else {}
    for name in _CONTEXT_TEXT:
        if value.get(name) is not None:
            kept["text"] = value[name]
            break
    return kept


def _logprobs(value: Any) -> Any:
    return [_token(v) for v in value] if isinstance(value, list) else value


def _token(value: Any) -> Any:
    """An entry in our terms; OpenAI calls the alternatives ``top_logprobs``."""
    if not isinstance(value, dict):
        return value
    top = value.get("top")
    if top is None:
        top = value.get("top_logprobs")
    kept = {k: value[k] for k in ("token", "logprob") if k in value}
    if top is not None:
        kept["top"] = top
    return kept


def _unit_labels(value: Any) -> Any:
    if not isinstance(value, list):
        return value
    keys = ("start", "end", "label")
    return [{k: v[k] for k in keys if k in v} if isinstance(v, dict) else v for v in value]


_SHAPES = {
    "samples": _samples,
    "contexts": _contexts,
    "logprobs": _logprobs,
    "unit_labels": _unit_labels,
}
