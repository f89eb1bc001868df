"""RepC from labelled pairs to verdicts, by a tiny causal model."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from commands import run_command
from repc_data import WORDS, pairs
from repc_data import model as tiny
from repc_data import states as plain

from veridical import claims
from veridical.core.protocols import LABELS
from veridical.engine.engine import Engine
from veridical.errors import ModelError, NotApplicable, UsageError
from veridical_lab.repc.model import read_repc

pytestmark = pytest.mark.torch
pytest.importorskip("torch")
pytest.importorskip("transformers")


def run(*arguments, cwd):
    return run_command(*arguments, cwd=cwd)


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A folder with a proxy, pairs, and RepC trained on them by the command."""
    folder = tmp_path_factory.mktemp("repc")
    tiny(folder / "proxy")
    pairs(folder / "nli.jsonl", n=400)
    pairs(folder / "dev.jsonl", n=60, seed=5)
    for layers, out in (("select", "repc.json"), ("ensemble", "ensemble.safetensors")):
        done = run(
            *("train", "repc", "nli.jsonl", "--proxy", "./proxy", "--layers", layers),
            *("--out", out, "--pairs", 120, "--test", "dev.jsonl", "--json", f"{layers}.told"),
            *("--bootstrap", 100),
            cwd=folder,
        )
        assert done.returncode == 0, done.stderr
    return folder


@pytest.mark.parametrize("layers", ["select", "ensemble"])
def test_figures(trained, layers):
    told = json.loads((trained / f"{layers}.told").read_text())
    assert told["n_train"] == 120 and set(told["profile"]) == {"1", "2", "3"}
    figures = {(r["part"], r["method"], r["metric"]): r for r in told["rows"]}
    assert {key[0] for key in figures} == {"held out", "dev.jsonl"}
    for part in ("held out", "dev.jsonl"):
        repc, majority = (figures[part, m, "accuracy"] for m in ("repc", "majority"))
        gain = figures[part, "difference", "accuracy"]
        assert repc["value"] > 0.9 > majority["value"]
        assert gain["value"] == pytest.approx(repc["value"] - majority["value"])
        assert gain["low"] <= gain["value"] <= gain["high"] and gain["low"] > 0
    rows = [json.loads(line) for line in (trained / "dev.jsonl").read_text().splitlines()]
    counts = np.unique([r["label"] for r in rows], return_counts=True)[1]
    assert figures["dev.jsonl", "majority", "accuracy"]["value"] == counts.max() / 60
    most = counts.max()
    assert figures["dev.jsonl", "majority", "macro_f1"]["value"] == pytest.approx(
        2 * most / (60 + most) / 3
    )
    model = read_repc(
        str(trained / ("repc.json" if layers == "select" else "ensemble.safetensors"))
    )
    best = max(told["profile"], key=lambda k: told["profile"][k])
    assert model.layers == ((int(best),) if layers == "select" else (1, 2, 3))


@pytest.mark.parametrize("file", ["repc.json", "ensemble.safetensors"])
def test_verdicts_are_those_of_the_models_own_states(trained, file):
    asked = [
        (f"{WORDS['entailment']} a", "Ada says 3."),
        (f"{WORDS['contradiction']} b", "Bob says 8."),
    ]
    path = str(trained / file)
    repc = read_repc(path)
    with Engine(store=None, processes=0) as engine:
        for claim, passage in asked:
            (verdict,) = claims.check(
                claim,
                passage,
                checker="repc",
                model=path,
                proxy=str(trained / "proxy"),
                engine=engine,
            )
            x = plain(trained / "proxy", passage, claim)[list(repc.layers)]
            (expected,) = repc.probabilities(x[None])
            found = [verdict.probabilities[name] for name in LABELS]
            np.testing.assert_allclose(found, expected, atol=1e-4)
        assert verdict.label == "contradiction"


def test_another_proxy_is_refused(trained, tmp_path):
    other = tiny(tmp_path / "other", seed=1)
    with pytest.raises(UsageError, match=r"was trained with the hidden states of \./proxy"):
        claims.check("a", "b", checker="repc", model=str(trained / "repc.json"), proxy=str(other))
    with pytest.raises(UsageError, match="name the trained model"):
        claims.check("a", "b", checker="repc", proxy=str(other))
    with pytest.raises(NotApplicable, match="no proxy was named"):
        claims.check("a", "b", checker="repc", model=str(trained / "repc.json"))
    with pytest.raises(ModelError, match=r"a text has .+ the model takes 1 to 320"):
        claims.check(
            "a" * 400,
            "b",
            checker="repc",
            model=str(trained / "repc.json"),
            proxy=str(trained / "proxy"),
        )


def test_as_a_scorer_planned_and_checked(trained):
    rows = [
        {"response": WORDS["contradiction"] + " a", "contexts": ["Ada says 1.", "Bob says 2."]},
        {"response": WORDS["entailment"] + " b", "contexts": ["Ada says 7."]},
        {"response": "<|endoftext|>", "contexts": ["Ada says <|endoftext|>"]},
        {"response": "x" * 900, "contexts": ["Ada says 1."]},
    ]
    (trained / "answers.jsonl").write_text("".join(json.dumps(r) + "\n" for r in rows))
    spec = "claims(checker=repc, extractor=response, model='repc.json')"
    given = ("answers.jsonl", "--scorers", spec, "--proxy", "./proxy", "--store", "none")
    done = run("plan", *given, "--json", "-", cwd=trained)
    assert done.returncode == 0, done.stderr
    (counted,) = json.loads(done.stdout)["models"]
    assert counted["roles"] == ["proxy ./proxy"] and counted["requests"] == 4
    done = run("check", *given, "--json", "-", cwd=trained)
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    scores = [next(iter(line["scores"].values())) for line in lines]
    # special tokens state nothing
    assert [s["status"] for s in scores] == ["scored", "scored", "not_applicable", "failed"]
    assert [s["units"][0]["label"] for s in scores[:2]] == ["contradiction", "entailment"]
    assert "the model takes 1 to 320" in scores[3]["reason"]
    assert "proxy:proxy@" in scores[0]["signature"] and "repc.json@" in scores[0]["signature"]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--out", "model.pkl"), "must end in .json or .safetensors"),
        (("--out", "nli.json"), "it is an input"),
        (("--out", "m.json", "--limit", "20"), "it needs 10 of each"),
        (("--out", "m.json", "--proxy", "no-such-model"), "no-such-model"),
        (("--out", "m.json", "--test", "none.jsonl"), "none.jsonl"),
    ],
)
def test_usage_errors(tmp_path, options, said):
    pairs(tmp_path / "nli.json", n=200)
    done = run("train", "repc", "nli.json", "--proxy", "nothing", *options, cwd=tmp_path)
    assert done.returncode == 1 and said in done.stderr and "Traceback" not in done.stderr
    assert [p.name for p in Path(tmp_path).iterdir() if p.is_file()] == ["nli.json"]


def test_help_shows_an_example(tmp_path):
    assert "repc" in run("train", "--help", cwd=tmp_path).stdout
    assert "repc.json" in run("train", "repc", "--help", cwd=tmp_path).stdout
