"""Syntax and data flow of Python code for CodeBLEU.

Ren et al. 2020, 3.2-3.3.
"""

from __future__ import annotations

import ast
from collections import Counter

#: A variable, how it comes about, and from what: variables numbered as they are met.
Flow = tuple[str, str, tuple[str, ...]]


def subtrees(tree: ast.AST) -> Counter[str]:
    """Count every subtree with children, as the types of its nodes; names and values are
    ignored.
    """
    found: Counter[str] = Counter()
    _shape(tree, found)
    return found


def _shape(node: ast.AST, found: Counter[str]) -> str:
    children = [
        _shape(child, found)
        for child in ast.iter_child_nodes(node)
        if not isinstance(child, ast.expr_context)
    ]
    shape = type(node).__name__
    if children:
        shape = f"({shape} {' '.join(children)})"
        found[shape] += 1
    return shape


def data_flow(tree: ast.AST) -> Counter[Flow]:
    """Count the sources of the value of each variable.

    ``comes``: the earlier binding of a use. ``computed``: the variables from which a binding is
    computed.
    """
    flow = _Flow()
    flow.visit(tree)
    numbers: dict[str, str] = {}
    found: Counter[Flow] = Counter()
    for name, how, sources in flow.edges:
        for each in (*sources, name):
            numbers.setdefault(each, f"var_{len(numbers)}")
        found[numbers[name], how, tuple(numbers[s] for s in sources)] += 1
    return found


class _Flow(ast.NodeVisitor):
    """Edges in the order of evaluation, as far as that is the order of the text."""

    def __init__(self) -> None:
        self.edges: list[Flow] = []
        self._bound: set[str] = set()

    def visit_Name(self, node: ast.Name) -> None:
        if not isinstance(node.ctx, ast.Load):
            self._bound.add(node.id)
        elif node.id in self._bound:
            self.edges.append((node.id, "comes", (node.id,)))

    def visit_arg(self, node: ast.arg) -> None:
        self._bound.add(node.arg)

    def _computed(self, targets: list[ast.expr], *values: ast.expr) -> None:
        for value in values:
            self.visit(value)
        read = [n.id for value in values for n in ast.walk(value) if isinstance(n, ast.Name)]
        sources = tuple(dict.fromkeys(name for name in read if name in self._bound))
        for target in targets:
            for name in ast.walk(target):
                if isinstance(name, ast.Name) and isinstance(name.ctx, ast.Store):
                    self.edges.append((name.id, "computed", sources))
            self.visit(target)

    def visit_Assign(self, node: ast.Assign) -> None:
        self._computed(node.targets, node.value)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self._computed([node.target], node.value)

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        before = node.target
        if isinstance(before, ast.Name):
            before = ast.Name(before.id, ast.Load())
        self._computed([node.target], before, node.value)

    def visit_NamedExpr(self, node: ast.NamedExpr) -> None:
        self._computed([node.target], node.value)

    def visit_For(self, node: ast.For | ast.AsyncFor) -> None:
        self._computed([node.target], node.iter)
        for statement in (*node.body, *node.orelse):
            self.visit(statement)

    visit_AsyncFor = visit_For

    def visit_withitem(self, node: ast.withitem) -> None:
        targets = [] if node.optional_vars is None else [node.optional_vars]
        self._computed(targets, node.context_expr)

    def visit_comprehension(self, node: ast.comprehension) -> None:
        self._computed([node.target], node.iter)
        for condition in node.ifs:
            self.visit(condition)

    def _comprehension(self, node: ast.ListComp | ast.SetComp | ast.GeneratorExp) -> None:
        for generator in node.generators:
            self.visit(generator)
        self.visit(node.elt)

    visit_ListComp = visit_SetComp = visit_GeneratorExp = _comprehension

    def visit_DictComp(self, node: ast.DictComp) -> None:
        for generator in node.generators:
            self.visit(generator)
        self.visit(node.key)
        self.visit(node.value)
