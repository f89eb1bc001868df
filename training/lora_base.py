"""The base model of ``checker_lora.py``: the weights of a GGUF file, dequantised."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import gguf
import torch
from lora_files import MODULES
from transformers import AutoTokenizer, Qwen2Config, Qwen2ForCausalLM

_NORMS = {"attn_norm": "input_layernorm", "ffn_norm": "post_attention_layernorm"}
_OUTSIDE = {
    "token_embd.weight": "model.embed_tokens.weight",
    "output_norm.weight": "model.norm.weight",
    "output.weight": "lm_head.weight",
}


def load_base(path: Path, dtype: torch.dtype) -> tuple[Qwen2ForCausalLM, Any]:
    """Load model and tokenizer of a GGUF file.

    Raises:
        SystemExit: its architecture is not Qwen2's.
    """
    reader = gguf.GGUFReader(path)
    if _said(reader, "general.architecture") != "qwen2":
        raise SystemExit(f"{path} is not a Qwen2 model")
    tensors = {t.name: t for t in reader.tensors}
    weights = {}
    for name, tensor in tensors.items():
        values = gguf.dequantize(tensor.data, tensor.tensor_type).copy()
        weights[_name(name)] = torch.from_numpy(values).to(dtype)
    model, missed = Qwen2ForCausalLM.from_pretrained(
        None,
        config=_config(reader, tensors),
        state_dict=weights,
        dtype=dtype,
        output_loading_info=True,
    )
    wrong = [*missed["unexpected_keys"], *missed["mismatched_keys"]]
    tied = {"lm_head.weight"} if model.config.tie_word_embeddings else set()
    if wrong or set(missed["missing_keys"]) - tied:
        raise SystemExit(f"{path} does not hold the tensors of a Qwen2 model: {missed}")
    return model, AutoTokenizer.from_pretrained(path.parent, gguf_file=path.name)


def _config(reader: gguf.GGUFReader, tensors: dict[str, Any]) -> Qwen2Config:
    def said(key: str) -> Any:
        return _said(reader, f"qwen2.{key}")

    embedded = tensors["token_embd.weight"].shape  # (width, vocabulary)
    base = float(said("rope.freq_base") or 10_000.0)
    head = said("attention.key_length")
    return Qwen2Config(
        vocab_size=int(embedded[1]),
        hidden_size=int(embedded[0]),
        intermediate_size=said("feed_forward_length"),
        num_hidden_layers=said("block_count"),
        num_attention_heads=said("attention.head_count"),
        num_key_value_heads=said("attention.head_count_kv"),
        max_position_embeddings=said("context_length"),
        rms_norm_eps=said("attention.layer_norm_rms_epsilon"),
        rope_theta=base,
        rope_parameters={"rope_type": "default", "rope_theta": base},
        **({} if head is None else {"head_dim": head}),
        tie_word_embeddings="output.weight" not in tensors,
    )


def _said(reader: gguf.GGUFReader, key: str) -> Any:
    field = reader.get_field(key)
    return None if field is None else field.contents()


def _name(name: str) -> str:
    """Return a tensor's name in transformers checkpoints."""
    if name in _OUTSIDE:
        return _OUTSIDE[name]
    _, layer, module, kind = name.split(".")
    modules = _NORMS | {short: long for long, short in MODULES.items()}
    return f"model.layers.{layer}.{modules[module]}.{kind}"
