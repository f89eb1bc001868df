"""Python's parser, safe to call from several threads."""

from __future__ import annotations

import ast
from contextlib import suppress
from typing import Literal, overload

#: Times a source is parsed before an error of CPython is passed on.
ATTEMPTS = 20


@overload
def parse_python(source: str, mode: Literal["exec"] = "exec") -> ast.Module: ...
@overload
def parse_python(source: str, mode: Literal["eval"]) -> ast.Expression: ...


def parse_python(
    source: str, mode: Literal["exec", "eval"] = "exec"
) -> ast.Module | ast.Expression:
    """Parse Python source, as ``ast.parse`` does.

    CPython before 3.11.8 and 3.12.2 counts the depth of a tree once per process. A parse in another
    thread, or in a finaliser, disturbs the count and raises SystemError
    (https://github.com/python/cpython/issues/106905). The next attempt starts to count afresh.

    Raises:
        SyntaxError, ValueError, RecursionError, MemoryError: as ``ast.parse``.
        SystemError: every attempt was disturbed.
    """

    def parse() -> ast.Module | ast.Expression:
        return ast.parse(source) if mode == "exec" else ast.parse(source, mode="eval")

    for _ in range(ATTEMPTS - 1):
        with suppress(SystemError):
            return parse()
    return parse()
