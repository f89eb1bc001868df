"""Python's parser, safe to call from several threads."""

from __future__ import annotations

import ast
import os
import threading
from contextlib import suppress
from typing import Literal, overload

#: Times a source is parsed before an error of CPython is passed on.
ATTEMPTS = 20
_ONE_AT_A_TIME = threading.RLock()


def _renew() -> None:
    global _ONE_AT_A_TIME
    _ONE_AT_A_TIME = threading.RLock()  # another thread may have held it at the fork


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew)


@overload
def parse_python(source: str, mode: Literal["exec"] = "exec") -> ast.Module: ...
@overload
def parse_python(source: str, mode: Literal["eval"]) -> ast.Expression: ...


def parse_python(
    source: str, mode: Literal["exec", "eval"] = "exec"
) -> ast.Module | ast.Expression:
    """Parse Python source, as ``ast.parse`` does, one thread at a time, and again if disturbed.

    CPython before 3.11.8 and 3.12.2 counts the depth of a tree once per process. A parse in another
    thread, or in a finaliser, disturbs the count and raises SystemError
    (https://github.com/python/cpython/issues/106905). The next attempt starts to count afresh.

    Raises:
        SyntaxError, ValueError, RecursionError, MemoryError: as ``ast.parse``.
        SystemError: every attempt was disturbed.
    """
    with _ONE_AT_A_TIME:
        for _ in range(ATTEMPTS - 1):
            with suppress(SystemError):
                return _parse(source, mode)
        return _parse(source, mode)


def _parse(source: str, mode: Literal["exec", "eval"]) -> ast.Module | ast.Expression:
    return ast.parse(source) if mode == "exec" else ast.parse(source, mode="eval")
