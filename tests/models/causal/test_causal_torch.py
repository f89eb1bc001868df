"""Random GPT-2 and Llama checkpoints against a plain loop over transformers' own logits."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from causal_checkpoints import CHAT, KINDS, LENGTH, TEXTS, read, reference, save, tokenizer

from veridical.core.tokens import GivenText
from veridical.errors import ModelError, UsageError
from veridical.models.causal import load_language_model
from veridical.models.causal.torch import TorchLanguageModel

pytestmark = pytest.mark.torch
torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")


def loaded(folder: Path, **options: Any) -> TorchLanguageModel:
    return TorchLanguageModel(folder, device="cpu", **options)


@pytest.mark.parametrize("kind", KINDS)
def test_it_agrees_with_a_plain_loop(kind: str, tmp_path: Path) -> None:
    folder = save(tmp_path / "model", kind)
    made = tokenizer(kind)
    model = loaded(folder)
    texts = [GivenText(*t) for t in TEXTS]
    together, alone = read(model, texts), read(model, texts, batch=1)
    assert any(len(t.prompt) > 20 for t in texts)
    for given, one, other in zip(texts, together, alone, strict=True):
        whole = made.encode(given.prompt + given.text)  # with what the tokenizer itself adds
        ids = whole.ids if given.prompt or kind == "llama" else [0, *whole.ids]
        n = len(one)
        expected = reference(folder, ids[:-n], ids[-n:])
        for name, values in expected.items():
            np.testing.assert_allclose(getattr(one, name), values, atol=1e-4, rtol=0)
            np.testing.assert_allclose(getattr(one, name), getattr(other, name), atol=1e-5, rtol=0)
        assert one.starts[0] == 0 and one.ends[-1] == len(given.text)
        assert one.top.shape == (n, 20) and (np.diff(one.top, axis=1) <= 0).all()
    spread = np.concatenate([t.logprobs for t in together])
    assert spread.std() > 0.5  # the tokens are told apart


def test_a_long_text_is_read_with_what_precedes_each_window(tmp_path: Path) -> None:
    folder = save(tmp_path / "model", "llama")
    model = loaded(folder)
    given = GivenText("Question: why?\nAnswer:", " Paris is in France; nobody knows why." * 20)
    (windows,) = model.windows([given])
    assert len(windows) > 3 and all(w.length <= LENGTH for w in windows)
    (found,) = read(model, [given])
    assert found.ends[-1] == len(given.text) and (np.diff(found.ends) >= 0).all()
    ids = tokenizer("llama").encode(given.prompt + given.text).ids
    n = len(found)
    at = 0
    for window in windows:  # each scored token, given exactly the window's tokens before it
        piece = window.content
        scored = len(piece.ids) - piece.first
        place = len(ids) - n + at
        context = ids[place - (piece.first - 1) : place]
        expected = reference(folder, [1, *context], ids[place : place + scored])
        np.testing.assert_allclose(
            found.logprobs[at : at + scored], expected["logprobs"], atol=1e-4
        )
        at += scored
    assert at == n


def test_an_empty_text_has_no_tokens(tmp_path: Path) -> None:
    model = loaded(save(tmp_path / "model"))
    empty, other = read(model, [GivenText("Hi", ""), GivenText("Hi", " there")])
    assert len(empty) == 0 and empty.top.shape == (0, 20)
    assert len(other)


def test_chat_prompts_are_the_models_own(tmp_path: Path) -> None:
    messages = [{"role": "user", "content": [{"type": "text", "text": "Hi"}]}]
    model = loaded(save(tmp_path / "chat"))
    assert model.chat_prompt(messages) == "<|user|>Hi<|end|><|assistant|>"
    plain = loaded(save(tmp_path / "plain", chat=False))
    two = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hi"}]
    assert plain.chat_prompt(two) == "Be brief.\n\nHi\n\n"
    image = [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "x"}}]}]
    with pytest.raises(ModelError, match="images"):
        model.chat_prompt(image)
    broken = save(tmp_path / "broken")
    config = json.loads((broken / "tokenizer_config.json").read_text())
    config["chat_template"] = "{{ raise_exception('roles must take turns') }}"
    (broken / "tokenizer_config.json").write_text(json.dumps(config))
    with pytest.raises(ModelError, match="roles must take turns"):
        loaded(broken).chat_prompt(messages)


def test_revision_tells_models_apart(tmp_path: Path) -> None:
    one, two = save(tmp_path / "one"), save(tmp_path / "two", seed=1)
    assert loaded(one).revision == loaded(one).revision != loaded(two).revision
    assert loaded(one).revision != loaded(one, dtype="bfloat16").revision
    before = loaded(one).revision
    config = json.loads((one / "tokenizer_config.json").read_text())
    (one / "tokenizer_config.json").write_text(json.dumps(config | {"chat_template": CHAT + " "}))
    assert loaded(one).revision != before


def test_half_precision_is_near(tmp_path: Path) -> None:
    folder = save(tmp_path / "model")
    texts = [GivenText(*TEXTS[1])]
    (full,), (half,) = read(loaded(folder), texts), read(loaded(folder, dtype="bfloat16"), texts)
    np.testing.assert_allclose(half.logprobs, full.logprobs, atol=0.3)


def test_pickled_weights_are_never_read(tmp_path: Path) -> None:
    folder = save(tmp_path / "model")
    weights = transformers.AutoModelForCausalLM.from_pretrained(folder).state_dict()
    (folder / "model.safetensors").unlink()
    torch.save(weights, folder / "pytorch_model.bin")
    with pytest.raises(ModelError, match="cannot be loaded"):
        loaded(folder)


def test_what_is_no_causal_model_is_refused(tmp_path: Path) -> None:
    folder = save(tmp_path / "bert")
    (folder / "model.safetensors").unlink()
    size = tokenizer("gpt2").get_vocab_size()
    config = transformers.BertConfig(
        vocab_size=size, hidden_size=32, num_hidden_layers=2, num_attention_heads=4,
        intermediate_size=64, max_position_embeddings=LENGTH, initializer_range=0.4,
    )  # fmt: skip
    transformers.BertForMaskedLM(config).save_pretrained(folder)
    with pytest.raises(ModelError, match=r"attends to later tokens|no trained weights"):
        loaded(folder)


def test_a_model_without_its_output_layer_is_refused(tmp_path: Path) -> None:
    folder = save(tmp_path / "model", "llama")
    whole = transformers.AutoModelForCausalLM.from_pretrained(folder)
    whole.model.save_pretrained(folder)
    with pytest.raises(ModelError, match="no trained weights for lm_head"):
        loaded(folder)


def test_gguf_files_say_what_they_need(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "some.gguf").write_bytes(b"GGUF")
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(ModelError, match=r"requires gguf and accelerate; run: pip install"):
        load_language_model(f"torch:{tmp_path / 'some.gguf'}")


def test_specs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    folder = save(tmp_path / "model")
    model = load_language_model(f"torch:{folder}?dtype=bfloat16", device="cpu", threads=1)
    assert model.name == "model" and model.revision == loaded(folder, dtype="bfloat16").revision
    assert load_language_model(str(folder), device="cpu").revision == loaded(folder).revision
    with pytest.raises(UsageError, match="unknown option of a language model 'layer'"):
        load_language_model(f"torch:{folder}?layer=3")
    with pytest.raises(UsageError, match="no such model folder or GGUF file"):
        load_language_model("./nothing")
    with pytest.raises(UsageError, match="names no language model"):
        load_language_model("nothing")
    for spec in ("torch:", "torch:?dtype=bfloat16", ""):
        with pytest.raises(UsageError, match="has no model"):
            load_language_model(spec)
    (tmp_path / "page.gguf").write_text("<html>")
    with pytest.raises(UsageError, match="not a GGUF file"):
        load_language_model("page.gguf")
