"""Style of docstrings, help, messages, comments, pages and commit subjects."""

from __future__ import annotations

import json

import pytest

import voice


def rules(source: str) -> list[str]:
    """The rules that a module's source breaks, in order."""
    return [v.rule for v in voice.check_python("src/veridical/x.py", source)]


def function(docstring: str, decorator: str = "") -> list[str]:
    return rules(f'{decorator}\ndef f():\n    """{docstring}"""\n')


def test_no_part_has_more_violations_than_it_is_allowed() -> None:
    allowed = json.loads(voice.ALLOWED.read_text("utf-8"))
    over = {n: (c, allowed.get(n, 0)) for n, c in voice.counts().items() if c > allowed.get(n, 0)}
    assert over == {}, "more violations (found, allowed); list them: python tests/voice.py PATH"


def test_commit_subjects_are_short() -> None:
    found = voice.long_subjects()
    if found is None:
        pytest.skip(f"NOT CHECKED: commit subjects, the history has no {voice.FIRST_COMMIT}")
    assert found == []


@pytest.mark.parametrize(
    "docstring",
    [
        "Return True if the scorer requests a verdict from an LLM.",
        "Parse a verdict from free text; ambiguous replies yield no verdict.",
        "Score each sentence of the response.",
        "Count the tokens of a text.",
        "Address one shard.",
        "Position the cursor.",
        "See :func:`check`.",
        "Fine-tune the encoder on labelled pairs.",
        "Raise the limit.",
    ],
)
def test_imperatives_pass(docstring: str) -> None:
    assert function(docstring) == []


@pytest.mark.parametrize(
    ("docstring", "rule"),
    [
        ("Whether the scorer requests a verdict.", "opening"),
        ("What a text says.", "opening"),
        ("Of each answer, its risk.", "opening"),
        ("How many tokens a text has.", "opening"),
        ("The tokens of a text.", "imperative"),
        ("A record of one row.", "imperative"),
        ("Returns the tokens.", "imperative"),
        ("Tokens of a text.", "imperative"),
        ("Probability of a claim.", "imperative"),
        ("(n, 3) probabilities.", "imperative"),
        ("``text`` in lower case.", "imperative"),
    ],
)
def test_other_openings_of_functions_are_found(docstring: str, rule: str) -> None:
    assert function(docstring) == [rule]


def test_properties_classes_and_modules_are_nouns() -> None:
    assert function("The tokens of the text.", "@property") == []
    assert function("Whether it ended.", "@property") == ["opening"]
    assert rules('"""Call scheduling for endpoints with limited concurrency."""') == []
    assert rules('class A:\n    """The retry policy of an endpoint."""') == []
    assert rules('class A:\n    x: int\n    """Number of calls."""') == []
    assert rules('class A:\n    x: int\n    """How many calls."""') == ["opening"]
    assert rules("#: What is left out.\nX = 1") == ["opening"]


def test_summaries_and_sentences_are_short() -> None:
    words = "word " * 12
    assert rules(f'"""Module {words}."""') == ["summary"]
    assert rules(f'class A:\n    """Class {words}."""') == []
    assert rules(f'class A:\n    """Class {words}{words}."""') == ["summary"]
    assert function(f"Return {words}{words}.") == ["sentence"]
    assert function(f"Return {words}. Return {words}.") == []
    assert function(f"Return one.\n\n    >>> {words}{words}\n") == []
    assert rules(f"x = Option(help='Number {words}{words}.')") == ["sentence"]
    listing = ", ".join(f"`name` {n}.5" for n in range(13))
    assert not list(voice.check_page("a.md", f"Mean ranks: {listing}.\n\n::: {words * 3}\n"))
    page = f"# Title\n\n```\n{words * 3}\n```\n\nOne.\n\n{words * 3}\nmore.\n"
    assert [(v.line, v.rule) for v in voice.check_page("a.md", page)] == [(9, "sentence")]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("the risk that is told", True),
        ("the run is gone on with", True),
        ("238 lives written by GPT-3", True),
        ("labels by people", True),
        ("a text that is no run", True),
        ("there is none", True),
        ("used in the place of a model", True),
        ("a folder beside the run", True),
        ("all but for the last", True),
        ("the risk that is reported", False),
        ("the run is resumed", False),
        ("this is no longer needed", False),
        ("none of them, not one", False),
        ("`told` is a name in code", False),
        ("it stands for a number", False),
        ("he lives in Leeds", False),
    ],
)
def test_house_words_are_found_in_every_kind_of_text(text: str, found: bool) -> None:
    expected = ["word"] * found
    assert rules(f"# {text}\nx = 1") == expected
    assert rules(f'raise Error("{text} here")') == expected
    assert rules(f'raise Error(f"{{x}} {text} {{y}}")') == expected
    assert function(f"Return {text}.") == expected
    assert [v.rule for v in voice.check_page("a.md", f"The case: {text}.\n")] == expected


def test_trailing_comments_and_fields_are_sentences_of_their_own() -> None:
    words = "word " * 14
    assert rules(f"x = 1  # {words}\ny = 2  # {words}") == []
    assert rules(f"x = 1  # {words}\n       # {words}") == ["sentence"]
    assert rules(f"x = 1  # {words}\n#: {words}\ny = 2") == []
    assert rules(f"if x:\n    # {words}\n    # {words}\n    y = 1") == ["sentence"]
    assert function(f"Return one.\n\n    a: {words}\n    b, c: {words}\n") == []


def test_vocabulary_is_not_a_message() -> None:
    words = "'he told nobody else'"
    assert rules(f"x = _set({words})") == []
    assert rules(f"x = {words}") == ["word"] * 2
    assert rules("x = r'(?:he told|she told) no one'") == []
    assert rules("x = rf'{a} told|tells {b}'") == []
    assert list(voice.check_python("src/veridical/x_words.py", f"x = {words}")) == []
    assert [v.rule for v in voice.check_python("src/x_words.py", f"# {words}")] == ["word"] * 2


def test_private_metaphors_are_no_class_names() -> None:
    assert rules("class PayPurse: ...\nclass After: ...") == ["class name"] * 2
    assert rules("class CostLimit: ...\nclass Table: ...\nclass AfterRun: ...") == []


def test_each_part_has_its_own_allowance() -> None:
    named = {
        "src/veridical/text/words.py": "src/veridical/text",
        "src/veridical/errors.py": "src/veridical",
        "packages/veridical-lab/src/veridical_lab/bench/runner.py":
            "packages/veridical-lab/src/veridical_lab/bench",
        "docs/guide.md": "docs",
        "docs/cli/check.md": "docs/cli",
        "README.md": "README.md",
        "training/nli.py": "training",
    }  # fmt: skip
    assert {file: voice.package(file) for file in named} == named
