"""--precision is ``?precision=int8`` of the model, and refused where there is no such form."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command

import veridical
from veridical import UsageError
from veridical.cli.app import app
from veridical.cli.shard import RunShardsOptions, scoring_of
from veridical.engine.engine import Engine
from veridical.models import nli_in

ROWS = [
    {"response": "Rome is in Spain.", "contexts": ["Rome is the capital of Italy."]},
    {"response": "Rome is in Italy.", "contexts": ["Rome is the capital of Italy."]},
]


@pytest.fixture
def folder(tmp_path: Path) -> str:
    (tmp_path / "model.onnx").touch()
    return str(tmp_path)


def test_fast_is_int8_and_exact_float32(folder: str) -> None:
    assert nli_in("mini", "fast") == "mini?precision=int8"
    assert nli_in("auto", "fast") == "auto?precision=int8"
    assert nli_in("base?precision=int8", "fast") == "base?precision=int8"
    assert nli_in(folder, "fast") == f"{folder}?precision=int8"
    labels = f"onnx:{folder}?labels=a,b"
    assert nli_in(labels, "fast") == f"{labels}&precision=int8"
    for spec in ("mini", "torch:org/name", "tei:http://127.0.0.1:1", "hhem", "llm:NAME"):
        assert nli_in(spec, "exact") == spec
        assert nli_in(spec, "auto") == ("mini?precision=auto" if spec == "mini" else spec)
    for said in ("mini?precision=int8", "base?precision=float32", folder):
        assert nli_in(said, "auto") == said


@pytest.mark.parametrize(
    ("spec", "precision", "said"),
    [
        ("org/name", "fast", "'org/name' has no int8 form"),
        ("torch:org/name", "fast", "has no int8 form"),
        ("tei:http://127.0.0.1:1", "fast", "has no int8 form"),
        ("hhem", "fast", "'hhem' has no int8 form"),
        ("minicheck:org/name", "fast", "has no int8 form"),
        ("llm:NAME", "fast", "'llm:NAME' has no int8 form"),
        ("./no-such-folder", "fast", "no such model folder"),
        ("mini?precision=int8", "exact", "precision=exact is float32, and 'veridical-nli-mini?p"),
        ("mini?precision=float32", "fast", "precision=fast is int8"),
        ("mini", "quick", "unknown precision 'quick'"),
    ],
)
def test_what_has_no_such_form_is_refused_when_the_engine_is_made(
    spec: str, precision: Any, said: str
) -> None:
    with pytest.raises(UsageError) as refused:
        Engine(nli=spec, precision=precision, store=None, processes=0)
    assert said in str(refused.value)


def test_results_of_one_precision_are_never_given_for_the_other(tmp_path: Path) -> None:
    store = tmp_path / "store"

    def risks(**options: Any) -> tuple[list[float | None], str]:
        results = veridical.check(ROWS, "nli_grounding", nli="mini", processes=0, **options)
        (score,) = {r.scores["nli_grounding"].signature for r in results}
        assert score is not None
        return [r.risk for r in results], score

    exact, fast = risks(store=None, precision="exact"), risks(store=None, precision="fast")
    assert "|nli:veridical-nli-mini@int8-" in fast[1] and risks(store=None) == fast
    assert exact[1] != fast[1] and exact[0] != fast[0]
    assert exact[0] == pytest.approx(fast[0], abs=0.1)
    out = tmp_path / "run"
    assert risks(store=store, out=out, precision="exact") == exact
    assert risks(store=store, precision="fast") == fast
    assert risks(store=store, precision="exact") == exact
    with pytest.raises(UsageError, match="differences: models"):
        risks(store=store, precision="fast", out=out)
    spelt = veridical.check(
        ROWS, "nli_grounding", nli="mini?precision=int8", processes=0, store=None
    )
    assert ([r.risk for r in spelt], spelt[0].scores["nli_grounding"].signature) == fast


def test_of_a_model_that_claims_name_it_is_not() -> None:
    with pytest.raises(UsageError, match="with nli=NAME, set it in NAME"):
        veridical.claims.check(["Rome."], ["Rome."], nli="mini", precision="fast")


def test_all_commands_with_nli_have_it() -> None:
    found = []

    def look(command: Any) -> None:
        options = {flag for parameter in command.params for flag in parameter.opts}
        if "--nli" in options:
            found.append(command.name)
            assert "--precision" in options, command.name
        for inner in getattr(command, "commands", {}).values():
            look(inner)

    look(get_command(app))
    assert {"check", "plan", "serve", "bench", "tune", "run"} <= {*found}
    assert scoring_of(RunShardsOptions(dest="x", precision="fast")) == {"precision": "fast"}
