"""GGUF files of llama.cpp: metadata, tensors and unpacking.

The format is that of ggml's ``docs/gguf.md``, the quantisations those of its ``ggml-quants.c``.
Files are not trusted: every count and offset is checked against the file's size.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from veridical.arrays import Floats32
from veridical.errors import ModelError

Bytes = NDArray[np.uint8]

_NUMBERS = {
    0: "<u1", 1: "<i1", 2: "<u2", 3: "<i2", 4: "<u4", 5: "<i4", 6: "<f4", 7: "?",
    10: "<u8", 11: "<i8", 12: "<f8",
}  # fmt: skip
_STRING, _ARRAY = 8, 9
_MOST_AXES = 4


class Packing(NamedTuple):
    """Storage of one type of weights in a file.

    Attributes:
        name: ggml's name.
        weights, size: weights and bytes of a block.
        unpack: (blocks, size) bytes to (blocks, ...) float32, in order.
    """

    name: str
    weights: int
    size: int
    unpack: Callable[[Bytes], Floats32]


class Tensor(NamedTuple):
    """Location of a tensor. ``shape`` is numpy's: the last axis is packed."""

    shape: tuple[int, ...]
    packing: int
    offset: int


class Gguf:
    """A GGUF file, open for reading. Thread-safe.

    Attributes:
        metadata: numbers, booleans, strings, lists of strings, and arrays of numbers, by key.
        tensors: tensors by name.

    Raises:
        ModelError: the file cannot be read, is not of version 2 or 3, or is damaged.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            self._bytes: Bytes = np.asarray(np.memmap(path, np.uint8, "r"))
            self._header = memoryview(self._bytes.data)
            self._at = 0
            self._read_header()
        except (OSError, ValueError, struct.error, UnicodeDecodeError, OverflowError) as e:
            raise ModelError(f"{path} is not a readable GGUF file: {e}") from None

    def _read_header(self) -> None:
        magic, version, tensors, entries = self._take("<4sIQQ")
        if magic != b"GGUF" or version not in (2, 3):
            raise ValueError("its version is not 2 or 3")
        self.metadata: dict[str, Any] = {}
        for _ in range(entries):
            key = self._string()
            (kind,) = self._take("<I")
            self.metadata[key] = self._value(kind)
        self.tensors: dict[str, Tensor] = {}
        for _ in range(tensors):
            name = self._string()
            (axes,) = self._take("<I")
            if axes > _MOST_AXES:
                raise ValueError(f"tensor {name:.80} has {axes} axes")
            shape = tuple(reversed(self._take(f"<{axes}Q")))
            self.tensors[name] = Tensor(shape, *self._take("<IQ"))
        alignment = self.metadata.get("general.alignment", 32)
        if not isinstance(alignment, int) or alignment < 1:
            raise ValueError("its alignment is not a positive number")
        self._data = -(-self._at // alignment) * alignment

    def _take(self, form: str) -> tuple[Any, ...]:
        return struct.unpack(form, self._slice(struct.calcsize(form)))

    def _slice(self, size: int) -> memoryview:
        if size > len(self._header) - self._at:
            raise ValueError("it is truncated")
        self._at += size
        return self._header[self._at - size : self._at]

    def _string(self) -> str:
        (length,) = self._take("<Q")
        return str(self._slice(length), "utf-8", "replace")

    def _value(self, kind: int) -> Any:
        if kind == _STRING:
            return self._string()
        if kind == _ARRAY:
            of, count = self._take("<IQ")
            if of == _STRING:
                return [self._string() for _ in range(count)]
            numbers = np.dtype(_known(of))
            return np.frombuffer(self._slice(count * numbers.itemsize), numbers)
        numbers = np.dtype(_known(kind))
        return np.frombuffer(self._slice(numbers.itemsize), numbers)[0].item()

    def rows(self, name: str, at: slice | NDArray[np.int64] = slice(None)) -> Floats32:
        """Return rows of a matrix, or all of a vector, unpacked.

        Raises:
            ModelError: there is no such tensor, it is outside the file, or its quantisation is not
                supported.
        """
        tensor = self.tensors.get(name)
        if tensor is None:
            raise ModelError(f"{self.path} has no tensor {name}")
        packing = PACKINGS.get(tensor.packing)
        if packing is None:
            known = ", ".join(p.name for p in PACKINGS.values())
            raise ModelError(
                f"{self.path}: {name} has an unsupported quantisation (type {tensor.packing}); "
                f"supported: {known}"
            )
        width = tensor.shape[-1] if tensor.shape else 0
        count = math.prod(tensor.shape[:-1])
        row = width // packing.weights * packing.size
        begin = self._data + tensor.offset
        if not row or width % packing.weights or begin + count * row > len(self._bytes):
            raise ModelError(f"{self.path}: {name} is damaged, or outside the file")
        packed = self._bytes[begin : begin + count * row].reshape(count, row)[at]
        with np.errstate(invalid="ignore"):  # scales may be NaN in a damaged file
            unpacked = packing.unpack(packed.reshape(-1, packing.size))
        return unpacked.reshape(len(packed), width)


def _known(kind: int) -> str:
    if kind not in _NUMBERS:
        raise ValueError(f"it has a value of unknown type {kind}")
    return _NUMBERS[kind]


def _scale(blocks: Bytes, at: int) -> Floats32:
    """Return the (n, 1) half-precision numbers at byte ``at`` of each block."""
    return np.ascontiguousarray(blocks[:, at : at + 2]).view("<f2").astype(np.float32)


def _nibbles(packed: Bytes) -> Bytes:
    """Return (n, 2 k) from (n, k): all lower halves of the bytes, then all upper ones."""
    return np.concatenate([packed & 15, packed >> 4], axis=1)


def _bits(packed: Bytes) -> Bytes:
    """Return (n, 8 k) from (n, k): bits by position, least significant first."""
    return np.unpackbits(packed, axis=1, bitorder="little")


def _q8_0(blocks: Bytes) -> Floats32:
    return _scale(blocks, 0) * blocks[:, 2:].view(np.int8)


def _q4_0(blocks: Bytes) -> Floats32:
    return _scale(blocks, 0) * (_nibbles(blocks[:, 2:]).astype(np.float32) - 8)


def _q4_1(blocks: Bytes) -> Floats32:
    return _scale(blocks, 0) * _nibbles(blocks[:, 4:]) + _scale(blocks, 2)


def _q5_0(blocks: Bytes) -> Floats32:
    five = _nibbles(blocks[:, 6:]) | _bits(blocks[:, 2:6]) << 4
    return _scale(blocks, 0) * (five.astype(np.float32) - 16)


def _q5_1(blocks: Bytes) -> Floats32:
    five = _nibbles(blocks[:, 8:]) | _bits(blocks[:, 4:8]) << 4
    return _scale(blocks, 0) * five + _scale(blocks, 2)


def _scales_and_least(blocks: Bytes) -> tuple[Floats32, Floats32]:
    """Return the (n, 8, 1) scales and offsets of a block's eight parts in Q4_K and Q5_K.

    Each has six bits; the upper two of the last four are stored with those of the first.
    """
    first, second, third = blocks[:, 4:8], blocks[:, 8:12], blocks[:, 12:16]
    scales = np.concatenate([first & 63, third & 15 | first >> 6 << 4], axis=1)
    least = np.concatenate([second & 63, third >> 4 | second >> 6 << 4], axis=1)
    return (_scale(blocks, 0) * scales)[..., None], (_scale(blocks, 2) * least)[..., None]


def _k_nibbles(packed: Bytes) -> Bytes:
    """Return (n, 8, 32) from (n, 128).

    Each 32 bytes hold one part in their lower halves, and the next in their upper ones.
    """
    parts = packed.reshape(-1, 4, 1, 32)
    return np.concatenate([parts & 15, parts >> 4], axis=2).reshape(-1, 8, 32)


def _q4_k(blocks: Bytes) -> Floats32:
    scales, least = _scales_and_least(blocks)
    return scales * _k_nibbles(blocks[:, 16:]) - least


def _q5_k(blocks: Bytes) -> Floats32:
    scales, least = _scales_and_least(blocks)
    fifth = _bits(blocks[:, 16:48]).reshape(-1, 32, 8).transpose(0, 2, 1)
    weights: Floats32 = scales * (_k_nibbles(blocks[:, 48:]) | fifth << 4) - least
    return weights


def _q6_k(blocks: Bytes) -> Floats32:
    lower = blocks[:, :128].reshape(-1, 2, 1, 64)
    lower = np.concatenate([lower & 15, lower >> 4], axis=2).reshape(-1, 2, 4, 32)
    shifts = np.arange(0, 8, 2, dtype=np.uint8)[:, None]
    upper = blocks[:, 128:192].reshape(-1, 2, 1, 32) >> shifts & 3
    six = (lower | upper << 4).reshape(-1, 16, 16).astype(np.float32) - 32
    scales = _scale(blocks, 208) * blocks[:, 192:208].view(np.int8)
    weights: Floats32 = scales[..., None] * six
    return weights


def _plain(form: str) -> Callable[[Bytes], Floats32]:
    def unpack(blocks: Bytes) -> Floats32:
        numbers: Floats32 = np.ascontiguousarray(blocks).view(form).astype(np.float32)
        return numbers

    return unpack


def _bf16(blocks: Bytes) -> Floats32:
    upper = np.ascontiguousarray(blocks).view("<u2").astype(np.uint32)
    return (upper << 16).view(np.float32)


#: Packings by ggml's number.
PACKINGS = {
    0: Packing("F32", 1, 4, _plain("<f4")),
    1: Packing("F16", 1, 2, _plain("<f2")),
    2: Packing("Q4_0", 32, 18, _q4_0),
    3: Packing("Q4_1", 32, 20, _q4_1),
    6: Packing("Q5_0", 32, 22, _q5_0),
    7: Packing("Q5_1", 32, 24, _q5_1),
    8: Packing("Q8_0", 32, 34, _q8_0),
    12: Packing("Q4_K", 256, 144, _q4_k),
    13: Packing("Q5_K", 256, 176, _q5_k),
    14: Packing("Q6_K", 256, 210, _q6_k),
    30: Packing("BF16", 1, 2, _bf16),
}
