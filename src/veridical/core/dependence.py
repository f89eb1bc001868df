"""Independent units: groups of records that depend on each other."""

from __future__ import annotations

import json

from veridical.core.records import Record


def unit_of(record: Record) -> str:
    """Return the independent unit of a record: records of one unit depend on each other.

    It is the value of the column ``group`` where there is one, else the prompt with its contexts,
    in any order, else the row.
    """
    group = record.meta.get("group")
    if isinstance(group, (str, int, float)) and group != "":
        return f"group {group}"
    if record.prompt:
        return f"prompt {json.dumps([record.prompt, contexts_of(record)], sort_keys=True)}"
    return f"row {record.row}"


def contexts_of(record: Record) -> list[str]:
    """Return the texts of a record's contexts, sorted, each once."""
    return sorted({context.text for context in record.contexts})
