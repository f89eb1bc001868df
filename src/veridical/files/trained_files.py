"""Files of small user-trained models, pinned to their content; no pickle.

The format is JSON or safetensors, which needs no package for float32 arrays alone.
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
    """Read the model in the file ``name``, which may end in ``@`` and the required version of the
    file.

    Args:
        parse: makes the model from the file's content, True for safetensors, and the version;
            it raises an error of damaged data for invalid content.
        title: name of the kind of model, for messages.
        command: the command that trains it.
        most: maximum bytes.

    Raises:
        UsageError: the file cannot be read, is not such a model, or has changed.
    """
    name = str(name)
    path, at, version = name.rpartition("@")
    if not at or not re.fullmatch(r"[0-9a-f]{8}", version):
        path, version = name, ""
    try:
        status = Path(path).stat()
        if not (S_ISREG(status.st_mode) or S_ISDIR(status.st_mode)):
            raise UsageError(f"{path} is a device or pipe, not a valid {title} model")
        if status.st_size > most:
            raise UsageError(f"{path}: larger than any {title} model")
        read: tuple[str, T] = _read(path, status.st_mtime_ns, status.st_size, parse)
    except OSError as e:
        raise UsageError(f"cannot read {title} model {path}: {e.strerror or e}") from None
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError, OverflowError) as e:
        raise UsageError(
            f"{path} is not a valid {title} model of `{command}` ({type(e).__name__}: {e})"
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
    """Make a parser for :func:`read_trained`: JSON of ``model``, and the file's version."""
    return lambda content, safetensors, version: (from_json(model, content), version)


def write_trained(path: str | Path, model: BaseModel | bytes) -> None:
    """Write a model, or the content of its file, to ``path`` atomically."""
    if isinstance(model, BaseModel):
        model = f"{model.model_dump_json(indent=1)}\n".encode()
    with writing(path, binary=True) as file:
        file.write(model)


def pinned(name: str, version: str) -> str:
    """Return ``name`` with the version of the file's content (``model.json@1a2b3c4d``): as a
    scorer's parameter, it makes different content a different scorer."""
    return name if name.endswith(f"@{version}") else f"{name}@{version}"


def from_json(model: type[M], content: bytes) -> M:
    """Parse the JSON of a file as ``model``.

    Raises:
        ValueError: it is invalid; the message names the first wrong fields.
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
    """Return the content of a file of arrays: safetensors if ``path`` has that extension, else JSON
    with float32 arrays as base64 with their shapes."""
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
    """Parse content made by :func:`arrays_content`.

    Raises:
        ValueError, KeyError, TypeError, AttributeError: it is damaged, or something else.
    """
    if safetensors:
        return from_safetensors(content)
    head = json.loads(content)
    return head, {name: _array(entry) for name, entry in head.pop("arrays").items()}


def _array(entry: Mapping[str, Any]) -> Floats:
    flat = np.frombuffer(base64.b64decode(entry["float32"], validate=True), dtype="<f4")
    return flat.astype(np.float64).reshape([whole(n) for n in entry["shape"]])


def whole(value: Any) -> int:
    """Return a whole number of 0 or more; a negative one would let numpy infer a dimension.

    Raises:
        ValueError: it is not such a number.
    """
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise ValueError(f"{value!r} is not a whole number")
    return value


def to_safetensors(head: Mapping[str, Any], arrays: Mapping[str, Floats]) -> bytes:
    """Return the safetensors format: header length, JSON header, arrays."""
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
    """Parse content made by :func:`to_safetensors`.

    Raises:
        ValueError, KeyError, TypeError: it is damaged, or something else.
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
