"""Parser of scorer lists such as ``"cosine, ngram(n=2, stat=max)"``."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from typing import Any

from veridical.errors import UsageError
from veridical.text.python_syntax import parse_python


def read_calls(text: str) -> list[tuple[str, dict[str, Any]]]:
    """Read a comma-separated list of calls with literal or bare-word arguments.

    The text is parsed as Python syntax and never evaluated.

    Raises:
        UsageError: the text is not such a list.
    """
    source = f"[{text}\n]"
    try:
        tree = parse_python(source, mode="eval")
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise UsageError(
            f"cannot read scorers {text!r}: write names and calls separated by commas, like "
            '"cosine, ngram(n=2, stat=max)"; quote values with special characters'
        ) from None
    if not isinstance(tree.body, ast.List):
        raise UsageError(f"cannot read scorers {text!r}")
    calls: list[tuple[str, dict[str, Any]]] = []
    for node in tree.body.elts:
        if isinstance(node, ast.Name):
            calls.append((node.id, {}))
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and not node.args:
            arguments: dict[str, Any] = {}
            for k in node.keywords:
                if k.arg is None or k.arg in arguments:
                    raise UsageError(f"cannot read the arguments of {node.func.id!r}")
                arguments[k.arg] = _literal(k.value, source)
            calls.append((node.func.id, arguments))
        else:
            part = ast.get_source_segment(source, node)
            raise UsageError(f"cannot read scorer {part!r}: write name or name(parameter=value)")
    return calls


def refuse_duplicates(keys: Iterable[str]) -> None:
    """Check that no two keys are equal.

    Raises:
        UsageError: two scorers have one key.
    """
    seen: set[str] = set()
    for key in keys:
        if key in seen:
            raise UsageError(f"scorer {key!r} is named twice; name it once")
        seen.add(key)


def _literal(node: ast.expr, source: str) -> Any:
    if isinstance(node, ast.Constant):
        return node.value
    text = ast.get_source_segment(source, node) or ""
    words = {"true": True, "false": False, "none": None}
    if isinstance(node, ast.Name):
        return words.get(text, text)
    try:
        return ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return text  # a bare word such as org/model-name
