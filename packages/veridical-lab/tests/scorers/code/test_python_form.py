"""Normal forms of Python against programs of which a reader knows whether they do the same."""

from __future__ import annotations

import sys
import warnings

import pytest

from veridical_lab.scorers.code.python_form import LONGEST, python_form

SUM = "def f(a, b):\n    c = a + b\n    return c"
SAME = [
    (SUM, 'def f(x: int, y: int) -> int:\n    """Sum."""\n    z: int = (x + y)  # z\n    return z'),
    (SUM, "from typing import List\n" + SUM),
    ("def f(xs):\n return [x for x in xs]", "def f(v):\n return [i for i in v]"),
    ("f = lambda a: a", "f = lambda b: b"),
    (
        "def f(x):\n try:\n  g()\n except E as e:\n  h(e)",
        "def f(y):\n try:\n  g()\n except E as r:\n  h(r)",
    ),
    (
        "def f():\n n = 0\n def g():\n  nonlocal n\n  n += 1\n return g",
        "def f():\n m = 0\n def h():\n  nonlocal m\n  m += 1\n return h",
    ),
    ("def f(a):\n if (b := a): return b", "def f(x):\n if (y := x): return y"),
    (
        "def f(a):\n return [c for b in a if (c := b)]",
        "def f(x):\n return [z for y in x if (z := y)]",
    ),
    (
        "def f(a):\n match a:\n  case [b, *c]: return b, c",
        "def f(x):\n match x:\n  case [y, *z]: return y, z",
    ),
    ("if a:\n pass\n b()", "if a:\n b()\nelse:\n pass"),
    ("x = 'a' 'b'", 'x = "ab"'),
    ("    return a", "return a"),  # the body of a function alone
]
DIFFERENT = [
    (SUM, "def f(a, b):\n    c = a - b\n    return c"),
    (SUM, "def g(a, b):\n    c = a + b\n    return c"),  # its name is how it is called
    (SUM, "def f(a, b):\n    c = b + a\n    return c"),
    ("def f(*, a): return a", "def f(*, b): return b"),  # given by name alone
    (
        "def f():\n def g(a): return a\n return g(a=1)",
        "def f():\n def g(b): return b\n return g(a=1)",
    ),
    # a global is not the local variable of an inner function
    (
        "def f(x):\n g = lambda len: len\n return len(x)",
        "def f(x):\n g = lambda sum: sum\n return sum(x)",
    ),
    ("def f():\n a = 1\n return locals()", "def f():\n b = 1\n return locals()"),
    ("def f():\n global a\n a = 1", "def f():\n global b\n b = 1"),
    ("class A:\n x: int", "class A:\n x: str"),
    ("class A:\n x = 1", "class A:\n y = 1"),
    ("def f():\n import math\n return math.pi", "def f():\n import cmath\n return cmath.pi"),
    ("def f(a, b):\n return a", "def f(a, b):\n return b"),
    ("x = 1", "x = True"),
    ("def f():\n 'a'\n return f.__doc__", "def f():\n 'b'\n return f.__doc__"),
]


@pytest.mark.parametrize(("one", "other"), SAME)
def test_what_makes_no_difference(one: str, other: str) -> None:
    assert python_form(one) is not None
    assert python_form(one) == python_form(other)


@pytest.mark.parametrize(("one", "other"), DIFFERENT)
def test_what_makes_one(one: str, other: str) -> None:
    assert None not in (python_form(one), python_form(other))
    assert python_form(one) != python_form(other)


def test_code_that_does_nothing_is_empty() -> None:
    for code in ("", "# only this", '"""Doc."""', "pass"):
        assert python_form(code) == ""


@pytest.mark.parametrize(
    "code",
    [
        "def f(:",
        "Sure, here it is",
        "a\0b",
        "(" * 91 + ")" * 91,
        "x" * (LONGEST + 1),
        "-" * 40_000 + "1",
        "1" + "+1" * 20_000,
        "a" + ".b" * 20_000,
        "lambda:" * 7000 + "1",
    ],
)
def test_what_cannot_be_parsed_has_none(code: str) -> None:
    assert python_form(code) is None


def test_hostile_code_is_neither_run_nor_warned_of(capfd: pytest.CaptureFixture[str]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert python_form("x = '\\d'; 1 is 1") is not None
    assert python_form("import sys\nsys.exit(3)\nprint('run')") is not None
    assert python_form("raise SystemExit") is not None
    python_form("x = 0x" + "f" * 40_000)  # more digits than Python prints
    assert capfd.readouterr() == ("", "")
    assert "antigravity" not in sys.modules and python_form("import antigravity")
    assert "antigravity" not in sys.modules
