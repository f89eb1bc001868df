"""Normal form of Python code, equal under irrelevant differences.

It is parsed, never run or compiled.
"""

from __future__ import annotations

import ast
import textwrap
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, TypeAlias

from veridical.text.python_syntax import parse_python

#: Characters of code that is parsed, and how deep its brackets may lie in each other.
LONGEST, DEEPEST = 50_000, 90
#: By these a program can see what its variables are called.
_LOOKING = frozenset({"locals", "vars", "eval", "exec", "dir", "globals"})
_Function: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
_Comprehension: TypeAlias = ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
_TYPING = frozenset({"typing", "typing_extensions", "__future__"})


def parsed(code: str) -> ast.Module | None:
    """Parse Python code; None if it is invalid, or too long or deep."""
    if len(code) > LONGEST or _depth(code) > DEEPEST:
        return None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # warnings about escapes and the like in untrusted code
        try:
            return parse_python(code)
        except IndentationError:  # the body of a function alone, perhaps
            dedented = textwrap.dedent(code)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return None
        try:
            return parse_python(dedented)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return None


def _depth(code: str) -> int:
    """Return the maximum depth of nested brackets, including those in strings."""
    deepest = depth = 0
    for c in code:
        if c in "([{":
            depth += 1
            deepest = max(deepest, depth)
        elif c in ")]}":
            depth = max(depth - 1, 0)
    return deepest


@lru_cache(maxsize=256)
def python_form(code: str) -> str | None:
    """Return the normal form of Python code; None if invalid, empty if it does nothing.

    It is the syntax tree, so comments, layout, quotes and needless brackets are gone. Docstrings,
    annotations (except of classes, which dataclasses read), imports from ``typing``, and redundant
    ``pass`` are removed. Variables and parameters of functions are numbered in order of appearance.
    Names of modules and classes are kept. So are keyword names in calls, and keyword-only
    parameters. All names are kept if the code can inspect its variables (``locals``, ``eval``,
    ...).
    """
    tree = parsed(code)
    if tree is None:
        return None
    try:
        nodes = list(ast.walk(tree))
        tree = _Plain(docstrings=any(_name_of(n) == "__doc__" for n in nodes)).visit(tree)
        if not any(_name_of(n) in _LOOKING for n in nodes):
            keywords = {n.arg for n in nodes if isinstance(n, ast.keyword) and n.arg}
            _Renamer(keywords).visit(tree)
        return "" if not tree.body else ast.dump(tree, annotate_fields=False)
    except (RecursionError, ValueError):  # ValueError: a whole number of too many digits to print
        return None


def _name_of(node: ast.AST) -> str | None:
    if isinstance(node, ast.Name):
        return node.id
    return node.attr if isinstance(node, ast.Attribute) else None


class _Plain(ast.NodeTransformer):
    """Takes out what makes no difference."""

    def __init__(self, docstrings: bool) -> None:
        self._docstrings = docstrings
        self._in_class = False

    def generic_visit(self, node: ast.AST) -> ast.AST:
        super().generic_visit(node)
        for name in ("body", "orelse", "finalbody"):
            statements = getattr(node, name, None)
            if isinstance(statements, list):
                kept = [s for s in statements if not self._idle(s)]
                must = name == "body" and not isinstance(node, ast.Module)
                setattr(node, name, kept or ([ast.Pass()] if must else []))
        return node

    def _idle(self, statement: ast.stmt) -> bool:
        if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant):
            return not (self._docstrings and isinstance(statement.value.value, str))
        return isinstance(statement, ast.Pass)

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        outside, self._in_class = self._in_class, True
        self.generic_visit(node)
        self._in_class = outside
        return node

    def _function(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> ast.AST:
        outside, self._in_class = self._in_class, False
        node.returns = None
        self.generic_visit(node)
        self._in_class = outside
        return node

    visit_FunctionDef = _function
    visit_AsyncFunctionDef = _function

    def visit_arg(self, node: ast.arg) -> ast.AST:
        node.annotation = None
        return node

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST | None:
        if self._in_class:
            return self.generic_visit(node)
        if node.value is None:
            return None
        return self.generic_visit(ast.Assign([node.target], node.value, lineno=0))

    def visit_ImportFrom(self, node: ast.ImportFrom) -> ast.AST | None:
        return None if node.module in _TYPING and not node.level else node

    def visit_Constant(self, node: ast.Constant) -> ast.AST:
        node.kind = None
        return node


@dataclass
class _Scope:
    """Names that a function binds, and what they are called instead; None stays as it is.

    Of a class or module, whose names stay, ``names`` says which they are.
    """

    names: dict[str, str | None] = field(default_factory=dict)
    of_class: bool = False


class _Renamer(ast.NodeVisitor):
    """Numbers the local variables of a tree, in place."""

    def __init__(self, kept: set[str]) -> None:
        self._kept = kept
        self._scopes: list[_Scope] = []
        self._count = 0

    def _new(self, name: str) -> str:
        """Return the new name of ``name`` in the current scope."""
        for place, scope in enumerate(reversed(self._scopes)):
            if scope.of_class and place:
                continue  # functions in a class do not see its names
            if name in scope.names:
                new = scope.names[name]
                if new == "":
                    new = scope.names[name] = f"${self._count}"
                    self._count += 1
                return name if new is None else new
        return name

    def visit_Name(self, node: ast.Name) -> None:
        node.id = self._new(node.id)

    def visit_arg(self, node: ast.arg) -> None:
        node.arg = self._new(node.arg)

    def visit_ExceptHandler(self, node: ast.ExceptHandler) -> None:
        node.name = node.name and self._new(node.name)
        self.generic_visit(node)

    def visit_Nonlocal(self, node: ast.Nonlocal) -> None:
        node.names = sorted(map(self._new, node.names))

    def visit_Global(self, node: ast.Global) -> None:
        node.names = sorted(node.names)

    def visit_MatchAs(self, node: ast.MatchAs) -> None:
        node.name = node.name and self._new(node.name)
        self.generic_visit(node)

    def visit_MatchStar(self, node: ast.MatchStar) -> None:
        node.name = node.name and self._new(node.name)

    def visit_MatchMapping(self, node: ast.MatchMapping) -> None:
        self.generic_visit(node)
        node.rest = node.rest and self._new(node.rest)

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        node.name = self._new(node.name)
        self._all([*node.decorator_list, *node.bases, *node.keywords])
        names = dict.fromkeys(_bound(node.body))
        self._within(_Scope(dict(names), of_class=True), node.body)

    def _function(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        node.name = self._new(node.name)
        self._all(node.decorator_list)
        self._called(node, node.body)

    visit_FunctionDef = _function
    visit_AsyncFunctionDef = _function

    def visit_Lambda(self, node: ast.Lambda) -> None:
        self._called(node, [node.body])

    def _called(self, node: _Function, body: Sequence[ast.AST]) -> None:
        given = node.args
        self._all([d for d in (*given.defaults, *given.kw_defaults) if d is not None])
        by_place = [*given.posonlyargs, *given.args, given.vararg, given.kwarg]
        args = [a for a in by_place if a is not None]
        names = self._named([a.arg for a in args] + list(_bound(body)))
        names |= dict.fromkeys((a.arg for a in given.kwonlyargs), None)
        names |= dict.fromkeys(_imported(body), None)
        for name in _declared(body):
            names.pop(name, None)
        self._within(_Scope(names), [*args, *body])

    def _comprehension(self, node: _Comprehension) -> None:
        first, *others = node.generators
        self.visit(first.iter)
        targets = [name for g in node.generators for name in _bound([g.target])]
        inner: list[ast.AST] = [first.target, *first.ifs]
        for generator in others:
            inner += [generator.iter, generator.target, *generator.ifs]
        inner += [node.key, node.value] if isinstance(node, ast.DictComp) else [node.elt]
        self._within(_Scope(self._named(targets)), inner)

    visit_ListComp = visit_SetComp = visit_DictComp = visit_GeneratorExp = _comprehension

    def _named(self, names: Sequence[str]) -> dict[str, str | None]:
        """Map each of ``names`` to None, to be numbered on first use."""
        return {name: None if name in self._kept else "" for name in names}

    def _all(self, nodes: Sequence[ast.AST]) -> None:
        for node in nodes:
            self.visit(node)

    def _within(self, scope: _Scope, nodes: Sequence[ast.AST]) -> None:
        self._scopes.append(scope)
        self._all(nodes)
        self._scopes.pop()


def _own(nodes: Sequence[ast.AST]) -> Iterator[ast.AST]:
    """Yield all nodes below ``nodes`` in the same scope.

    Of an inner scope, its head; of a comprehension, the assignments that belong to the outer scope.
    """
    waiting = list(nodes)
    while waiting:
        node = waiting.pop()
        yield node
        if isinstance(node, (*_FUNCTIONS, ast.ClassDef)):
            continue
        if isinstance(node, _COMPREHENSIONS):
            waiting += [n.target for n in ast.walk(node) if isinstance(n, ast.NamedExpr)]
            continue
        waiting += ast.iter_child_nodes(node)


def _bound(nodes: Sequence[ast.AST]) -> Iterator[str]:
    """Yield names that ``nodes`` bind in their own scope, except imports."""
    for node in _own(nodes):
        name: Any = None
        if isinstance(node, ast.Name):
            name = None if isinstance(node.ctx, ast.Load) else node.id
        elif isinstance(node, (ast.MatchAs, ast.MatchStar, ast.ExceptHandler)):
            name = node.name
        elif isinstance(node, ast.MatchMapping):
            name = node.rest
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            name = node.name
        if name is not None:
            yield name


def _imported(nodes: Sequence[ast.AST]) -> Iterator[str]:
    for node in _own(nodes):
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            for alias in node.names:
                yield alias.asname or alias.name.partition(".")[0]


def _declared(nodes: Sequence[ast.AST]) -> Iterator[str]:
    """Yield names that are declared global or nonlocal."""
    for node in _own(nodes):
        if isinstance(node, (ast.Global, ast.Nonlocal)):
            yield from node.names
