"""Weights of Llama-like transformers from GGUF files, as 8-bit integers.

A matrix has one scale per row, and its inputs one per token. A few dimensions of a token's vector
are much larger than the others and would dominate the scale. So the vectors are rotated first by an
orthogonal matrix, folded into the weights on both sides. It does not change the model's function
and spreads the large values over all dimensions (QuaRot: Ashkboos et al. 2024, arXiv:2404.00456).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from veridical.arrays import Floats32
from veridical.errors import ModelError
from veridical.models.gguf import Gguf

#: Supported architectures, and True if rotary positions pair neighbouring dimensions of a head,
#: False if they pair its first half with its second.
NEIGHBOURS = {"llama": True, "qwen2": False}
_BLOCK = 64  # a power of two
_MAX_PARTS = 4096  # of a vector: the rotation matrix has their number squared
_ROWS_PER_UNPACKING = 512  # of a matrix: as many as the processor's caches hold


@dataclass(frozen=True)
class Shape:
    """Dimensions of a model, from its file.

    Attributes:
        layers, width, inner, vocabulary: sizes.
        heads, groups, head: numbers of query heads and of key/value heads, and dimensions of one.
        context: context length in tokens.
        epsilon: epsilon of its norms.
        base, factor: base and factor of the rotary angles.
    """

    architecture: str
    layers: int
    width: int
    inner: int
    vocabulary: int
    heads: int
    groups: int
    head: int
    context: int
    epsilon: float
    base: float
    factor: float

    @classmethod
    def read(cls, file: Gguf) -> Shape:
        """Read the dimensions from the file's metadata.

        Raises:
            ModelError: the architecture is not supported, or a value is missing or invalid.
        """
        metadata = file.metadata
        kind = metadata.get("general.architecture")
        if not isinstance(kind, str) or kind not in NEIGHBOURS:
            raise ModelError(
                f"{file.path}: models of the architecture {kind!s:.40} are not supported, only "
                f"{' and '.join(NEIGHBOURS)}; torch:{file.path} may read it"
            )

        def number(key: str, default: float | None = None) -> float:
            value = metadata.get(f"{kind}.{key}", default)
            if not isinstance(value, (int, float)) or not 0 < value < 1 << 31:
                raise ModelError(
                    f"{file.path}: {kind}.{key} must be a positive number, not {value!s:.40}"
                )
            return value

        def count(key: str, default: float | None = None) -> int:
            value = number(key, default)
            if value != int(value):
                raise ModelError(f"{file.path}: {kind}.{key} must be an integer, not {value!s:.40}")
            return int(value)

        width, heads = count("embedding_length"), count("attention.head_count")
        head = count("attention.key_length", width / heads)
        context = number("context_length")
        scaling = metadata.get(f"{kind}.rope.scaling.type", "none")
        scaling = scaling if isinstance(scaling, str) else ""
        odd = {
            "rope.scaling.type": scaling not in ("none", "linear"),
            "rope.dimension_count": number("rope.dimension_count", head) != head,
            "attention.value_length": number("attention.value_length", head) != head,
        }
        if any(odd.values()):
            name = next(k for k, is_odd in odd.items() if is_odd)
            raise ModelError(f"{file.path}: {kind}.{name} has an unsupported value")
        embeddings = file.tensors.get("token_embd.weight")
        return cls(
            architecture=kind,
            layers=count("block_count"),
            width=width,
            inner=count("feed_forward_length"),
            vocabulary=embeddings.shape[0] if embeddings and len(embeddings.shape) == 2 else 0,
            heads=heads,
            groups=count("attention.head_count_kv", heads),
            head=head,
            context=int(min(context, number("attention.sliding_window", context))),
            epsilon=number("attention.layer_norm_rms_epsilon"),
            base=number("rope.freq_base", 10000.0),
            factor=number("rope.scaling.factor", 1.0) if scaling == "linear" else 1.0,
        )


def turned(vectors: Floats32, axis: int = -1) -> Floats32:
    """Multiply ``vectors`` by an orthogonal matrix that is its own inverse.

    It is Hadamard's over the largest power of two, up to 64, that divides their length, and
    Hartley's over the rest.
    """
    moved = np.moveaxis(vectors, axis, -1)
    length = moved.shape[-1]
    power = math.gcd(length, _BLOCK)
    folded = moved.reshape(-1, length // power, power) @ hadamard(power)
    if length > power:
        folded = _hartley(length // power) @ folded
    return np.moveaxis(folded.reshape(moved.shape), -1, axis)


def hadamard(size: int) -> Floats32:
    matrix = np.ones((1, 1), np.float32)
    while len(matrix) < size:
        matrix = np.block([[matrix, matrix], [matrix, -matrix]])
    scaled: Floats32 = matrix / np.float32(math.sqrt(size))
    return scaled


def _hartley(size: int) -> Floats32:
    angles = 2 * np.pi / size * (np.outer(np.arange(size), np.arange(size)) % size)
    matrix: Floats32 = ((np.cos(angles) + np.sin(angles)) / math.sqrt(size)).astype(np.float32)
    return matrix


class Matrix(NamedTuple):
    """Weights (inputs, outputs), each output's as ``integers * scales``."""

    integers: NDArray[np.int8]
    scales: Floats32


class Layer(NamedTuple):
    """The matrices of one layer.

    Attributes:
        packed, bias: from the width to concatenated queries, keys and values.
        attended: from the heads back to the width.
        gate, up: from the width to the inner layer.
        down: from the inner layer, rotated by blocks, to the width.
    """

    packed: Matrix
    bias: Floats32 | None
    attended: Matrix
    gate: Matrix
    up: Matrix
    down: Matrix


class TurnedWeights:
    """Rotated weights of a file's model.

    Attributes:
        shape: dimensions of the model.
        block: dimensions of the inner layer that are rotated together.
        size: bytes of all weights as integers.

    Raises:
        ModelError: the file has another kind of model.
    """

    def __init__(self, file: Gguf) -> None:
        self._file = file
        self.shape = shape = Shape.read(file)
        self.block = math.gcd(_BLOCK, shape.inner)
        keys, values = shape.heads * shape.head, shape.groups * shape.head
        width, inner, vocabulary = shape.width, shape.inner, shape.vocabulary
        wanted = {"token_embd.weight": (vocabulary, width), "output_norm.weight": (width,)}
        possible = {"output.weight": (vocabulary, width), "rope_freqs.weight": (shape.head // 2,)}
        # a layer has several tensors, so a count above their number is rejected at once
        for layer in range(min(shape.layers, len(file.tensors) + 1)):
            for name, *size in (
                ("attn_norm", width), ("attn_q", keys, width), ("attn_k", values, width),
                ("attn_v", values, width), ("attn_output", width, keys), ("ffn_norm", width),
                ("ffn_gate", inner, width), ("ffn_up", inner, width), ("ffn_down", width, inner),
            ):  # fmt: skip
                wanted[f"blk.{layer}.{name}.weight"] = tuple(size)
                if name in ("attn_q", "attn_k", "attn_v"):
                    possible[f"blk.{layer}.{name}.bias"] = (size[0],)
        for name, tensor in file.tensors.items():
            if tensor.shape != wanted.get(name, possible.get(name)):
                raise ModelError(
                    f"{file.path}: {name:.80} {tensor.shape} is not part of a supported model; "
                    f"torch:{file.path} may read it"
                )
        missing = next((name for name in wanted if name not in file.tensors), None)
        if missing or shape.heads % shape.groups or shape.head % 2:
            raise ModelError(f"{file.path} has no {missing or 'fitting number of heads'}")
        parts = max(size // math.gcd(size, _BLOCK) for size in (width, shape.head))
        if parts > _MAX_PARTS:
            raise ModelError(f"{file.path}: vectors of {width} dimensions are not supported")
        self._output = "output" if "output.weight" in file.tensors else "token_embd"
        unused = {"token_embd.weight"} - {f"{self._output}.weight"}
        self.size = sum(math.prod(t.shape) for n, t in file.tensors.items() if n not in unused)

    def vectors(self, ids: NDArray[np.int64]) -> Floats32:
        """Return the (n, width) inputs of the first layer."""
        return turned(self._file.rows("token_embd.weight", ids))

    def turned_back(self, states: Floats32) -> Floats32:
        """Rotate (n, width) states back; the last follows the final norm."""
        back = turned(states)
        size = np.sqrt(np.mean(back[-1] ** 2) + self.shape.epsilon)
        back[-1] *= self._file.rows("output_norm.weight")[0] / size
        return back

    def angles(self) -> tuple[Floats32, Floats32]:
        """Return (context, head / 2) cosines and sines of the rotary angles."""
        shape = self.shape
        speeds = shape.base ** -(np.arange(0, shape.head, 2) / shape.head) / shape.factor
        if "rope_freqs.weight" in self._file.tensors:
            speeds = speeds / self._file.rows("rope_freqs.weight")[0]
        angles = np.outer(np.arange(shape.context), speeds)
        return np.cos(angles).astype(np.float32), np.sin(angles).astype(np.float32)

    def layer(self, number: int) -> Layer:
        """Return the matrices of a layer, counted from 0."""
        block = f"blk.{number}"
        width, head = self.shape.width, self.shape.head
        norm = f"{block}.attn_norm"
        parts = [
            self._matrix(f"{block}.attn_{part}", norm=norm, rows=head if part == "v" else 1)
            for part in "qkv"
        ]
        norm = f"{block}.ffn_norm"
        return Layer(
            packed=Matrix(
                np.concatenate([p.integers for p in parts], axis=1),
                np.concatenate([p.scales for p in parts]),
            ),
            bias=self._bias(block),
            attended=self._matrix(f"{block}.attn_output", columns=head, rows=width),
            gate=self._matrix(f"{block}.ffn_gate", norm=norm),
            up=self._matrix(f"{block}.ffn_up", norm=norm),
            down=self._matrix(f"{block}.ffn_down", columns=self.block, rows=width),
        )

    def _bias(self, block: str) -> Floats32 | None:
        names = [f"{block}.attn_{part}.bias" for part in "qkv"]
        if not any(name in self._file.tensors for name in names):
            return None
        query, key, value = (self._file.rows(name)[0] for name in names)
        value = turned(value.reshape(-1, self.shape.head)).reshape(-1)
        return np.concatenate([query, key, value])

    def output(self) -> Matrix:
        """Return the matrix from the width to the vocabulary."""
        return self._matrix(self._output, norm="output_norm")

    def _matrix(self, name: str, *, norm: str = "", columns: int = 0, rows: int = 1) -> Matrix:
        """Return a rotated matrix with the gains of ``norm`` folded in.

        Inputs are rotated in parts of ``columns`` (0: as a whole), outputs in parts of ``rows``.
        """
        outputs, inputs = self._file.tensors[f"{name}.weight"].shape
        gain = self._file.rows(f"{norm}.weight")[0] if norm else np.float32(1)
        integers = np.empty((inputs, outputs), np.int8)
        scales = np.empty(outputs, np.float32)
        for start in range(0, outputs, max(_ROWS_PER_UNPACKING, rows)):
            some = slice(start, start + max(_ROWS_PER_UNPACKING, rows))
            with np.errstate(invalid="ignore", over="ignore"):  # reported below
                weights = self._file.rows(f"{name}.weight", some) * gain
                weights = turned(weights.reshape(len(weights), -1, columns or inputs))
                if rows > 1:
                    weights = turned(weights.reshape(-1, rows, inputs), axis=1)
            weights = weights.reshape(-1, inputs)
            greatest = np.abs(weights).max(axis=1)
            if not np.isfinite(greatest).all():
                raise ModelError(f"{self._file.path}: {name} has values that are not finite")
            scales[some] = np.where(greatest > 0, greatest, 1) / 127
            integers[:, some] = np.rint(weights / scales[some, None]).astype(np.int8).T
        return Matrix(integers, scales)
