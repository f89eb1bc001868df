"""Texts as they were printed before, on whatever processor."""

from __future__ import annotations

import re

_NUMBER = re.compile(r"\b\d\.\d\d\b")
#: Of a number of two decimals: a model's last digits depend on the processor, and may round
#: the other way.
_ROUNDING = 0.011


def assert_printed(actual: str, recorded: str, hint: str = "") -> None:
    """The texts are equal, but for the last digit of numbers of two decimals."""
    assert _NUMBER.sub("N.NN", actual) == _NUMBER.sub("N.NN", recorded), hint
    numbers = zip(_NUMBER.findall(actual), _NUMBER.findall(recorded), strict=True)
    far = [(now, before) for now, before in numbers if abs(float(now) - float(before)) > _ROUNDING]
    assert not far, hint
