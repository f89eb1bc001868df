"""Tiny random checkpoints of several architectures, saved by transformers itself: our torch and
ONNX encoders against a plain loop over single texts, and against sentence-transformers."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from veridical.core.protocols import Encoder
from veridical.errors import ModelError, UsageError
from veridical.models import load_encoder
from veridical.models.catalog import EMBEDDED
from veridical.models.onnx import OnnxEncoder
from veridical.models.torch import TorchEncoder

pytestmark = pytest.mark.torch
torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

TEXTS = ["Paris is in France.", "no", "The tower was finished in 1889, it is said, by many hands."]
SMALL = {"hidden_size": 32, "num_hidden_layers": 3, "num_attention_heads": 4}


def save(
    folder: Path, model: Any, pooling: dict[str, Any], *, dense: bool = False, end: bool = False
) -> Path:
    """A sentence-transformers folder around a random model, with the embedded tokenizer."""
    from safetensors.numpy import save_file

    model.save_pretrained(folder)
    tokenizer = json.loads((EMBEDDED / "tokenizer.json").read_text("utf-8"))
    if end:  # as decoder models have it: nothing before the text, an end token after it
        piece = {"SpecialToken": {"id": "[SEP]", "type_id": 0}}
        processor = tokenizer["post_processor"]
        processor["single"] = [{"Sequence": {"id": "A", "type_id": 0}}, piece]
    (folder / "tokenizer.json").write_text(json.dumps(tokenizer), "utf-8")
    names = {"pad_token": "[PAD]", "unk_token": "[UNK]", "eos_token": "[SEP]"}
    config = {"tokenizer_class": "PreTrainedTokenizerFast", "model_max_length": 64, **names}
    (folder / "tokenizer_config.json").write_text(json.dumps(config), "utf-8")
    kinds = ["Transformer", "Pooling", *(["Dense"] if dense else []), "Normalize"]
    paths = ["", "1_Pooling", *(["2_Dense"] if dense else []), "9_Normalize"]
    modules = [
        {"idx": i, "name": str(i), "path": p, "type": f"sentence_transformers.models.{k}"}
        for i, (k, p) in enumerate(zip(kinds, paths, strict=True))
    ]
    (folder / "modules.json").write_text(json.dumps(modules))
    (folder / "sentence_bert_config.json").write_text(json.dumps({"max_seq_length": 64}))
    (folder / "1_Pooling").mkdir()
    pooling = {"word_embedding_dimension": 32, **pooling}
    (folder / "1_Pooling/config.json").write_text(json.dumps(pooling))
    if dense:
        (folder / "2_Dense").mkdir()
        rng = np.random.default_rng(0)
        tensors = {
            "linear.weight": rng.standard_normal((12, 32), dtype=np.float32),
            "linear.bias": rng.standard_normal(12, dtype=np.float32),
        }
        save_file(tensors, folder / "2_Dense/model.safetensors")
        activation = "torch.nn.modules.activation.Tanh"
        head = {"in_features": 32, "out_features": 12, "bias": True}
        (folder / "2_Dense/config.json").write_text(
            json.dumps({**head, "activation_function": activation})
        )
    return folder


def bert() -> Any:
    torch.manual_seed(0)
    return transformers.BertModel(transformers.BertConfig(intermediate_size=64, **SMALL))


def decoder(kind: str, **options: Any) -> Any:
    torch.manual_seed(0)
    config = getattr(transformers, f"{kind}Config")(
        vocab_size=30522, intermediate_size=64, num_key_value_heads=2, **SMALL, **options
    )
    return getattr(transformers, f"{kind}Model")(config)


MODELS: dict[str, Callable[[Path], Path]] = {
    "bert-mean": lambda p: save(p, bert(), {"pooling_mode_mean_tokens": True}),
    "bert-cls-dense": lambda p: save(p, bert(), {"pooling_mode_cls_token": True}, dense=True),
    "bert-max": lambda p: save(p, bert(), {"pooling_mode": ["max", "weightedmean"]}),
    "mistral-last": lambda p: save(
        p, decoder("Mistral"), {"pooling_mode_lasttoken": True}, end=True
    ),
    "qwen2-mean-dense": lambda p: save(
        p, decoder("Qwen2"), {"pooling_mode_mean_tokens": True}, dense=True, end=True
    ),
    "qwen2-two-way": lambda p: save(
        p, decoder("Qwen2", is_causal=False), {"pooling_mode_lasttoken": True}, end=True
    ),
}


def vectors(encoder: Encoder, texts: list[str]) -> Any:
    windows = encoder.windows(texts)
    outputs = iter(encoder.run([w for ws in windows for w in ws], False))
    return np.stack(
        [encoder.assemble(ws, [next(outputs) for _ in ws], False).vector for ws in windows]
    )


@pytest.mark.parametrize("name", ["bert-mean", "bert-cls-dense", "bert-max", "mistral-last"])
def test_agrees_with_sentence_transformers(name: str, tmp_path: Path) -> None:
    library = pytest.importorskip("sentence_transformers")
    folder = MODELS[name](tmp_path)
    expected = library.SentenceTransformer(str(folder), device="cpu").encode(TEXTS)
    found = vectors(TorchEncoder(folder, device="cpu"), TEXTS)
    np.testing.assert_allclose(found, expected, atol=2e-6)


def test_loading_shows_no_bar_of_transformers(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    from transformers.utils import logging

    logging.enable_progress_bar()
    folder = MODELS["qwen2-two-way"](tmp_path)
    capfd.readouterr()
    TorchEncoder(folder, device="cpu")
    assert capfd.readouterr().err == ""
    assert logging.is_progress_bar_enabled()


@pytest.mark.parametrize("name", ["qwen2-mean-dense", "qwen2-two-way"])
def test_decoders_agree_with_a_plain_loop(name: str, tmp_path: Path) -> None:
    """One text at a time, without padding. transformers itself honours ``is_causal: false``."""
    from safetensors.numpy import load_file

    folder = MODELS[name](tmp_path)
    encoder = TorchEncoder(folder, device="cpu")
    model = transformers.AutoModel.from_pretrained(folder).eval()
    for (window,), found in zip(encoder.windows(TEXTS), vectors(encoder, TEXTS), strict=True):
        ids = torch.from_numpy(window.content.ids)[None]
        with torch.no_grad():
            hidden = model(ids, attention_mask=torch.ones_like(ids))[0][0].numpy()
        expected = hidden[-1]
        if name == "qwen2-mean-dense":
            head = load_file(folder / "2_Dense/model.safetensors")
            expected = np.tanh(head["linear.weight"] @ hidden.mean(0) + head["linear.bias"])
        np.testing.assert_allclose(found, expected / np.linalg.norm(expected), atol=2e-6)


def test_gte_and_stella_attend_both_ways_without_their_code(tmp_path: Path) -> None:
    (tmp_path / "said").mkdir()
    said = TorchEncoder(MODELS["qwen2-two-way"](tmp_path / "said"), device="cpu")
    folder = tmp_path / "shipped"
    folder.mkdir()
    save(folder, decoder("Qwen2"), {"pooling_mode_lasttoken": True}, end=True)
    config = json.loads((folder / "config.json").read_text())
    config.pop("is_causal", None)
    one_way = TorchEncoder(folder, device="cpu")
    config["auto_map"] = {"AutoModel": "modeling_qwen.Qwen2Model"}
    (folder / "config.json").write_text(json.dumps(config))
    (folder / "modeling_qwen.py").write_text("raise SystemExit('code was run')")
    expected = vectors(said, TEXTS)
    np.testing.assert_allclose(
        vectors(TorchEncoder(folder, device="cpu"), TEXTS), expected, atol=1e-6
    )
    assert np.abs(vectors(one_way, TEXTS) - expected).max() > 0.01


def test_agrees_with_a_plain_loop(tmp_path: Path) -> None:
    """Mean of the last hidden state of each text alone, and its token vectors."""
    folder = MODELS["bert-mean"](tmp_path)
    encoder = TorchEncoder(folder, device="cpu")
    model = transformers.AutoModel.from_pretrained(folder).eval()
    windows = [w for ws in encoder.windows(TEXTS) for w in ws]
    outputs = encoder.run(windows, True)
    for window, output in zip(windows, outputs, strict=True):
        with torch.no_grad():
            hidden = model(torch.from_numpy(window.content.ids)[None])[0][0].numpy()
        np.testing.assert_allclose(output.tokens, hidden, atol=1e-5)
        np.testing.assert_allclose(output.vector, hidden.mean(0), atol=1e-5)


def test_layer_is_the_hidden_state_of_that_layer(tmp_path: Path) -> None:
    folder = MODELS["bert-mean"](tmp_path)
    encoder = load_encoder(f"torch:{folder}?layer=2", device="cpu")
    model = transformers.AutoModel.from_pretrained(folder).eval()
    (windows,) = encoder.windows(TEXTS[:1])
    (output,) = encoder.run(windows, True)
    with torch.no_grad():
        ids = torch.from_numpy(windows[0].content.ids)[None]
        states = model(ids, output_hidden_states=True).hidden_states
    np.testing.assert_allclose(output.tokens, states[2][0].numpy(), atol=1e-5)
    assert encoder.revision != load_encoder(f"torch:{folder}", device="cpu").revision
    with pytest.raises(ModelError, match="layers 1 to 3"):
        load_encoder(f"torch:{folder}?layer=4")


@pytest.mark.parametrize("name", ["bert-mean", "bert-cls-dense", "bert-max"])
def test_onnx_export_gives_the_same(name: str, tmp_path: Path) -> None:
    pytest.importorskip("onnx")
    folder = MODELS[name](tmp_path)
    model = transformers.AutoModel.from_pretrained(folder, attn_implementation="eager").eval()

    class Hidden(torch.nn.Module):  # type: ignore[misc,name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.inner = model

        def forward(self, input_ids: Any, attention_mask: Any, token_type_ids: Any) -> Any:
            return self.inner(input_ids, attention_mask, token_type_ids).last_hidden_state

    ids = torch.ones(2, 8, dtype=torch.long)
    names = ["input_ids", "attention_mask", "token_type_ids"]
    axes = {n: {0: "b", 1: "s"} for n in [*names, "last_hidden_state"]}
    (folder / "onnx").mkdir()
    torch.onnx.export(
        Hidden().eval(),
        (ids, torch.ones_like(ids), torch.zeros_like(ids)),
        str(folder / "onnx/model.onnx"),
        input_names=names,
        output_names=["last_hidden_state"],
        dynamic_axes=axes,
        dynamo=False,
    )
    encoder = load_encoder(str(folder), threads=1)
    assert isinstance(encoder, OnnxEncoder)
    found = vectors(encoder, TEXTS)
    np.testing.assert_allclose(found, vectors(TorchEncoder(folder, device="cpu"), TEXTS), atol=1e-5)


def test_batch_composition_and_long_texts(tmp_path: Path) -> None:
    encoder = TorchEncoder(MODELS["mistral-last"](tmp_path), device="cpu")
    texts = [*TEXTS, " ".join(TEXTS * 12)]
    together = vectors(encoder, texts)
    for text, vector in zip(texts, together, strict=True):
        np.testing.assert_allclose(vectors(encoder, [text])[0], vector, atol=1e-5)
    (windows,) = encoder.windows([texts[-1]])
    assert len(windows) > 2
    assert all(w.content.ids[-1] == 102 for w in windows)  # each ends with the end token


def test_half_precision_is_near(tmp_path: Path) -> None:
    folder = MODELS["bert-mean"](tmp_path)
    full, half = TorchEncoder(folder, device="cpu"), TorchEncoder(folder, dtype="bfloat16")
    assert full.revision != half.revision
    cosines = (vectors(full, TEXTS) * vectors(half, TEXTS)).sum(1)
    assert cosines.min() > 0.999
    with pytest.raises(ModelError, match="unknown dtype"):
        TorchEncoder(folder, dtype="int8")


def test_code_in_a_model_folder_is_never_run(tmp_path: Path) -> None:
    folder = MODELS["bert-mean"](tmp_path)
    config = json.loads((folder / "config.json").read_text())
    config |= {
        "model_type": "own",
        "auto_map": {k: f"own.{k}" for k in ("AutoConfig", "AutoModel")},
    }
    (folder / "config.json").write_text(json.dumps(config))
    (folder / "own.py").write_text("raise SystemExit('code was run')")
    with pytest.raises(ModelError, match="requires its own code"):
        TorchEncoder(folder)


def test_pickled_weights_are_refused(tmp_path: Path) -> None:
    folder = MODELS["bert-mean"](tmp_path)
    torch.save(bert().state_dict(), folder / "pytorch_model.bin")
    (folder / "model.safetensors").unlink()
    with pytest.raises(ModelError, match="cannot be loaded"):
        TorchEncoder(folder)


def test_unknown_hub_id_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    import huggingface_hub.constants

    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)
    with pytest.raises(ModelError, match="could not be downloaded from the hub"):
        load_encoder("nobody/no-such-model")


def test_missing_torch_names_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(ModelError, match=r"pip install torch transformers safetensors"):
        TorchEncoder("anything")


def test_options_are_checked(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="not a number"):
        load_encoder(f"torch:{tmp_path}?layer=last")
