from __future__ import annotations

import ast

import pytest

from veridical_lab.scorers.code.code_flow import data_flow, subtrees


def test_subtrees_by_hand() -> None:
    assert subtrees(ast.parse("x = y + 1")) == {
        "(BinOp Name Add Constant)": 1,
        "(Assign Name (BinOp Name Add Constant))": 1,
        "(Module (Assign Name (BinOp Name Add Constant)))": 1,
    }
    assert subtrees(ast.parse("a = 2")) == subtrees(ast.parse("b = 'x'"))  # names do not count


@pytest.mark.parametrize(
    ("code", "flow"),
    [
        ("a = 1\nb = a", {("var_0", "computed", ()): 1, ("var_0", "comes", ("var_0",)): 1,
                          ("var_1", "computed", ("var_0",)): 1}),
        ("a = 1\na += 2", {("var_0", "computed", ()): 1, ("var_0", "comes", ("var_0",)): 1,
                           ("var_0", "computed", ("var_0",)): 1}),
        ("for i in range(3): print(i)", {("var_0", "computed", ()): 1,
                                         ("var_0", "comes", ("var_0",)): 1}),
        ("def f(x):\n return x", {("var_0", "comes", ("var_0",)): 1}),
        ("y = [x for x in z]", {("var_0", "computed", ()): 1, ("var_0", "comes", ("var_0",)): 1,
                                ("var_1", "computed", ("var_0",)): 1}),
        ("print(1)", {}),
    ],
)  # fmt: skip
def test_flow_by_hand(code: str, flow: dict[object, int]) -> None:
    assert data_flow(ast.parse(code)) == flow


def test_flow_does_not_depend_on_names() -> None:
    one, other = "def f(a, b):\n c = a * b\n return c", "def g(x, y):\n z = x * y\n return z"
    assert data_flow(ast.parse(one)) == data_flow(ast.parse(other))
