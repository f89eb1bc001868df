"""Importing the package is light: heavy libraries load when they are needed."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

HEAVY = (
    "numpy",
    "pydantic",
    "onnxruntime",
    "pandas",
    "scipy",
    "torch",
    "pyarrow",
    "httpx",
    "typer",
)


def run(code: str) -> str:
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout


def test_import_loads_nothing_heavy_and_takes_under_300_ms_of_cpu() -> None:
    code = (
        "import sys, time, json; before = set(sys.modules); t = time.process_time()\n"
        "import veridical\n"
        "spent = time.process_time() - t\n"
        f"print(json.dumps([spent, [m for m in {HEAVY!r} if m in set(sys.modules) - before]]))"
    )
    runs = [json.loads(run(code)) for _ in range(5)]
    assert all(loaded == [] for _, loaded in runs)
    assert min(spent for spent, _ in runs) < 0.3  # the others shared the processor


def test_checking_without_models_loads_no_model_library() -> None:
    code = (
        "import sys, json, veridical\n"
        "veridical.check([{'response': 'a', 'samples': ['a']}], preset='fast', processes=0)\n"
        "print(json.dumps([m for m in ('onnxruntime', 'torch', 'pandas', 'scipy', 'tokenizers')"
        " if m in sys.modules]))"
    )
    assert json.loads(run(code)) == []


@pytest.mark.parametrize(
    ("options", "most", "absent"),
    [
        (
            "contexts=['Hamlet is a play by William Shakespeare.']",
            228,
            "api llm prompts sampling stats io.source files.rundir report retrieval decide "
            "core.explain text.final_number text.structure.yaml_text text.values.answers",
        ),
        (
            "samples=['Shakespeare wrote it.'], scorers='ngram'",
            115,
            "api llm prompts sampling stats io.source claims ensembles engine.nli models.onnx",
        ),
    ],
    ids=["default", "ngram"],
)
def test_one_answer_loads_what_it_needs(options: str, most: int, absent: str) -> None:
    code = (
        "import sys, json, veridical\n"
        f"veridical.check_one('Shakespeare wrote Hamlet.', store=None, {options})\n"
        "print(json.dumps([m for m in sys.modules if m.partition('.')[0] == 'veridical']))"
    )
    loaded = json.loads(run(code))
    assert not {f"veridical.{name}" for name in absent.split()} & set(loaded)
    assert len(loaded) <= most, sorted(loaded)


def test_every_public_name_resolves() -> None:
    code = (
        "import veridical\n"
        "for name in veridical.__all__: getattr(veridical, name)\n"
        "try: veridical.nothing\n"
        "except AttributeError as e: print(e)"
    )
    assert "no attribute 'nothing'" in run(code)
