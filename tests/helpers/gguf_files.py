"""Tiny random GGUF models, written and computed the plain way: bytes by struct, layers by loops."""

from __future__ import annotations

import struct
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from causal_checkpoints import tokenizer

#: What a file says, by its architecture, besides sizes.
WIDTH, INNER, LAYERS, HEADS, GROUPS, HEAD, CONTEXT = 96, 160, 2, 4, 2, 32, 96
F32, Q8_0 = 0, 8
KINDS = ("llama", "qwen2")
_CONTROL = ("<|endoftext|>", "<|user|>", "<|assistant|>", "<|end|>")


def text(value: str) -> bytes:
    content = value.encode()
    return struct.pack("<Q", len(content)) + content


def entry(key: str, value: Any) -> bytes:
    return text(key) + typed(value)


def typed(value: Any) -> bytes:
    """A value with its type: truth, unsigned number, float, string, list of strings or of int32."""
    if isinstance(value, bool):
        return struct.pack("<I?", 7, value)
    if isinstance(value, int):
        return struct.pack("<II", 4, value)
    if isinstance(value, float):
        return struct.pack("<If", 6, value)
    if isinstance(value, str):
        return struct.pack("<I", 8) + text(value)
    if value and isinstance(value[0], str):
        return struct.pack("<IIQ", 9, 8, len(value)) + b"".join(map(text, value))
    return struct.pack(f"<IIQ{len(value)}i", 9, 5, len(value), *value)


def packed(values: np.ndarray, packing: int) -> bytes:
    """Rows of numbers as they lie in a file."""
    if packing == F32:
        return values.astype("<f4").tobytes()
    out = []
    for block in values.reshape(-1, 32):
        scale = np.float16(np.abs(block).max() / 127)
        out.append(scale.tobytes() + np.rint(block / np.float32(scale)).astype(np.int8).tobytes())
    return b"".join(out)


def unpacked(values: np.ndarray, packing: int) -> np.ndarray:
    """What is left of numbers that were packed."""
    if packing == F32:
        return values.astype(np.float32).astype(np.float64)
    blocks = values.reshape(-1, 32)
    scales = np.float16(np.abs(blocks).max(axis=1) / 127).astype(np.float32)[:, None]
    return (np.rint(blocks / scales) * scales).reshape(values.shape).astype(np.float64)


@cache
def _vocabulary() -> tuple[list[str], list[str]]:
    """Tokens and merges."""
    made = tokenizer("gpt2")
    vocabulary = sorted(made.get_vocab().items(), key=lambda item: item[1])
    return [token for token, _ in vocabulary], made_merges(made)


def metadata(kind: str, **changes: Any) -> dict[str, Any]:
    tokens, merges = map(list, _vocabulary())
    said: dict[str, Any] = {
        "general.architecture": kind,
        f"{kind}.block_count": LAYERS,
        f"{kind}.context_length": CONTEXT,
        f"{kind}.embedding_length": WIDTH,
        f"{kind}.feed_forward_length": INNER,
        f"{kind}.attention.head_count": HEADS,
        f"{kind}.attention.head_count_kv": GROUPS,
        f"{kind}.attention.key_length": HEAD,
        f"{kind}.attention.layer_norm_rms_epsilon": 1e-5,
        f"{kind}.rope.freq_base": 1000.0,
        "tokenizer.ggml.model": "gpt2",
        "tokenizer.ggml.pre": "gpt-2",
        "tokenizer.ggml.tokens": tokens,
        "tokenizer.ggml.token_type": [3 if t in _CONTROL else 1 for t in tokens],
        "tokenizer.ggml.merges": merges,
        "tokenizer.ggml.bos_token_id": 0,
        "tokenizer.ggml.eos_token_id": 0,
        "tokenizer.ggml.add_bos_token": False,
    }
    said |= changes
    return {key: value for key, value in said.items() if value is not None}


def made_merges(made: Any) -> list[str]:
    import json

    merges = json.loads(made.to_str())["model"]["merges"]
    return [m if isinstance(m, str) else " ".join(m) for m in merges]


def weights(kind: str, vocabulary: int, seed: int = 0) -> dict[str, np.ndarray]:
    """Random tensors, some places of the vectors much greater than others."""
    rng = np.random.default_rng(seed)
    outliers = np.where(rng.random(WIDTH) < 0.03, 12.0, 1.0)

    def matrix(rows: int, columns: int, scale: float = 1.0) -> np.ndarray:
        return rng.standard_normal((rows, columns)) * scale / np.sqrt(columns)

    made = {
        "token_embd.weight": rng.standard_normal((vocabulary, WIDTH)) * outliers,
        "output_norm.weight": 0.5 + rng.random(WIDTH),
        "output.weight": matrix(vocabulary, WIDTH, 2.5),
    }
    for i in range(LAYERS):
        for name, rows, columns in (
            ("attn_q", HEADS * HEAD, WIDTH),
            ("attn_k", GROUPS * HEAD, WIDTH),
            ("attn_v", GROUPS * HEAD, WIDTH),
            ("attn_output", WIDTH, HEADS * HEAD),
            ("ffn_gate", INNER, WIDTH),
            ("ffn_up", INNER, WIDTH),
            ("ffn_down", WIDTH, INNER),
        ):
            made[f"blk.{i}.{name}.weight"] = matrix(rows, columns, 1.5)
            if kind == "qwen2" and name in ("attn_q", "attn_k", "attn_v"):
                made[f"blk.{i}.{name}.bias"] = rng.standard_normal(rows)
        made[f"blk.{i}.attn_norm.weight"] = 0.5 + rng.random(WIDTH)
        made[f"blk.{i}.ffn_norm.weight"] = 0.5 + rng.random(WIDTH)
    return made


def save(
    path: Path,
    kind: str = "llama",
    *,
    seed: int = 0,
    packing: int = Q8_0,
    without: tuple[str, ...] = (),
    extra: dict[str, np.ndarray] | None = None,
    sized: int = 0,
    **changes: Any,
) -> Path:
    """A file with all of it; vectors are never packed."""
    said = metadata(kind, **changes)
    vocabulary = sized or len(said["tokenizer.ggml.tokens"])
    tensors = weights(kind, vocabulary, seed) | (extra or {})
    tensors = {name: values for name, values in tensors.items() if name not in without}
    head, data = [], b""
    for name, values in tensors.items():
        way = packing if values.ndim > 1 else F32
        sizes = struct.pack(f"<I{values.ndim}Q", values.ndim, *reversed(values.shape))
        head.append(text(name) + sizes + struct.pack("<IQ", way, len(data)))
        data += packed(values, way)
        data += bytes(-len(data) % 32)
    begin = struct.pack("<4sIQQ", b"GGUF", 3, len(tensors), len(said))
    header = begin + b"".join(entry(k, v) for k, v in said.items()) + b"".join(head)
    path.write_bytes(header + bytes(-len(header) % 32) + data)
    return path


def reference(
    kind: str, ids: list[int], *, seed: int = 0, packing: int = Q8_0, tied: bool = False
) -> tuple[np.ndarray, np.ndarray]:
    """(n, vocabulary) log-probabilities of what follows each of ``ids``, and (layers + 1, width)
    states of the last one, position by position in float64."""
    made = weights(kind, len(metadata(kind)["tokenizer.ggml.tokens"]), seed)
    w = {k: unpacked(v, packing if v.ndim > 1 else F32) for k, v in made.items()}
    x = w["token_embd.weight"][ids]
    states = [x[-1]]

    def normed(rows: np.ndarray, gain: np.ndarray) -> np.ndarray:
        return rows / np.sqrt((rows**2).mean(axis=1, keepdims=True) + 1e-5) * gain

    def placed(rows: np.ndarray, heads: int) -> np.ndarray:
        out = rows.reshape(len(rows), heads, HEAD).copy()
        for position in range(len(rows)):
            for pair in range(HEAD // 2):
                angle = position * 1000.0 ** (-2 * pair / HEAD)
                a, b = (2 * pair, 2 * pair + 1) if kind == "llama" else (pair, pair + HEAD // 2)
                one, other = out[position, :, a].copy(), out[position, :, b].copy()
                out[position, :, a] = one * np.cos(angle) - other * np.sin(angle)
                out[position, :, b] = one * np.sin(angle) + other * np.cos(angle)
        return out

    for i in range(LAYERS):
        n = normed(x, w[f"blk.{i}.attn_norm.weight"])
        q, k, v = (
            n @ w[f"blk.{i}.attn_{p}.weight"].T + w.get(f"blk.{i}.attn_{p}.bias", 0.0)
            for p in "qkv"
        )
        q, k, v = placed(q, HEADS), placed(k, GROUPS), v.reshape(len(v), GROUPS, HEAD)
        attended = np.zeros((len(x), HEADS, HEAD))
        for place in range(len(x)):
            for head in range(HEADS):
                group = head // (HEADS // GROUPS)
                scores = k[: place + 1, group] @ q[place, head] / np.sqrt(HEAD)
                shares = np.exp(scores - scores.max())
                attended[place, head] = shares @ v[: place + 1, group] / shares.sum()
        x = x + attended.reshape(len(x), -1) @ w[f"blk.{i}.attn_output.weight"].T
        n = normed(x, w[f"blk.{i}.ffn_norm.weight"])
        gate = n @ w[f"blk.{i}.ffn_gate.weight"].T
        inner = gate / (1 + np.exp(-gate)) * (n @ w[f"blk.{i}.ffn_up.weight"].T)
        x = x + inner @ w[f"blk.{i}.ffn_down.weight"].T
        states.append(x[-1])
    after = normed(x, w["output_norm.weight"])
    states[-1] = after[-1]
    logits = after @ w["token_embd.weight" if tied else "output.weight"].T
    greatest = logits.max(axis=1, keepdims=True)
    sums = np.log(np.exp(logits - greatest).sum(axis=1, keepdims=True))
    return logits - greatest - sums, np.array(states)
