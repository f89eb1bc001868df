"""Random checkpoints of four architectures: torch and ONNX against transformers, pair by pair."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from nli_checkpoints import KINDS, PAIRS, THREE, TWO, export, judge, reference, save, tokenizer

from veridical.errors import ModelError, UsageError
from veridical.models import LABELS, load_nli
from veridical.models.nli import torch as back_end
from veridical.models.nli.onnx import OnnxNli
from veridical.models.nli.torch import TorchNli

pytestmark = pytest.mark.torch
torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")


def columns(rows: Any, names: tuple[str, ...]) -> Any:
    """Probabilities in the order of LABELS, by the names of the outputs."""
    lower = [n.lower() for n in names]
    return np.stack(
        [rows[:, lower.index(c)] if c in lower else np.zeros(len(rows)) for c in LABELS], axis=1
    )


@pytest.mark.parametrize("names", [THREE, TWO], ids=["three", "two"])
@pytest.mark.parametrize("kind", KINDS)
def test_torch_and_onnx_agree_with_a_plain_loop(
    kind: str, names: tuple[str, ...], tmp_path: Path
) -> None:
    folder = save(tmp_path / "model", kind, names)
    expected = columns(reference(folder, PAIRS), names)
    assert expected.std(axis=0)[[0, 2]].min() > 0.02  # the pairs are told apart
    labels = ",".join(names)
    model: Any = TorchNli(folder, device="cpu", labels=labels)
    assert model.contradicts
    np.testing.assert_allclose(judge(model, PAIRS), expected, atol=1e-4)
    np.testing.assert_allclose(judge(model, PAIRS, batch=1), expected, atol=1e-5)

    pytest.importorskip("onnx")
    exported: Any = load_nli(f"{export(folder)}?labels={labels}", threads=1)
    assert isinstance(exported, OnnxNli)
    np.testing.assert_allclose(judge(exported, PAIRS), expected, atol=1e-4)
    np.testing.assert_allclose(judge(exported, PAIRS, batch=1), expected, atol=1e-4)
    assert len({model.revision, exported.revision}) == 2


def test_temperature_divides_the_logits(tmp_path: Path) -> None:
    folder = save(tmp_path / "model")
    plain = reference(folder, PAIRS[:5])
    (folder / "calibration.json").write_text(json.dumps({"temperature": 2.5}))
    model = TorchNli(folder, device="cpu", labels=",".join(THREE))
    powers = plain ** (1 / 2.5)  # softmax(z / T) is softmax(z) ** (1 / T), scaled
    expected = columns(powers / powers.sum(axis=1, keepdims=True), THREE)
    np.testing.assert_allclose(judge(model, PAIRS[:5]), expected, atol=1e-5)


def test_long_pairs_are_windowed_and_merged(tmp_path: Path) -> None:
    folder = save(tmp_path / "model")
    model = TorchNli(folder, device="cpu", labels=",".join(THREE))
    long = " ".join(p + " " + h for p, h in PAIRS[:-2])
    (windows,) = model.windows([(long, "Paris is in France.")])
    assert len(windows) > 2 and all(w.length <= 256 for w in windows)
    outputs = np.stack(model.run(windows))
    (row,) = judge(model, [(long, "Paris is in France.")])
    assert row.sum() == pytest.approx(1, abs=1e-6)
    assert outputs[:, 0].min() <= row[0] <= outputs[:, 0].max() + 1e-6


def test_an_untrained_model_is_refused_unless_its_order_is_stated(tmp_path: Path) -> None:
    folder = save(tmp_path / "named")
    with pytest.raises(ModelError, match=r"do not fit its answers.*\?labels="):
        TorchNli(folder, device="cpu")
    unnamed = save(tmp_path / "unnamed", names=None)
    with pytest.raises(ModelError, match=r"'LABEL_0', 'LABEL_1', 'LABEL_2'.*set the order"):
        TorchNli(unnamed, device="cpu")
    two = save(tmp_path / "two", names=None, classes=2)
    with pytest.raises(ModelError, match="labels=entailment,contradiction"):
        TorchNli(two, device="cpu")
    one = save(tmp_path / "one", names=None, classes=1)
    with pytest.raises(ModelError, match="1 outputs; an NLI model has two or three"):
        TorchNli(one, device="cpu")
    with pytest.raises(ModelError, match="has 2 outputs, not one each for"):
        load_nli(f"torch:{two}?labels=entailment,neutral,contradiction")
    with pytest.raises(UsageError, match="classes in its own order"):
        load_nli(f"torch:{two}?labels=yes,no")


def test_rest_stands_as_neutral(tmp_path: Path) -> None:
    folder = save(tmp_path / "model", names=("entailment", "not_entailment"))
    model = load_nli(f"torch:{folder}?labels=not_entailment,entailment", device="cpu")
    assert not model.contradicts
    rows = reference(folder, PAIRS[:4])
    expected = np.stack([rows[:, 1], rows[:, 0], np.zeros(4)], axis=1)
    np.testing.assert_allclose(judge(model, PAIRS[:4]), expected, atol=1e-5)


def test_a_model_without_a_head_is_refused(tmp_path: Path) -> None:
    """transformers would give it a random one."""
    folder = save(tmp_path / "model")
    transformers.BertModel.from_pretrained(folder).save_pretrained(folder)
    with pytest.raises(ModelError, match=r"no trained weights for classifier\.bias"):
        TorchNli(folder, labels=",".join(THREE))


def test_code_in_a_model_folder_is_never_run(tmp_path: Path) -> None:
    folder = save(tmp_path / "model")
    config = json.loads((folder / "config.json").read_text())
    kinds = ("AutoConfig", "AutoModelForSequenceClassification")
    config |= {"model_type": "own", "auto_map": {k: f"own.{k}" for k in kinds}}
    (folder / "config.json").write_text(json.dumps(config))
    (folder / "own.py").write_text("raise SystemExit('code was run')")
    with pytest.raises(ModelError, match="requires its own code"):
        TorchNli(folder)


def test_a_folder_without_tokenizer_json_is_converted_by_transformers(tmp_path: Path) -> None:
    folder = save(tmp_path / "model")
    labels = ",".join(THREE)
    expected = judge(TorchNli(folder, device="cpu", labels=labels), PAIRS[:5])
    made = tokenizer("bert")
    (folder / "tokenizer.json").unlink()
    vocabulary = sorted(made.get_vocab().items(), key=lambda entry: entry[1])
    (folder / "vocab.txt").write_text("".join(f"{t}\n" for t, _ in vocabulary), "utf-8")
    found = judge(TorchNli(folder, device="cpu", labels=labels), PAIRS[:5])
    np.testing.assert_allclose(found, expected, atol=1e-6)


def test_lower_precision_is_near_and_told_apart(tmp_path: Path) -> None:
    folder, labels = save(tmp_path / "model"), ",".join(THREE)
    full = TorchNli(folder, device="cpu", labels=labels, threads=1)
    half = TorchNli(folder, device="cpu", labels=labels, dtype="bfloat16")
    assert full.revision != half.revision
    assert np.abs(judge(full, PAIRS) - judge(half, PAIRS)).mean() < 0.02


def test_fused_attention_on_a_gpu_only_where_it_is_installed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(transformers.utils, "is_flash_attn_2_available", lambda: False)
    assert not back_end._flash(transformers, transformers.BertConfig())
    monkeypatch.setattr(transformers.utils, "is_flash_attn_2_available", lambda: True)
    assert back_end._flash(transformers, transformers.ModernBertConfig())
    assert not back_end._flash(transformers, transformers.DebertaV2Config())


def test_missing_torch_names_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(ModelError, match=r"pip install torch transformers safetensors"):
        TorchNli("anything")
