"""Row problems in terms of the input, at most one line long."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from veridical.text.display import LONGEST_ERROR, cut, shown, visible

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pydantic import ValidationError


_TEXT_LIST = "text or a list of texts"
_SPAN = "a pair [start, end] of whole numbers"
_LOGPROB = "a finite number not above 0 (a natural-log probability)"

#: Valid labels.
LABEL = (
    "a number from 0 (right) to 1 (hallucinated), true or false, or a word: right/wrong, yes/no, "
    "pass/fail, correct/incorrect, good/bad"
)
_FIELD = {
    "id": "text or a whole number of at most 64 bits",
    "prompt": "text or a list of chat messages (objects)",
    "response": "text",
    "samples": "text or a list of texts or of objects with 'text' or 'image'",
    "contexts": "text or a list of texts or of objects with 'text'",
    "reference": _TEXT_LIST,
    "logprobs": "a list of objects with 'token' and 'logprob'",
    "sentences": "a list of pairs [start, end]",
    "label": LABEL,
    "unit_labels": "a list of objects with 'start', 'end' and 'label'",
    "meta": "an object",
}
_ITEM = {
    "samples": "text or an object with 'text' or 'image'",
    "contexts": "text or an object with 'text'",
    "reference": "text",
    "logprobs": "an object with 'token' and 'logprob'",
    "sentences": _SPAN,
    "unit_labels": "an object with 'start', 'end' and 'label'",
}
_LEAF = {
    "id": "text or a whole number",
    "text": "text",
    "image": "text",
    "finish_reason": "text",
    "token": "text",
    "logprob": _LOGPROB,
    "logprobs": "a list of objects with 'token' and 'logprob'",
    "top": "a list of objects with 'token' and 'logprob'",
    "start": "a whole number, 0 or more",
    "end": "a whole number, 0 or more",
    "label": "a number from 0 (right) to 1 (hallucinated), or true or false",
}


class RowProblem(ValueError):
    """The reason why a row is not a record. ``field`` is the column concerned, if there is one."""

    def __init__(self, error: str, field: str | None = None) -> None:
        super().__init__(error)
        self.error = cut(error, LONGEST_ERROR)
        self.field = None if field is None else visible(field)


def from_validation(
    error: ValidationError, columns: Mapping[str, str], fields: Mapping[str, Any]
) -> RowProblem:
    """Return the first error of pydantic in terms of the input.

    Args:
        columns: record field -> its column in the input.
        fields: record field -> its value, to decide if a list index is meaningful.
    """
    first = error.errors(include_url=False)[0]
    loc = first["loc"]
    if not loc:  # a rule between fields; the record's message names its location first
        place, _, message = str(first["ctx"]["error"]).partition(": ")
        field, bracket, index = place.partition("[")
        return RowProblem(message, columns.get(field, field) + bracket + index)
    field = str(loc[0])
    # For unions, and for a single text instead of a list, the inner path is not the input's.
    path = loc[1:] if field not in ("id", "prompt") and isinstance(fields.get(field), list) else ()
    where = columns.get(field, field)
    if path and path[-1] in ("str", "int"):
        path = path[:-1]  # pydantic names the branch of the union
    for part in path:
        where += f"[{part}]" if isinstance(part, int) else f".{part}"
    if first["type"] == "missing":
        return RowProblem("is missing", where)
    if first["type"] == "value_error" and field != "label":
        return RowProblem(str(first["ctx"]["error"]), where)
    value = first["input"] if path else fields.get(field)
    return RowProblem(f"must be {_expected(field, path)}, got {shown(value)}", where)


def _expected(field: str, path: tuple[int | str, ...]) -> str:
    names = [p for p in path if isinstance(p, str)]
    if names:
        last = names[-1]
        return _ITEM["logprobs"] if isinstance(path[-1], int) else _LEAF.get(last, "another type")
    if len(path) == 2:  # sentences[i][j]
        return "a whole number"
    return _ITEM.get(field, _FIELD[field]) if path else _FIELD[field]
