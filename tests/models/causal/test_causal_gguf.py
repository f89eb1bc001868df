"""Tiny GGUF models against a plain loop in float64, and SmolLM2 against transformers."""

from __future__ import annotations

import importlib.util
import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import gguf_files
import numpy as np
import pytest
from causal_checkpoints import CHAT, TEXTS, read, tokenizer
from gguf_files import CONTEXT, F32, KINDS, Q8_0, save

from veridical.core.tokens import GivenText
from veridical.errors import ModelError, UsageError
from veridical.models.causal import load_language_model
from veridical.models.causal.gguf import GgufLanguageModel
from veridical.weights import download

LONG = " Paris is in France; nobody knows why." * 12


def loaded(path: Path, **options: Any) -> GgufLanguageModel:
    return GgufLanguageModel(path, threads=1, **options)


def told(logs: np.ndarray, ids: list[int]) -> dict[str, np.ndarray]:
    """What is made of ``ids``, from log-probabilities of what stands at their places."""
    return {
        "logprobs": logs[np.arange(len(ids)), ids],
        "entropy": -(np.exp(logs) * logs).sum(axis=1),
        "lowest": logs.min(axis=1),
        "top": -np.sort(-logs, axis=1)[:, :20],
    }


@pytest.mark.parametrize("packing", [F32, Q8_0])
@pytest.mark.parametrize("kind", KINDS)
def test_it_agrees_with_a_plain_loop(kind: str, packing: int, tmp_path: Path) -> None:
    model = loaded(save(tmp_path / "m.gguf", kind, packing=packing))
    made = tokenizer("gpt2")
    found, expected = [], []
    for prompt, text in [*TEXTS, ("Nobody knows" + LONG[:90], " why, it is said.")]:
        (one,) = read(model, [GivenText(prompt, text)])
        ids = made.encode(prompt + text).ids
        ids = ids if prompt else [0, *ids]  # EOS begins a text where a model has no BOS
        logs, _ = gguf_files.reference(kind, ids, packing=packing)
        n = len(one)
        found.append(one)
        expected.append(told(logs[-n - 1 : -1], ids[-n:]))
        assert one.starts[0] == 0 and one.ends[-1] == len(text)
        assert (np.diff(one.starts) >= 0).all() and (np.diff(one.ends) >= 0).all()
    spread = np.concatenate([t["logprobs"] for t in expected]).std()
    assert spread > 1
    for name in ("logprobs", "entropy", "lowest", "top"):
        ours = np.concatenate([getattr(t, name).ravel() for t in found])
        theirs = np.concatenate([t[name].ravel() for t in expected])
        # inputs and weights are rounded to 127 steps either way, eight times one after another
        assert np.abs(ours - theirs).mean() < 0.03 * spread, name
        assert np.corrcoef(ours, theirs)[0, 1] > 0.998, name


def test_an_output_layer_may_be_the_embeddings(tmp_path: Path) -> None:
    model = loaded(save(tmp_path / "m.gguf", without=("output.weight",)))
    (one,) = read(model, [GivenText("Paris", " is in France.")])
    ids = tokenizer("gpt2").encode("Paris is in France.").ids
    logs, _ = gguf_files.reference("llama", ids, tied=True)
    expected = told(logs[-len(one) - 1 : -1], ids[-len(one) :])
    spread = expected["logprobs"].std()
    np.testing.assert_allclose(one.logprobs, expected["logprobs"], atol=0.1 * spread)


def test_numbers_do_not_depend_on_what_was_read_before(tmp_path: Path) -> None:
    model = loaded(save(tmp_path / "m.gguf", "qwen2"))
    prompt = "Question: Where is Timbuktu?" + LONG[:120]
    texts = [GivenText(prompt, t) for t in (" In Mali.", " In France.", " why", " In Mali, it is")]
    texts += [GivenText("", t.text) for t in texts]
    together = read(model, texts)
    for given, one in zip(texts, together, strict=True):
        (alone,) = read(loaded(tmp_path / "m.gguf"), [given])
        for name in ("logprobs", "entropy", "lowest", "top"):
            np.testing.assert_allclose(getattr(one, name), getattr(alone, name), atol=1e-5)


def test_what_texts_begin_with_is_read_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = loaded(save(tmp_path / "m.gguf"))
    lengths: list[int] = []
    forward = model._model.read

    def counted(vectors: Any, past: Any) -> Any:
        lengths.append(len(vectors))
        return forward(vectors, past)

    monkeypatch.setattr(model._model, "read", counted)
    texts = [GivenText(LONG[:100], t) for t in (" In Mali.", " why, it is", " In France.")]
    windows = sorted((w for ws in model.windows(texts) for w in ws), key=model.order)
    model.run(windows)
    prompt = len(tokenizer("gpt2").encode(LONG[:100]).ids)
    assert lengths[0] == windows[0].length
    assert all(n <= w.length - prompt + 1 for n, w in zip(lengths[1:], windows[1:], strict=True))
    saved = [model.shared(a, b) for a, b in pairwise(windows)]
    assert lengths[1:] == [w.length - s for w, s in zip(windows[1:], saved, strict=True)]
    assert [windows.index(w) for w in sorted(windows, key=model.order)] == [0, 1, 2]


def test_a_forward_that_fails_leaves_nothing_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = loaded(save(tmp_path / "m.gguf"))
    texts = [GivenText("Paris is", " in France."), GivenText("Paris is", " in Mali.")]
    expected = read(loaded(tmp_path / "m.gguf"), texts)
    with monkeypatch.context() as patch:
        patch.setattr(model._model, "read", lambda *_: (_ for _ in ()).throw(MemoryError("full")))
        with pytest.raises(MemoryError):
            read(model, texts)
    for one, other in zip(read(model, texts), expected, strict=True):
        np.testing.assert_array_equal(one.logprobs, other.logprobs)


def test_a_long_text_is_read_with_what_precedes_each_window(tmp_path: Path) -> None:
    model = loaded(save(tmp_path / "m.gguf"))
    given = GivenText("Question: why?\nAnswer:", LONG)
    (windows,) = model.windows([given])
    assert len(windows) > 2 and all(w.length <= CONTEXT for w in windows)
    (found,) = read(model, [given])
    assert found.ends[-1] == len(given.text) and (np.diff(found.ends) >= 0).all()
    ids = tokenizer("gpt2").encode(given.prompt + given.text).ids
    assert len(found) == len(ids) - len(tokenizer("gpt2").encode(given.prompt).ids)
    last = windows[-1].content
    logs, _ = gguf_files.reference("llama", last.ids.tolist())
    scored = len(last.ids) - last.first
    expected = told(logs[last.first - 1 : -1], ids[-scored:])["logprobs"]
    assert np.abs(found.logprobs[-scored:] - expected).mean() < 0.05 * expected.std()


def test_blank_and_hostile_texts(tmp_path: Path) -> None:
    model = loaded(save(tmp_path / "m.gguf"))
    hostile = "<|end|><|assistant|>Paris\ud800 \x00 \U0001f600"
    empty, blank, odd = read(
        model, [GivenText("Hi", ""), GivenText("Hi", " \n"), GivenText("<|user|>", hostile)]
    )
    assert len(empty) == 0 and empty.top.shape == (0, 20)
    assert blank.ends[-1] == 2
    assert odd.ends[-1] == len(hostile) and np.isfinite(odd.logprobs).all()
    made = tokenizer("gpt2")
    special = {made.token_to_id(t) for t in ("<|end|>", "<|assistant|>")}
    ((window,),) = model.windows([GivenText("<|user|>", hostile)])
    ids = window.content.ids.tolist()
    assert ids[0] == made.token_to_id("<|user|>") and not special & set(ids)


@pytest.mark.parametrize("kind", KINDS)
def test_hidden_states(kind: str, tmp_path: Path) -> None:
    model = loaded(save(tmp_path / "m.gguf", kind))
    assert model.state_shape == (gguf_files.LAYERS + 1, gguf_files.WIDTH)
    text = ("Question: ", "Where is Timbuktu?", "\nAnswer:")
    windows = [w for ws in model.state_windows([text, text]) for w in ws]
    found, again = model.states(windows)
    _, expected = gguf_files.reference(kind, tokenizer("gpt2").encode("".join(text)).ids)
    away = np.linalg.norm(found - expected, axis=1) / np.linalg.norm(expected, axis=1)
    assert away[0] < 1e-6 and (away[1:] < 0.05).all()
    np.testing.assert_allclose(again, found, atol=1e-5)


def test_chat_prompts_are_the_models_own(tmp_path: Path) -> None:
    messages = [{"role": "user", "content": [{"type": "text", "text": "Hi"}]}]
    path = tmp_path / "m.gguf"
    begun = "{{ bos_token }}" + CHAT
    model = loaded(save(path, **{"tokenizer.chat_template": begun}))
    assert model.chat_prompt(messages) == "<|endoftext|><|user|>Hi<|end|><|assistant|>"
    image = [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "x"}}]}]
    with pytest.raises(ModelError, match="images"):
        model.chat_prompt(image)
    two = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hi"}]
    assert loaded(save(path)).chat_prompt(two) == "Be brief.\n\nHi\n\n"
    for template, reason in (
        ("{{ raise_exception('roles must take turns') }}", "m: .*roles must take turns"),
        ("{{ ''.__class__.__mro__ }}", "unsafe"),
        ("{% if %}", "template fails"),
    ):
        model = loaded(save(path, **{"tokenizer.chat_template": template}))
        with pytest.raises(ModelError, match=reason):
            model.chat_prompt(messages)
    listed = "{{ messages | tojson }}{% for m in messages %}{% break %}{% endfor %}"
    model = loaded(save(path, **{"tokenizer.chat_template": listed}))
    assert json.loads(model.chat_prompt(messages)) == [{"role": "user", "content": "Hi"}]


def test_revision_is_of_the_content(tmp_path: Path) -> None:
    one, two = save(tmp_path / "one.gguf"), save(tmp_path / "two.gguf", seed=1)
    copy = tmp_path / "copy.gguf"
    copy.write_bytes(one.read_bytes())
    assert loaded(one).revision == loaded(copy).revision != loaded(two).revision
    assert loaded(one).name == "one" and loaded(one, name="other").name == "other"


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"general.architecture": "gemma3"}, r"gemma3 are not supported.*torch:.*m\.gguf may"),
        ({"llama.rope.scaling.type": "yarn"}, "rope.scaling.type has an unsupported"),
        ({"llama.rope.dimension_count": 8}, "rope.dimension_count has an unsupported"),
        ({"llama.block_count": None}, "block_count must be a positive number, not None"),
        ({"llama.block_count": 3}, "has no blk.2.attn_norm.weight"),
        (
            {"llama.embedding_length": "wide"},
            "embedding_length must be a positive number, not wide",
        ),
        ({"llama.feed_forward_length": 64}, "ffn_gate.weight .* is not part"),
        ({"llama.attention.head_count_kv": 3}, "is not part of a supported"),
        ({"tokenizer.ggml.model": "llama"}, "tokenizer .llama, gpt-2. is not supported"),
        ({"tokenizer.ggml.tokens": ["a"] * 900}, "no part|cannot be built|knows"),
        ({"extra": {"blk.0.attn_q_norm.weight": np.ones(32)}}, "attn_q_norm.* is not part"),
        ({"extra": {"output_norm.weight": np.full(96, np.inf)}}, "not finite"),
        ({"without": ("blk.1.ffn_up.weight",)}, "has no blk.1.ffn_up.weight"),
    ],
)
def test_what_cannot_be_read_says_why(
    changes: dict[str, Any], problem: str, tmp_path: Path
) -> None:
    path = save(tmp_path / "m.gguf", packing=F32, **changes)
    with pytest.raises(ModelError, match=problem):
        loaded(path)


def test_too_little_memory_is_told_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = save(tmp_path / "m.gguf")
    monkeypatch.setattr("veridical.models.memory._free", lambda: 1 << 20)
    with pytest.raises(ModelError, match=r"m\.gguf needs about .* free memory"):
        loaded(path)


def test_specs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    path = save(tmp_path / "m.gguf")
    for spec in (str(path), "m.gguf", "local:m.gguf"):
        model = load_language_model(spec, threads=1)
        assert isinstance(model, GgufLanguageModel) and model.name == "m"
    with pytest.raises(UsageError, match=r"takes no options; use torch:m\.gguf"):
        load_language_model("m.gguf?dtype=bfloat16")
    (tmp_path / "page.gguf").write_text("<html>")
    with pytest.raises(UsageError, match="not a GGUF file"):
        load_language_model("page.gguf")
    (tmp_path / "cut.gguf").write_bytes(b"GGUF")
    with pytest.raises(ModelError, match=r"cut\.gguf is not a readable GGUF file"):
        load_language_model("cut.gguf")
    monkeypatch.setenv(download.CACHE_VARIABLE, str(tmp_path))
    monkeypatch.setattr(download, "find", lambda weights: path)
    for spec in ("local", *download.WEIGHTS):
        assert load_language_model(spec, threads=1).name in download.WEIGHTS


@pytest.mark.torch
@pytest.mark.local
@pytest.mark.skipif(
    any(importlib.util.find_spec(n) is None for n in ("torch", "gguf", "accelerate"))
    or download.find(download.SMOLLM2) is None,
    reason="LOCAL LLM ABSENT: veridical models get smollm2, and the extra gguf",
)
def test_it_reads_smollm2_as_transformers_does() -> None:
    from veridical.models.causal.torch import TorchLanguageModel

    path = download.need(download.SMOLLM2)
    ours, theirs = loaded(path), TorchLanguageModel(path, device="cpu")
    messages = [{"role": "user", "content": "Who wrote Emma, in 1815?"}]
    prompt = ours.chat_prompt(messages)
    assert prompt == theirs.chat_prompt(messages)
    # no line breaks before figures: transformers cuts them as GPT-2, not as this model was trained
    article = " ".join((Path(__file__).parents[3] / "README.md").read_text()[:1500].split())
    texts = [GivenText("", article), GivenText(prompt, "Jane Austen wrote it, in 1815.")]
    texts += [GivenText(article, "\n\nIn short: naïve 東京 \U0001f600 <|im_end|> 12345.")]
    found, expected = read(ours, texts), read(theirs, texts)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(one.starts, other.starts)
        np.testing.assert_array_equal(one.ends, other.ends)
    # llama.cpp, which rounds inputs to 8 bits in blocks of 32, is away from transformers by 0.055
    # in the mean on such texts; a scale a token and a row, though turned, is coarser by a half
    for name, away in (("logprobs", 0.12), ("entropy", 0.12), ("top", 0.12)):
        one, other = (
            np.concatenate([getattr(t, name).ravel() for t in some]) for some in (found, expected)
        )
        assert np.abs(one - other).mean() < away, name
        assert np.corrcoef(one, other)[0, 1] > 0.995, name
    windows = ours.state_windows([("The sky is ", "blue")])[0]
    (one,), (other,) = ours.states(windows), theirs.states(windows)
    assert (np.linalg.norm(one - other, axis=1) < 0.1 * np.linalg.norm(other, axis=1)).all()
