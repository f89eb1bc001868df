"""Tiny random causal language models with tokenizers of their own kind, as hub repositories."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors
from tokenizers import trainers as training

KINDS = ("gpt2", "llama")
LENGTH = 64
CORPUS = [
    "Paris is in France; the Seine runs through it. Nobody knows why.",
    "Question: Where is Timbuktu?\nAnswer: It is in Mali, it is said.",
]
CHAT = (
    "{% for m in messages %}<|{{ m.role }}|>{{ m.content }}<|end|>{% endfor %}"
    "{% if add_generation_prompt %}<|assistant|>{% endif %}"
)
TEXTS = [
    ("", "Paris is in France."),
    ("Question: Where is Timbuktu?\nAnswer:", " It is in Mali."),
    ("Question: Where is Timbuktu?\nAnswer: ", "In Mali."),
    ("", "naïve 東京 \U0001f600!"),
    ("Nobody knows", "\n\nwhy."),
    ("Paris", " "),
]


def tokenizer(kind: str) -> Tokenizer:
    return Tokenizer.from_str(_trained(kind))


@cache
def _trained(kind: str) -> str:
    if kind == "gpt2":  # byte-level pairs, nothing put before a text, trimmed offsets
        made = Tokenizer(models.BPE())
        made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
        made.decoder = decoders.ByteLevel()
        made.train_from_iterator(
            CORPUS * 3,
            training.BpeTrainer(
                vocab_size=320,
                special_tokens=["<|endoftext|>", "<|user|>", "<|assistant|>", "<|end|>"],
                initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
                show_progress=False,
            ),
        )
        made.post_processor = processors.ByteLevel(trim_offsets=True)
    else:  # SentencePiece's way, byte fallback, BOS before every text
        made = Tokenizer(models.BPE(unk_token="<unk>", byte_fallback=True, fuse_unk=True))
        made.pre_tokenizer = pre_tokenizers.Metaspace()  # so that no token spans two words
        made.train_from_iterator(
            CORPUS * 3,
            training.BpeTrainer(
                vocab_size=360,
                special_tokens=["<unk>", "<s>", "</s>", "<|user|>", "<|assistant|>", "<|end|>"],
                show_progress=False,
            ),
        )
        state = json.loads(made.to_str())
        vocabulary = state["model"]["vocab"]
        for byte in range(256):
            vocabulary.setdefault(f"<0x{byte:02X}>", len(vocabulary))
        made = Tokenizer.from_str(json.dumps(state | {"pre_tokenizer": None}))
        made.normalizer = normalizers.Sequence(
            [normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")]
        )
        made.post_processor = processors.TemplateProcessing(
            single="<s> $A", special_tokens=[("<s>", 1)]
        )
    return str(made.to_str())


def save(folder: Path, kind: str = "gpt2", *, seed: int = 0, chat: bool = True) -> Path:
    """A random checkpoint in safetensors, with its tokenizer and chat template beside it."""
    import torch
    import transformers

    torch.manual_seed(seed)
    made = tokenizer(kind)
    if kind == "gpt2":
        config: Any = transformers.GPT2Config(
            vocab_size=made.get_vocab_size(),
            n_positions=LENGTH,
            n_embd=32,
            n_layer=2,
            n_head=4,
            initializer_range=0.4,
            bos_token_id=0,
            eos_token_id=0,
        )
        marks = {"bos_token": "<|endoftext|>", "eos_token": "<|endoftext|>"}
    else:
        config = transformers.LlamaConfig(
            vocab_size=made.get_vocab_size(),
            max_position_embeddings=LENGTH,
            hidden_size=32,
            intermediate_size=64,
            num_hidden_layers=2,
            num_attention_heads=4,
            num_key_value_heads=2,
            initializer_range=0.4,
            bos_token_id=1,
            eos_token_id=2,
        )
        marks = {"bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>"}
    folder.mkdir(parents=True, exist_ok=True)
    transformers.AutoModelForCausalLM.from_config(config).save_pretrained(folder)
    made.save(str(folder / "tokenizer.json"))
    settings: dict[str, Any] = {"tokenizer_class": "PreTrainedTokenizerFast", **marks}
    if chat:
        settings["chat_template"] = CHAT
    (folder / "tokenizer_config.json").write_text(json.dumps(settings))
    return folder


def reference(folder: Path, before: list[int], after: list[int]) -> dict[str, Any]:
    """What the model makes of the tokens ``after`` that follow ``before``: one forward of
    transformers, no padding, position by position in float64."""
    import torch
    import transformers

    model = transformers.AutoModelForCausalLM.from_pretrained(folder).eval()
    with torch.no_grad():
        logits = model(torch.tensor([before + after])).logits[0].double()
    rows: dict[str, list[Any]] = {"logprobs": [], "entropy": [], "lowest": [], "top": []}
    for i, token in enumerate(after):
        scores = logits[len(before) + i - 1]
        logs = scores - torch.logsumexp(scores, 0)
        rows["logprobs"].append(float(logs[token]))
        rows["entropy"].append(float(-(logs.exp() * logs).sum()))
        rows["lowest"].append(float(logs.min()))
        rows["top"].append(sorted(logs.tolist(), reverse=True)[:20])
    return {name: np.array(values) for name, values in rows.items()}


def read(model: Any, texts: list[Any], batch: int | None = None) -> list[Any]:
    """Token probabilities by ``model``, ``batch`` windows a forward (default: all at once)."""
    windows = model.windows(texts)
    flat = [w for ws in windows for w in ws]
    size = batch or len(flat)
    outputs = iter([o for i in range(0, len(flat), size) for o in model.run(flat[i : i + size])])
    return [model.assemble(ws, [next(outputs) for _ in ws]) for ws in windows]
