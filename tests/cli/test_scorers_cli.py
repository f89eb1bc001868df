"""``veridical scorers``: by what is needed, in 80 columns, and each in full."""

from __future__ import annotations

import json
import shlex
from typing import Any

import pytest
from typer.testing import CliRunner

from veridical.cli.app import app
from veridical.core.registry import REGISTRY


@pytest.fixture(autouse=True)
def narrow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")


def run(*arguments: str) -> Any:
    return CliRunner().invoke(app, ["scorers", *arguments], prog_name="veridical")


def groups() -> dict[str, list[str]]:
    """Heading -> the lines of scorers under it."""
    by_title: dict[str, list[str]] = {}
    for line in run().output.splitlines():
        if line[:1] not in (" ", "*", "") and not line.startswith("veridical"):
            by_title[line] = []
        elif line[2:3].strip() and by_title:
            by_title[next(reversed(by_title))].append(line)
    return by_title


def test_the_list_fits_and_has_every_scorer() -> None:
    text = run().output
    assert max(map(len, text.splitlines())) <= 80 and "…" not in text and "\x1b" not in text
    listed = [line[2:].split()[0] for lines in groups().values() for line in lines]
    assert set(REGISTRY.names()) <= set(listed)


@pytest.mark.parametrize(
    ("title", "name", "cost"),
    [
        ("Contexts, samples", "claims", "NLI"),
        ("Contexts: ", "nli_grounding", "NLI"),
        ("Contexts: ", "hhem", "large NLI"),
        ("Samples: ", "selfcheck_nli", "NLI"),
        ("Samples: ", "exact_match", "instant"),
        ("Samples: ", "cosine", "embedding"),
        ("A reference", "rouge_l", "instant"),
        ("Log-probabilities", "perplexity", "log-probs"),
        ("An LLM", "judge", "LLM"),
        ("A file", "cascade", "as its parts"),
    ],
)
def test_scorers_stand_under_what_they_need(title: str, name: str, cost: str) -> None:
    (lines,) = (lines for heading, lines in groups().items() if heading.startswith(title))
    (line,) = (line for line in lines if line[2:].split()[0] == name)
    assert line[2:].split(maxsplit=1)[1].startswith(cost)


def test_those_of_the_default_are_marked() -> None:
    marked = {
        line[2:].split()[0] for lines in groups().values() for line in lines if line[0] == "*"
    }
    default = {s.name for s in REGISTRY.all() if "auto" in s.presets}
    assert default <= marked <= default | {"in"}


@pytest.mark.parametrize("name", REGISTRY.names())
def test_each_is_shown_in_full(name: str) -> None:
    done = run(name)
    assert done.exit_code == 0 and max(map(len, done.output.splitlines())) <= 80
    words = " ".join(done.output.split())
    declared = REGISTRY.get(name)
    documented = " ".join((declared.function.__doc__ or "").replace("``", "").split())
    assert documented in words and " ".join(declared.source.split()) in words
    for parameter in declared.parameters:
        assert f" {parameter} default " in words
    command = shlex.split(done.output.partition("\nExample\n")[2].replace("\\\n", ""))
    assert command[:3] == ["veridical", "check", "answers.jsonl"]
    if ".json" not in command[4]:
        (bound,) = REGISTRY.parse(command[4])
        assert bound.scorer.name == name


def test_parameters_have_defaults_and_ranges() -> None:
    words = " ".join(run("ngram").output.split())
    assert "stat default max; max, avg" in words
    assert "k default none; a number (at least 0, at most 1e+06) or none" in words
    assert "in-domain" in words and "larger is riskier" in words
    assert "3 values, each a number (at least 0, at most 1)" in " ".join(
        run("claims").output.split()
    )


def test_json_is_as_it_was_and_of_one_too() -> None:
    every = json.loads(run("--json").output)
    assert [entry["name"] for entry in every] == REGISTRY.names()
    (one,) = json.loads(run("ngram", "--json").output)
    assert one in every and one["parameters"]["n"] == 1


def test_unknown_names_are_met_with_near_ones() -> None:
    done = run("ngramm")
    assert "did you mean 'ngram'" in str(done.exception)
