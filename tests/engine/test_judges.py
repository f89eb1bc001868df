"""Models that are too small to judge, and are asked to."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from importlib import resources
from pathlib import Path

import pytest

import veridical
from veridical import Engine
from veridical.core.registry import REGISTRY
from veridical.engine.judges import warn_if_small, warn_of_small_judges
from veridical.engine.run import Task
from veridical.llm.endpoints import Endpoint
from veridical.llm.fake import FakeLlm
from veridical.notices import reset_warnings

ROWS = [{"prompt": "2 and 2?", "response": "It is 4.", "contexts": ["It is 4."], "samples": ["4."]}]


@pytest.fixture(autouse=True)
def untold() -> Iterator[None]:
    reset_warnings()
    yield
    reset_warnings()


def small(name: str = "qwen-0.5b") -> FakeLlm:
    """A script in the place of a model that runs here."""
    llm = FakeLlm("yes")
    llm.endpoint = replace(llm.endpoint, base_url=f"local:{name}", model=name)
    return llm


@pytest.mark.parametrize(
    ("scorers", "warns"),
    [
        ("judge", True),
        ("selfcheck_prompt", True),
        ("p_true", True),
        ("bsdetector", True),
        ("panel(judges='self')", True),
        ("verbalized", True),
        ("g_eval", True),
        ("claims(checker=llm)", True),
        ("claims(checker=llm_joint)", True),
        ("factscore", True),
        ("ensemble(judge=true)", True),
        ("claims(extractor=llm_triplets)", False),
        ("claims, ngram", False),
        ("factscore(checker=nli)", False),
    ],
)
def test_who_asks_for_verdicts(
    scorers: str, warns: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    with Engine(llm=small(), store=None) as engine:
        warn_of_small_judges(engine, Task(REGISTRY.parse(scorers)))
    told = capsys.readouterr().err
    assert ("warning: qwen-0.5b is too small to judge" in told) == warns
    assert ("llm=local:qwen-1.5b" in told) == warns


def test_a_template_of_ones_own(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    template = resources.files("veridical.prompts") / "likert.toml"
    (tmp_path / "mine.toml").write_bytes(template.read_bytes())
    with Engine(llm=small(), store=None) as engine:
        scorers = REGISTRY.parse(f"judge(template={str(tmp_path / 'mine.toml')!r})")
        warn_of_small_judges(engine, Task(scorers))
    assert "too small to judge" in capsys.readouterr().err


def test_in_the_place_of_the_nli_model(capsys: pytest.CaptureFixture[str]) -> None:
    with Engine(llm=small("smollm2"), nli="llm:fake", store=None) as engine:
        warn_of_small_judges(engine, Task(REGISTRY.parse("nli_grounding")))
    assert "smollm2 is too small to judge" in capsys.readouterr().err


def test_a_run_warns_once(capsys: pytest.CaptureFixture[str]) -> None:
    llm = small()
    for _ in range(2):
        veridical.check(ROWS, "judge, verbalized", llm=llm, store=None)
    assert capsys.readouterr().err.count("too small to judge") == 1


def test_answers_are_drawn_without_a_warning(capsys: pytest.CaptureFixture[str]) -> None:
    veridical.check([{"prompt": "2 and 2?"}], "ngram", llm=small(), samples=2, store=None)
    assert "small" not in capsys.readouterr().err


@pytest.mark.parametrize(
    "address", ["local:qwen-1.5b", "local:other.gguf", "http://127.0.0.1/v1", "fake:smollm2"]
)
def test_models_that_may_judge_or_are_not_known(
    address: str, capsys: pytest.CaptureFixture[str]
) -> None:
    warn_if_small(Endpoint("some", address, "m"))
    assert capsys.readouterr().err == ""


def test_without_an_llm_nobody_is_warned(capsys: pytest.CaptureFixture[str]) -> None:
    with Engine(store=None) as engine:
        warn_of_small_judges(engine, Task(REGISTRY.parse("judge")))
    assert capsys.readouterr().err == ""


def test_a_budget_without_an_llm_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    reset_warnings()
    rows = [{"response": "It is so.", "contexts": ["It is so."]}]
    veridical.check(rows, "support", store=None, budget=1.0).summary()
    told = capsys.readouterr().err
    assert "budget has no effect without an LLM; name one (llm=NAME)" in told
    veridical.check(rows, "support", store=None).summary()
    veridical.check(rows, "statement_judge", store=None, budget=1.0, llm=FakeLlm("Yes")).summary()
    assert "limits nothing" not in capsys.readouterr().err
