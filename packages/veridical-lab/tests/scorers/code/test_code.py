from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from veridical_lab.scorers.code.code import code_of, code_tokens, token_form


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("x = 1", "x = 1"),
        ("Here:\n```python\nx = 1\n```\nDone.", "x = 1"),
        ("```\na\n```\nand\n```\nb\n```", "a\nb"),
        ("```bash\nrun\n```\n```py\nx\n```", "x"),
        ("```bash\nrun\n```\n```\nx\n```", "x"),
        ("```bash\nrun\n```", "run"),
        ("~~~~python\n```\nx\n~~~\n~~~~", "```\nx\n~~~"),
        ("```python\nx = 1", "x = 1"),  # cut short
        ("```python\n```", ""),
        ("```Python\r\nx\r\n```\r\n", "x\r"),
        ("```{.python}\nx\n```", "x"),
    ],
)
def test_the_code_of_an_answer(text: str, code: str) -> None:
    assert code_of(text, "python") == code


def test_tokens() -> None:
    assert code_tokens('if a >= 1.5e-3: # b\n  s = "x # y"', "python") == [
        "if", "a", ">=", "1.5e-3", ":", "s", "=", '"x # y"',
    ]  # fmt: skip
    assert code_tokens("int a; // b\n/* c\n*/ a++; s = '//';", "java") == [
        "int", "a", ";", "a", "++", ";", "s", "=", "'//'", ";",
    ]  # fmt: skip
    assert code_tokens("SELECT A FROM t -- c\nWHERE b <> 'It''s A'", "sql") == [
        "select", "a", "from", "t", "where", "b", "<>", "'It''s A'",
    ]  # fmt: skip
    assert code_tokens("let s = `a\n// b`; x => y", "javascript")[3] == "`a\n// b`"


def test_forms_differ_only_in_what_counts() -> None:
    assert token_form("int a=1; // x", "c") == token_form("int a\n  = 1;", "c")
    assert token_form("int a=1;", "c") != token_form("int a=2;", "c")
    assert token_form("a = 'A'", "sql") != token_form("a = 'a'", "sql")
    assert token_form("# nothing\n\n", "python") == "" == token_form(" /* nothing", "java")
    # layout is syntax in Python alone
    one, two = "if a:\n  b\n  c(", "if a:\n  b\nc("
    assert token_form(one, "python") != token_form(two, "python")
    assert token_form(one, "python") == token_form("if a: # x\n\n  b\r\n  c(\n", "python")
    assert token_form(one, "java") == token_form(two, "java")


@given(st.text(alphabet="ab\"'`#/*-\\\n 1(", max_size=60))
def test_any_text_has_tokens_in_order(text: str) -> None:
    for language in ("python", "java", "javascript", "c", "sql"):
        at = 0
        for token in code_tokens(text, language):
            found = text.lower().find(token.lower(), at)
            assert found >= at and token.strip()
            at = found + len(token)
