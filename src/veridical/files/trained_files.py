"""Files of the small models that users train: read once, pinned to their content, never pickle.

JSON, or the safetensors format, which needs no package for arrays of float32 alone.
"""

from __future__ import annotations

import base64
import hashlib
import itertools
import json
import math
import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache, lru_cache
from pathlib import Path
from stat import S_ISDIR, S_ISREG
from typing import Any, TypeVar

import numpy as np
from pydantic import BaseModel, ValidationError

from veridical.arrays import Floats
from veridical.errors import UsageError
from veridical.files.outputs import writing

T = TypeVar("T")
M = TypeVar("M", bound=BaseModel)

_HEADER = 1 << 20  # bytes


def read_trained(
    name: str | Path,
    parse: Callable[[bytes, bool, str], T],
    *,
    title: str,
    command: str,
    most: int,
) -> T:
    """The model in the file of that path, which may end in ``@`` and a version that the file must
    have.

    Args:
        parse: makes the model of the file's content, whether that is safetensors, and the version;
            what is wrong with it is one of the errors of damaged data.
        title: what it is, for messages.
        command: what trains it.
        most: bytes.

    Raises:
        UsageError: the file cannot be read, is no such model, or has changed.
    """
    name = str(name)
    path, at, version = name.rpartition("@")
    if not at or not re.fullmatch(r"[0-9a-f]{8}", version):
        path, version = name, ""
    try:
        status = Path(path).stat()
        if not (S_ISREG(status.st_mode) or S_ISDIR(status.st_mode)):
            raise UsageError(f"{path} is a device or pipe, no {title} model")
        if status.st_size > most:
            raise UsageError(f"{path}: larger than any {title} model")
        read: tuple[str, T] = _read(path, status.st_mtime_ns, status.st_size, parse)
    except OSError as e:
        raise UsageError(f"cannot read {title} model {path}: {e.strerror or e}") from None
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError, OverflowError) as e:
        raise UsageError(
            f"{path} is no {title} model of `{command}` ({type(e).__name__}: {e})"
        ) from None
    if version and version != read[0]:
        raise UsageError(f"{path} has changed: it was {version} and is {read[0]}")
    return read[1]


@lru_cache(maxsize=8)
def _read(
    path: str, modified: int, size: int, parse: Callable[[bytes, bool, str], T]
) -> tuple[str, T]:
    content = Path(path).read_bytes()
    version = hashlib.blake2b(content, digest_size=4).hexdigest()
    return version, parse(content, path.endswith(".safetensors"), version)


@cache
def json_parser(model: type[M]) -> Callable[[bytes, bool, str], tuple[M, str]]:
    """A parser for :func:`read_trained`: JSON as ``model`` has it, and the file's version."""
    return lambda content, safetensors, version: (from_json(model, content), version)


def write_trained(path: str | Path, model: BaseModel | bytes) -> None:
    """Write a model, or the content of its file, to ``path``, whole or not at all."""
    if isinstance(model, BaseModel):
        model = f"{model.model_dump_json(indent=1)}\n".encode()
    with writing(path, binary=True) as file:
        file.write(model)


def pinned(name: str, version: str) -> str:
    """``name`` with the version of the file's content (``model.json@1a2b3c4d``): as a scorer's
    parameter it makes another content another scorer."""
    return name if name.endswith(f"@{version}") else f"{name}@{version}"


def from_json(model: type[M], content: bytes) -> M:
    """The JSON of a file as ``model`` has it.

    Raises:
        ValueError: it is none; the message names the first fields that are wrong.
    """
    try:
        return model.model_validate_json(content)
    except ValidationError as e:
        errors = (
            f"{'.'.join(map(str, x['loc'])) or 'the file'}: {x['msg']}"
            for x in itertools.islice(e.errors(include_url=False, include_input=False), 3)
        )
        raise ValueError("; ".join(errors)) from None


def arrays_content(path: Path, head: Mapping[str, Any], arrays: Mapping[str, Floats]) -> bytes:
    """The content of a file of arrays: safetensors if that is the ending of ``path``, else JSON
    with float32 arrays as base64 beside their shapes."""
    if path.suffix == ".safetensors":
        return to_safetensors(head, arrays)
    body = {
        name: {
            "shape": list(array.shape),
            "float32": base64.b64encode(array.astype("<f4").tobytes()).decode(),
        }
        for name, array in arrays.items()
    }
    return json.dumps({**head, "arrays": body}).encode() + b"\n"


def arrays_of(content: bytes, safetensors: bool) -> tuple[dict[str, Any], dict[str, Floats]]:
    """What :func:`arrays_content` has made.

    Raises:
        ValueError, KeyError, TypeError, AttributeError: it is damaged, or holds something else.
    """
    if safetensors:
        return from_safetensors(content)
    head = json.loads(content)
    return head, {name: _array(entry) for name, entry in head.pop("arrays").items()}


def _array(entry: Mapping[str, Any]) -> Floats:
    flat = np.frombuffer(base64.b64decode(entry["float32"], validate=True), dtype="<f4")
    return flat.astype(np.float64).reshape([whole(n) for n in entry["shape"]])


def whole(value: Any) -> int:
    """A whole number from 0 on: negative ones would let numpy guess a shape.

    Raises:
        ValueError: it is none.
    """
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise ValueError(f"{value!r} where a whole number belongs")
    return value


def to_safetensors(head: Mapping[str, Any], arrays: Mapping[str, Floats]) -> bytes:
    """The safetensors format: header length, JSON header, arrays."""
    header: dict[str, Any] = {"__metadata__": {"veridical": json.dumps(head)}}
    body = b""
    for name, array in arrays.items():
        raw = array.astype("<f4").tobytes()
        header[name] = {
            "dtype": "F32",
            "shape": list(array.shape),
            "data_offsets": [len(body), len(body) + len(raw)],
        }
        body += raw
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    return len(text).to_bytes(8, "little") + text + body


def from_safetensors(content: bytes) -> tuple[dict[str, Any], dict[str, Floats]]:
    """What :func:`to_safetensors` has made.

    Raises:
        ValueError, KeyError, TypeError: it is damaged, or holds something else.
    """
    size = int.from_bytes(content[:8], "little")
    if len(content) < 8 or size > min(_HEADER, len(content) - 8):
        raise ValueError("its header is cut or too long")
    header = json.loads(content[8 : 8 + size])
    head = json.loads(header.pop("__metadata__")["veridical"])
    body = content[8 + size :]
    arrays = {}
    for name, entry in header.items():
        start, end = entry["data_offsets"]
        shape: Sequence[int] = entry["shape"]
        whole = all(isinstance(n, int) and n >= 0 for n in (start, end, *shape))
        if entry["dtype"] != "F32" or not whole or not end <= len(body):
            raise ValueError(f"array {name} is not as described")
        if end - start != 4 * math.prod(shape):
            raise ValueError(f"array {name} is not of its shape")
        flat = np.frombuffer(body[start:end], dtype="<f4")
        arrays[name] = flat.reshape(shape).astype(np.float64)
    return head, arrays
