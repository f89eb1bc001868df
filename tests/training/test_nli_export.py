"""The packaged form of a checkpoint: the same numbers as in torch, by ONNX Runtime alone."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from nli_checkpoints import tokenizer
from training_scripts import checkpoint, training_script

from veridical.core.protocols import LABELS, Pair
from veridical.models.nli.onnx import OnnxNli
from veridical.text.words import lettered_spans

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")
pytest.importorskip("onnx")
pytestmark = pytest.mark.torch

PREMISE = "The tower was finished in 1889, it is said, by many hands."
HYPOTHESIS = "The tower wasn't finished in Paris, in 1889."


@pytest.fixture
def module() -> Iterator[ModuleType]:
    with training_script("nli_export") as found:
        yield found


@pytest.mark.parametrize(("kind", "narrow"), [("mpnet", False), ("mpnet", True), ("bert", False)])
def test_the_graph_gives_the_numbers_of_torch(
    kind: str, narrow: bool, module: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("onnx_weights.MIN_ELEMENTS", 10**9)  # nothing is rounded
    model = checkpoint(tmp_path, kind, words=True, narrow=narrow)
    monkeypatch.setattr(
        sys, "argv", ["nli_export", *map(str, (tmp_path / "checkpoint", tmp_path / "packaged"))]
    )
    module.main()
    packaged = OnnxNli(tmp_path / "packaged", labels=",".join(LABELS), threads=1)
    assert packaged.tells_words
    pairs = [Pair(PREMISE, HYPOTHESIS), Pair("Paris is in France.", PREMISE), Pair("no", "no")]
    windows = packaged.windows(pairs)
    outputs = iter(packaged.run([w for own in windows for w in own]))  # padded together
    for pair, own in zip(pairs, windows, strict=True):
        found = packaged.assemble(own, [next(outputs) for _ in own])
        encoded = tokenizer("roberta" if kind == "mpnet" else "bert").encode(*pair)
        inputs = {"input_ids": torch.tensor([encoded.ids])}
        inputs["attention_mask"] = torch.ones_like(inputs["input_ids"])
        if kind == "bert":
            inputs["token_type_ids"] = torch.tensor([encoded.type_ids])
        with torch.inference_mode():
            logits, odds = model(**inputs)
        np.testing.assert_allclose(found[:3], torch.softmax(logits[0] / 1.5, 0), atol=1e-5)
        for place, span in enumerate(lettered_spans(pair.hypothesis)):
            risks = [
                float(torch.sigmoid(odds[0, i]))
                for i, (part, (a, b)) in enumerate(
                    zip(encoded.sequence_ids, encoded.offsets, strict=True)
                )
                if part == 1 and a < span.end and b > span.start
            ]
            assert found[3 + place] == pytest.approx(max(risks), abs=1e-5), span


def test_what_is_packaged_is_checked(
    module: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    """Rounded weights are compared with the checkpoint's before anything is written."""
    monkeypatch.setattr("onnx_weights.MIN_ELEMENTS", 1000)
    checkpoint(tmp_path, "mpnet", words=False)
    pairs = tmp_path / "pairs.jsonl"
    rows = [
        {"premise": p, "hypothesis": h, "label": "neutral"}
        for p in (PREMISE, "Paris is in France.")
        for h in (HYPOTHESIS, "Nobody knows why.", "The Seine runs through Paris.")
    ]
    pairs.write_text("".join(json.dumps(row) + "\n" for row in rows))
    out = tmp_path / "packaged"
    arguments = [*map(str, (tmp_path / "checkpoint", out)), "--pairs", str(pairs)]
    monkeypatch.setattr(sys, "argv", ["nli_export", *arguments])
    monkeypatch.setattr(module, "MEAN_SHIFT", 0.0)
    with pytest.raises(SystemExit, match="too far from the checkpoint"):
        module.main()
    assert not out.exists() and "6 pairs: same label" in capsys.readouterr().out
    monkeypatch.setattr(module, "MEAN_SHIFT", 0.05)
    monkeypatch.setattr(module, "SAME_LABEL", 0.5)
    module.main()
    assert not OnnxNli(out, labels=",".join(LABELS)).tells_words  # its words are not trained
    nearest = (out / "model.onnx").read_bytes()
    monkeypatch.setattr(sys, "argv", ["nli_export", *arguments, "--stochastic"])
    module.main()
    assert (out / "model.onnx").read_bytes() != nearest
    sums = dict(reversed(line.split()) for line in (out / "SHA256SUMS").read_text().splitlines())
    assert set(sums) == {p.name for p in out.iterdir()} - {"SHA256SUMS"}
    assert {*module.FILES} - {"ranges.npz"} <= set(sums)  # the 8-bit form of noise need not agree
    small = (out / "model.onnx").stat().st_size
    assert small < (tmp_path / "checkpoint/model.safetensors").stat().st_size / 2


def test_rounding_by_chance_keeps_what_was_learnt_since(module: ModuleType) -> None:
    """Weights of a grid, each moved by a fifth of a step: the nearest are those of before."""
    from onnx_weights import quantise  # type: ignore[import-not-found]

    steps = np.random.default_rng(1).integers(-100, 101, (64, 500)).astype(np.float32)
    steps[0] = 127  # which holds the scale where it is
    moved = steps + 0.2
    moved[0] = 127
    nearest, scale = quantise(moved, axis=0)
    assert np.allclose(scale, 1) and (nearest == steps).all()
    drawn, scale = quantise(moved, axis=0, chance=np.random.default_rng(0))
    assert np.allclose(scale, 1) and np.abs(drawn - moved).max() < 1 and (drawn[0] == 127).all()
    assert float((drawn[1:] - steps[1:]).mean()) == pytest.approx(0.2, abs=0.01)
    again, _ = quantise(moved, axis=0, chance=np.random.default_rng(0))
    assert (again == drawn).all()


def test_other_architectures_are_refused(module: ModuleType) -> None:
    from types import SimpleNamespace

    from nli_graph import graph_of  # type: ignore[import-not-found]

    reader = SimpleNamespace(classifier=SimpleNamespace(config=SimpleNamespace(model_type="t5")))
    with pytest.raises(SystemExit, match="of type t5 cannot be exported"):
        graph_of(reader)
