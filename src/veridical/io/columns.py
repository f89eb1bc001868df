"""Mapping of input columns to record fields."""

from __future__ import annotations

import difflib
import math
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any

from veridical.errors import UsageError, mapping_named, option_named, unknown_name
from veridical.files.rowlog import Rows
from veridical.io.cells import WRITTEN, written_list
from veridical.io.images import with_images
from veridical.io.label_words import label_of
from veridical.io.names import (
    ALIASES,
    CONTEXT_TEXT,
    FALLBACKS,
    field_by_name,
    known_alias,
    known_name,
)
from veridical.io.problems import RowProblem, from_validation
from veridical.io.row_shapes import candidates, finite, is_nested, nested_fields
from veridical.text.display import named, shown

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable, Mapping, Sequence
    from pathlib import Path

    from veridical.core.records import Record

_SAMPLE_KEYS = ("text", "image", "logprobs", "finish_reason")
#: Fields whose lists are sometimes written as text.
_LIST_FIELDS = ("samples", "contexts", "reference")
_MOST_PLANS = 256
_MOST_COUNTED = 16  # maximum columns whose rows are counted
_MOST_KEYS = 1_000  # maximum keys of a cached plan
_LOOKED_AT = 16  # columns inspected in a row without a response, to suggest one
_ABSENT = object()

Plan = tuple[tuple[tuple[str, tuple[str, ...]], ...], tuple[str, ...]]


class Columns:
    """Mapping of columns to fields: explicit, by the field's own name, or by an alias.

    Args:
        mapping: record field -> column, or a dotted path into nested objects and lists.
        prompts: rows may lack the response; such rows need a prompt and become
            :class:`~veridical.io.prompts.Unanswered` records.
        fixed: the sender of the rows cannot set options, so messages name none.

    Raises:
        UsageError: an unknown field, or an empty column name.
    """

    def __init__(
        self,
        mapping: Mapping[str, str] | None = None,
        *,
        prompts: bool = False,
        fixed: bool = False,
    ) -> None:
        self.mapping = dict(mapping or {})
        self._prompts = prompts
        self._fixed = fixed
        for field, column in self.mapping.items():
            _check_field(field, column)
            if not isinstance(column, str) or not column:
                raise UsageError(f"{mapping_named(field, '...')} requires the name of a column")
        self._plans: dict[tuple[str, ...], Plan] = {}
        self._lists: dict[tuple[str, str], Rows] = {}  # by column and kind of list

    def check_answers(self, columns: Sequence[str]) -> None:
        """Check that one of all ``columns`` of a table can be the response (or the prompt, if rows
        may lack a response).

        Raises:
            UsageError: there is no such column; the message names the columns, and the likeliest.
        """
        if "response" in self.mapping:
            return
        fields = {self.field_of(column) for column in columns}
        if "response" in fields or (self._prompts and "prompt" in fields):
            return
        hint = self._answers_hint([c for c in columns if field_by_name(c) == "response"], fields)
        raise UsageError(
            f"the table has no answer column; it has {named(columns) or 'no columns'}; {hint}"
        )

    def warnings(self) -> list[str]:
        """Return warnings about the rows read so far, one line each."""
        lines = []
        for (column, kind), rows in self._lists.items():
            count = "1 row" if rows.count == 1 else f"{rows.count} rows"
            where = f"in {count} (first row {next(iter(rows))})"
            lines.append(f"column {shown(column)}: {WRITTEN[kind].format(where=where)}")
        return lines

    def record(
        self,
        row: Mapping[str, Any],
        ordinal: int,
        original: Mapping[str, Any] | None = None,
        folder: Path | None = None,
    ) -> Record:
        """Make the record of one row.

        Args:
            original: source of mapped columns, if a reader made ``row`` from it.
            folder: folder in or below which a row may name image files; None forbids them.

        Raises:
            RowProblem: the row is not a valid record.
        """
        from pydantic import ValidationError

        from veridical.core.records import Record

        fields, columns = self._fields(row, row if original is None else original)
        kind = Record
        if "response" not in fields:
            kind = self._unanswered(row, fields, columns)
        check_finite(fields.get("prompt"), columns.get("prompt"))
        fields["meta"] = finite(fields["meta"])
        for field in _LIST_FIELDS:
            if isinstance(value := fields.get(field), str) and (listed := written_list(value)):
                if listed.texts is not None:
                    fields[field] = listed.texts
                self._count(columns[field], listed.kind, ordinal)
        if isinstance(label := fields.get("label"), str):
            fields["label"] = label_of(label, columns["label"])
        for field, shape in _SHAPES.items():
            if field in fields:
                fields[field] = shape(fields[field])
        fields = with_images(fields, columns, folder)
        if fields.get("id") is None:
            fields["id"] = ordinal
        elif isinstance(fields["id"], int) and not -(2**63) <= fields["id"] < 2**63:
            raise RowProblem("must fit in 64 bits", columns["id"])
        fields["row"] = ordinal
        try:
            return kind.model_validate(fields)
        except ValidationError as e:
            raise from_validation(e, columns, fields) from None

    def _count(self, column: str, kind: str, row: int) -> None:
        """Count a row with a list that is written as text, for a limited number of columns."""
        if (column, kind) in self._lists or len(self._lists) < _MOST_COUNTED:
            self._lists.setdefault((column, kind), Rows()).add(row)

    def field_of(self, column: str) -> str | None:
        """Return the field that a column feeds; ``meta`` (an object) for one that a dotted path
        enters."""
        for field, path in self.mapping.items():
            if path == column:
                return field
        for path in self.mapping.values():
            if path.startswith(column + "."):
                return "meta"
        for field, aliases in ALIASES.items():
            if field not in self.mapping and (column == field or column in aliases):
                return field
        for field, names in FALLBACKS.items():
            if field not in self.mapping and (known_alias(column) == field or column in names):
                return field
        return None

    def _fields(
        self, row: Mapping[str, Any], original: Mapping[str, Any]
    ) -> tuple[dict[str, Any], dict[str, str]]:
        """Return field -> value (always with ``meta``), and field -> its column."""
        keys = tuple(row)
        plan = self._plans.get(keys)
        if plan is None:
            plan = self._plan(keys)
            # hostile files have as many shapes as rows, or very large ones
            if len(self._plans) < _MOST_PLANS and len(keys) <= _MOST_KEYS:
                self._plans[keys] = plan
        known, unknown = plan
        fields: dict[str, Any] = {}
        columns: dict[str, str] = {}
        meta: dict[str, Any] = {k: row[k] for k in unknown}
        for field, names in known:
            column = names[0]
            if len(names) > 1:
                column = self._choose(row, field, names)
                for other in names:
                    if other != column and row[other] is not None:
                        meta[other] = row[other]
            value = row[column]
            if is_nested(column, value):
                meta[column] = value
            elif value is not None:
                fields[field] = value
                columns[field] = column
        for field, (path, value) in nested_fields(row).items():
            if field not in fields:
                fields[field] = value
                columns[field] = path
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
        own_meta = fields.get("meta")
        if own_meta is not None:
            if not isinstance(own_meta, dict):
                raise RowProblem(f"must be an object, got {shown(own_meta)}", columns["meta"])
            # neither the object nor a column of the same name may be lost
            meta = {
                **{f"column.{k}" if k in own_meta else k: v for k, v in meta.items()},
                **own_meta,
            }
        fields["meta"] = meta
        return fields, columns

    def _plan(self, keys: tuple[str, ...]) -> Plan:
        taken = set(self.mapping.values())
        plan = []
        for field in ALIASES:
            if field in self.mapping:
                continue
            columns = candidates(field, keys, taken)
            if columns:
                plan.append((field, columns))
                taken.update(columns)
        return tuple(plan), tuple(k for k in keys if k not in taken)

    def _unanswered(
        self, row: Mapping[str, Any], fields: Mapping[str, Any], columns: Mapping[str, str]
    ) -> type[Record]:
        """Return the record class of a row without a response, where such rows are allowed."""
        from veridical.io.prompts import Unanswered, messages_of

        if not self._prompts:
            raise self._no_response(row)
        for field in ("logprobs", "sentences", "unit_labels"):
            if field in fields:
                raise RowProblem("requires a response, which the row lacks", columns[field])
        if not isinstance(fields.get("prompt"), (str, list, type(None))):
            return Unanswered  # refused later with the other fields of a wrong type
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
        some = dict(islice(row.items(), _LOOKED_AT))
        # comparing spellings takes time, so files with very many shapes of rows are skipped
        meant = field_by_name if len(self._plans) < _MOST_PLANS else known_name
        likely = [c for c, v in some.items() if isinstance(v, str) and meant(c) == "response"]
        hint = self._answers_hint(likely, {self.field_of(column) for column in some})
        if not (likely or self._fixed) and any(_is_conversation(value) for value in some.values()):
            readers = (option_named("reader", name) for name in ("openai-chat", "anthropic"))
            hint = f"a conversation is read with {' or '.join(readers)}"
        return RowProblem(f"is missing; {has}; {hint}", "response")

    def _answers_hint(self, likely: Sequence[str], fields: Container[str | None]) -> str:
        """Return advice on a missing answer column.

        Args:
            likely: candidate columns, likeliest first.
            fields: fields that have a column.
        """
        if likely:
            how = "call it response" if self._fixed else mapping_named("response", likely[0])
            return f"did you mean {shown(likely[0])}? {how}"
        name = f"call it one of {', '.join(('response', *ALIASES['response']))}"
        if self._fixed:
            return name
        name = f"{name}, or name it: {mapping_named('response', 'COLUMN')}"
        if "prompt" not in fields:
            return name
        return f"{name}; or answer the prompts by a language model: {option_named('llm', 'NAME')}"

    def _choose(self, row: Mapping[str, Any], field: str, candidates: Iterable[str]) -> str:
        """Return the field's own column if it has a value, else the single alias that has one."""
        filled = [c for c in candidates if row[c] is not None]
        if not filled:
            return next(iter(candidates))
        if filled[0] != field:
            for other in filled[1:]:
                if row[other] != row[filled[0]]:
                    both = f"{filled[0]!r} and {other!r} both mean {field} and differ"
                    if self._fixed:
                        raise RowProblem(f"{both}: send one of them", filled[0])
                    which = f"{mapping_named(field, 'COLUMN')} says which"
                    raise RowProblem(f"columns {both}; {which}", filled[0])
        return filled[0]


def no_column(path: str, columns: Sequence[str]) -> str:
    """Return a message that no row has a column, with the existing columns and the nearest name.

    Args:
        path: the column, or a dotted path.
        columns: the existing columns.
    """
    near = difflib.get_close_matches(path, columns, n=1, cutoff=0.6)
    hint = f"; did you mean {shown(near[0])}?" if near else ""
    return f"no row has a column {shown(path)}; there are {named(columns)}{hint}"


def has_path(row: Mapping[str, Any], path: str) -> bool:
    """Return True if a row has the column, or the dotted path, that a mapping names."""
    return _lookup(row, path) is not _ABSENT


def check_finite(value: Any, column: str | None) -> None:
    """Refuse NaN and infinities, which JSON cannot represent (``1e999`` is read as infinity)."""
    if isinstance(value, float):
        if not math.isfinite(value):
            raise RowProblem("contains infinity or NaN, which JSON cannot represent", column)
    elif isinstance(value, dict):
        for v in value.values():
            check_finite(v, column)
    elif isinstance(value, list):
        for v in value:
            check_finite(v, column)


def _check_field(field: str, column: str) -> None:
    if field in ALIASES:
        return
    for known, aliases in ALIASES.items():
        if field in aliases:
            raise UsageError(
                f"{field!r} is a column name; the record's field is "
                f"{known!r}; write {mapping_named(known, column)} (field first, then column)"
            )
    raise unknown_name("record field", str(field), ALIASES)


def _is_conversation(value: Any) -> bool:
    """Return True if the value is a list of messages (objects with a role)."""
    return (
        isinstance(value, list)
        and bool(value)
        and all(isinstance(message, dict) and "role" in message for message in value)
    )


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


def _each(shape: Callable[[dict[str, Any]], dict[str, Any]], value: Any) -> Any:
    """Return a list with its objects in our terms; a single object becomes a list of one."""
    if not isinstance(value, list):
        return [shape(value)] if isinstance(value, dict) else value
    return [shape(v) if isinstance(v, dict) else v for v in value]


def _sample(value: dict[str, Any]) -> dict[str, Any]:
    sample = {k: value[k] for k in _SAMPLE_KEYS if k in value}
    if sample.get("logprobs") is not None:
        sample["logprobs"] = _logprobs(sample["logprobs"])
    return sample


def _context(value: dict[str, Any]) -> dict[str, Any]:
    kept = value.get("kwargs")
    if value.get("lc") is not None and isinstance(kept, dict):  # LangChain's serialised form
        value = kept
    context = {"id": value["id"]} if "id" in value else {}
    metadata = value.get("metadata")
    source = metadata.get("source") if isinstance(metadata, dict) else None
    named = isinstance(source, (str, int)) and not isinstance(source, bool)
    # the id of a LangChain document is that of an internal chunk
    if named and (context.get("id") is None or "page_content" in value):
        context["id"] = source
    for name in CONTEXT_TEXT:
        if value.get(name) is not None:
            context["text"] = value[name]
            break
    return context


def _logprobs(value: Any) -> Any:
    return [_token(v) for v in value] if isinstance(value, list) else value


def _token(value: Any) -> Any:
    """Return an entry in our terms; OpenAI calls the alternatives ``top_logprobs``."""
    if not isinstance(value, dict):
        return value
    top = value.get("top")
    if top is None:
        top = value.get("top_logprobs")
    token = {k: value[k] for k in ("token", "logprob") if k in value}
    if top is not None:
        token["top"] = top
    return token


def _unit_labels(value: Any) -> Any:
    if not isinstance(value, list):
        return value
    keys = ("start", "end", "label")
    return [{k: v[k] for k in keys if k in v} if isinstance(v, dict) else v for v in value]


_SHAPES: dict[str, Callable[[Any], Any]] = {
    "samples": partial(_each, _sample),
    "contexts": partial(_each, _context),
    "logprobs": _logprobs,
    "unit_labels": _unit_labels,
}
