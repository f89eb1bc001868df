"""GGUF files: weights against ggml's own rules written out, and files that are no such thing."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

import gguf_files
import numpy as np
import pytest

from veridical.errors import ModelError
from veridical.models.gguf import PACKINGS, Gguf


def half(block: bytes, at: int) -> float:
    (value,) = struct.unpack_from("<e", block, at)
    return float(value)


def small(name: str, block: bytes) -> list[float]:
    """32 weights of a block of Q4_0, Q4_1, Q5_0, Q5_1 or Q8_0, one after another."""
    if name == "Q8_0":
        return [half(block, 0) * q for q in struct.unpack_from("<32b", block, 2)]
    five, least = name.startswith("Q5"), name.endswith("1")
    at = 4 if least else 2
    (upper,) = struct.unpack_from("<I", block, at) if five else (0,)
    nibbles = block[at + (4 if five else 0) :]
    out = []
    for i in range(32):
        q = nibbles[i % 16] >> (4 if i >= 16 else 0) & 15
        q |= (upper >> i & 1) << 4
        shift = 0 if least else (16 if five else 8)
        out.append(half(block, 0) * (q - shift) + (half(block, 2) if least else 0.0))
    return out


def large(name: str, block: bytes) -> list[float]:
    """256 weights of a block of Q4_K, Q5_K or Q6_K, one after another."""
    out = []
    if name == "Q6_K":
        lower, upper, scales = block[:128], block[128:192], struct.unpack_from("16b", block, 192)
        for i in range(256):
            part, place = divmod(i, 128)
            quarter, column = divmod(place, 32)
            q = lower[64 * part + 32 * (quarter % 2) + column] >> (4 if quarter > 1 else 0) & 15
            q |= (upper[32 * part + column] >> 2 * quarter & 3) << 4
            out.append(half(block, 208) * scales[i // 16] * (q - 32))
        return out
    scales = block[4:16]
    nibbles = block[48:] if name == "Q5_K" else block[16:]
    for i in range(256):
        part, column = divmod(i, 32)
        if part < 4:
            scale, least = scales[part] & 63, scales[part + 4] & 63
        else:
            scale = scales[part + 4] & 15 | scales[part - 4] >> 6 << 4
            least = scales[part + 4] >> 4 | scales[part] >> 6 << 4
        q = nibbles[part // 2 * 32 + column] >> (4 if part % 2 else 0) & 15
        if name == "Q5_K":
            q |= (block[16 + column] >> part & 1) << 4
        out.append(half(block, 0) * scale * q - half(block, 2) * least)
    return out


@pytest.mark.parametrize("packing", PACKINGS.values(), ids=lambda p: p.name)
def test_weights_are_unpacked(packing: Any) -> None:
    rng = np.random.default_rng(0)
    blocks = rng.integers(0, 256, (4, packing.size), dtype=np.uint8)
    if packing.weights > 1:  # scales that are numbers
        for at in {0, 2} if packing.name[-1] in "1K" and packing.name != "Q6_K" else {0}:
            place = 208 if packing.name == "Q6_K" else at
            scales = rng.standard_normal((4, 1)).astype("<f2")
            blocks[:, place : place + 2] = scales.view(np.uint8)
        rule = small if packing.weights == 32 else large
        expected = [rule(packing.name, block.tobytes()) for block in blocks]
    else:
        numbers = rng.standard_normal((4, 1)).astype(np.float32)
        kind = {"F32": "<f4", "F16": "<f2"}.get(packing.name)
        if kind is None:  # the upper half of a number in single precision
            blocks = numbers.view(np.uint8)[:, 2:]
            numbers = (numbers.view(np.uint32) >> 16 << 16).view(np.float32)
        else:
            blocks = numbers.astype(kind).view(np.uint8)
            numbers = numbers.astype(kind).astype(np.float32)
        expected = numbers
    found = packing.unpack(blocks).reshape(4, -1)
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)


@pytest.mark.torch
def test_gguf_itself_unpacks_them_so() -> None:
    quants = pytest.importorskip("gguf.quants")
    constants = pytest.importorskip("gguf.constants")
    rng = np.random.default_rng(0)
    for number, packing in PACKINGS.items():
        blocks = rng.integers(0, 256, (8, packing.size), dtype=np.uint8)
        with np.errstate(all="ignore"):
            expected = quants.dequantize(blocks, constants.GGMLQuantizationType(number))
            found = packing.unpack(blocks).reshape(expected.shape)
        known = np.isfinite(expected)
        np.testing.assert_allclose(found[known], expected[known], rtol=1e-5, err_msg=packing.name)


def test_what_a_file_says(tmp_path: Path) -> None:
    listed = {"a.list": ["one", "naïve"], "a.numbers": [1, -2], "a.truth": True, "a.part": 0.5}
    file = Gguf(gguf_files.save(tmp_path / "m.gguf", **listed))
    assert file.metadata["a.list"] == ["one", "naïve"] and file.metadata["a.truth"] is True
    assert file.metadata["a.numbers"].tolist() == [1, -2] and file.metadata["a.part"] == 0.5
    expected = gguf_files.weights("llama", len(file.metadata["tokenizer.ggml.tokens"]))
    name = "blk.1.ffn_down.weight"
    assert file.tensors[name].shape == expected[name].shape
    unpacked = gguf_files.unpacked(expected[name], gguf_files.Q8_0)
    np.testing.assert_allclose(file.rows(name), unpacked, atol=1e-6)
    np.testing.assert_allclose(file.rows(name, np.array([5, 2])), unpacked[[5, 2]], atol=1e-6)
    np.testing.assert_allclose(file.rows(name, slice(3, 7)), unpacked[3:7], atol=1e-6)
    gain = "blk.1.ffn_norm.weight"
    np.testing.assert_allclose(file.rows(gain)[0], expected[gain], atol=1e-6)


def header(version: int = 3, tensors: int = 0, entries: int = 0, rest: bytes = b"") -> bytes:
    return struct.pack("<4sIQQ", b"GGUF", version, tensors, entries) + rest


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"", "not a readable GGUF file"),
        (b"GGUF", "it is truncated"),
        (header(version=1), "its version is not 2 or 3"),
        (header(version=3 << 24), "its version is not 2 or 3"),
        (header(entries=1 << 62), "it is truncated"),
        (header(entries=1, rest=struct.pack("<Q", 1 << 63)), "it is truncated"),
        (header(entries=1, rest=gguf_files.text("a") + struct.pack("<I", 77)), "unknown type 77"),
        (
            header(entries=1, rest=gguf_files.text("a") + struct.pack("<IIQ", 9, 9, 3)),
            "unknown type 9",
        ),
        (
            header(entries=1, rest=gguf_files.text("a") + struct.pack("<IIQ", 9, 12, 1 << 62)),
            "it is truncated",
        ),
        (header(tensors=1, rest=gguf_files.text("t") + struct.pack("<I", 1 << 30)), "has .* axes"),
        (header(entries=1, rest=gguf_files.entry("general.alignment", 0)), "alignment"),
    ],
)
def test_what_is_no_such_file(content: bytes, problem: str, tmp_path: Path) -> None:
    path = tmp_path / "m.gguf"
    path.write_bytes(content)
    with pytest.raises(ModelError, match=problem):
        Gguf(path)


def test_a_file_cut_anywhere(tmp_path: Path) -> None:
    whole = gguf_files.save(tmp_path / "whole.gguf").read_bytes()
    path = tmp_path / "m.gguf"
    for share in (0.05, 0.2, 0.5, 0.9, 0.999):
        path.write_bytes(whole[: int(share * len(whole))])
        with pytest.raises(ModelError):
            file = Gguf(path)
            for name in file.tensors:
                file.rows(name)


def test_tensors_that_cannot_be_read(tmp_path: Path) -> None:
    def file(*size: int, packing: int = 8, offset: int = 0) -> Gguf:
        place = struct.pack("<IQ", packing, offset)
        sizes = struct.pack(f"<I{len(size)}Q", len(size), *size)
        path = tmp_path / "m.gguf"
        path.write_bytes(header(tensors=1, rest=gguf_files.text("t") + sizes + place) + bytes(200))
        return Gguf(path)

    assert file(32, 2).rows("t").shape == (2, 32)
    assert file(32).rows("t").shape == (1, 32)
    for odd in (
        file(33, 2), file(32, 1 << 40), file(32, 2, offset=1 << 62), file(), file(0, 3),
        file(1 << 62, 1 << 62),
    ):  # fmt: skip
        with pytest.raises(ModelError, match="t is damaged, or outside"):
            odd.rows("t")
    with pytest.raises(ModelError, match=r"type 19\); supported: F32, F16"):
        file(32, 2, packing=19).rows("t")
    with pytest.raises(ModelError, match="has no tensor u"):
        file(32).rows("u")
