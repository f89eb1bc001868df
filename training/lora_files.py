"""Files for ``checker_lora.py``: base models in parts, and LoRA adapters."""

from __future__ import annotations

import hashlib
import re
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

import gguf
import numpy as np

#: Linear layers of a transformers checkpoint that get an adapter -> their names in GGUF files.
MODULES = {
    "self_attn.q_proj": "attn_q",
    "self_attn.k_proj": "attn_k",
    "self_attn.v_proj": "attn_v",
    "self_attn.o_proj": "attn_output",
    "mlp.gate_proj": "ffn_gate",
    "mlp.up_proj": "ffn_up",
    "mlp.down_proj": "ffn_down",
}
PART = 15_000_000
_NAME = re.compile(r"layers\.(\d+)\.([a-z_.]+)\.lora_([AB])")
_TENSOR = re.compile(r"blk\.(\d+)\.([a-z_]+)\.weight\.lora_([ab])")


def parts_of(spec: str) -> list[Path]:
    """List the files of ``spec`` in order: a file, a folder of parts, or a glob pattern.

    Raises:
        SystemExit: no file matches.
    """
    path = Path(spec).expanduser()
    if path.is_file():
        return [path]
    found = path.glob("*") if path.is_dir() else path.parent.glob(path.name)
    parts = sorted((p for p in found if p.is_file()), key=_by_number)
    if not parts:
        raise SystemExit(f"{spec}: no such file, folder or pattern")
    return parts


def _by_number(path: Path) -> list[tuple[int, str]]:
    """Return a sort key that puts part10 after part2."""
    pieces = re.split(r"(\d+)", path.name)
    return [(int(piece), "") if piece.isdigit() else (-1, piece) for piece in pieces]


def joined(spec: str, folder: Path) -> Path:
    """Return the GGUF file of ``spec``; parts are concatenated in ``folder``.

    Raises:
        SystemExit: it is not a GGUF file.
    """
    parts = parts_of(spec)
    path = parts[0]
    if len(parts) > 1:
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / "base.gguf"
        with path.open("wb") as out:
            for part in parts:
                with part.open("rb") as piece:
                    shutil.copyfileobj(piece, out, 1 << 22)
    with path.open("rb") as f:
        if f.read(4) != b"GGUF":
            raise SystemExit(f"{spec} is not a GGUF file, nor are its parts joined by name")
    return path


def digest(path: Path) -> str:
    """Compute the SHA-256 of a file, hexadecimal."""
    made = hashlib.sha256()
    with path.open("rb") as f:
        while chunk := f.read(1 << 22):
            made.update(chunk)
    return made.hexdigest()


def split(path: Path, size: int = PART) -> list[Path]:
    """Write ``path`` again as ``NAME.part00``, ``NAME.part01`` and so on in its folder."""
    for old in path.parent.glob(f"{path.name}.part*"):
        old.unlink()
    content, made = path.read_bytes(), []
    for i, start in enumerate(range(0, len(content), size)):
        made.append(path.with_name(f"{path.name}.part{i:02d}"))
        made[-1].write_bytes(content[start : start + size])
    return made


def write_adapter(
    path: Path, weights: Mapping[str, np.ndarray], alpha: float, architecture: str = "qwen2"
) -> Path:
    """Write LoRA weights as a GGUF adapter in float16.

    Args:
        weights: (rank, in) of ``lora_A`` and (out, rank) of ``lora_B``, by the names that peft
            gives them.
    """
    partial = path.with_name(f"{path.name}.tmp")
    writer = gguf.GGUFWriter(partial, architecture)
    writer.add_type(gguf.GGUFType.ADAPTER)
    writer.add_string(gguf.Keys.Adapter.TYPE, "lora")
    writer.add_float32(gguf.Keys.Adapter.LORA_ALPHA, alpha)
    for name, values in sorted(weights.items()):
        found = _NAME.search(name)
        if found is None or found[2] not in MODULES:
            raise ValueError(f"{name} has no place in a GGUF adapter")
        layer, module, side = found.groups()
        tensor = f"blk.{layer}.{MODULES[module]}.weight.lora_{side.lower()}"
        writer.add_tensor(tensor, np.ascontiguousarray(values, np.float16))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    partial.replace(path)
    return path


def read_adapter(files: Sequence[Path]) -> tuple[dict[str, np.ndarray], float]:
    """LoRA weights by :func:`write_adapter`, under the names ``layers.N.MODULE.lora_A``, and their
    alpha.

    Args:
        files: the adapter, or its parts in order.
    """
    path = files[0]
    if len(files) > 1:
        path = files[0].with_name("joined.gguf")
        path.write_bytes(b"".join(part.read_bytes() for part in files))
    reader = gguf.GGUFReader(path)
    alpha = reader.get_field(gguf.Keys.Adapter.LORA_ALPHA)
    if alpha is None:
        raise SystemExit(f"{files[0]} is not a LoRA adapter")
    modules = {short: long for long, short in MODULES.items()}
    weights = {}
    for tensor in reader.tensors:
        found = _TENSOR.fullmatch(tensor.name)
        if found is None or found[2] not in modules:
            raise SystemExit(f"{files[0]} holds {tensor.name}, which is not expected")
        name = f"layers.{found[1]}.{modules[found[2]]}.lora_{found[3].upper()}"
        weights[name] = np.array(tensor.data, np.float32)
    return weights, float(alpha.contents())
