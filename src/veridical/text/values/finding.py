"""Result of looking up a value in sources."""

from __future__ import annotations

from typing import Literal, NamedTuple

from veridical.text.values.value import Value

Status = Literal["found", "computed", "wrong", "absent", "open"]


class ValueFinding(NamedTuple):
    """Result of looking up a value in the sources.

    Attributes:
        value: value of the statement.
        status: ``found``, ``computed``, ``wrong`` (the sources have another value instead),
            ``absent``, or ``open`` if a small number in words need not be a figure.
        source, start, end: the supporting place in a source; source -1 for none.
        computed: the derivation of a computed value.
        unit: True if the unit, not the number, is wrong.
    """

    value: Value
    status: Status
    source: int = -1
    start: int = 0
    end: int = 0
    computed: str = ""
    unit: bool = False
