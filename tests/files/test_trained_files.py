"""The container of trained arrays: files that earlier versions wrote, byte by byte."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from veridical.files.trained_files import arrays_content, arrays_of

HEAD = {"format": "x"}
ARRAYS = {"w": np.array([[1.5, -2.0]]), "b": np.array(0.25)}
#: 1.5, -2 and 0.25 as little-endian float32.
BODY = bytes.fromhex("0000c03f 000000c0 0000803e")
JSON = (
    b'{"format": "x", "arrays": {"w": {"shape": [1, 2], "float32": "AADAPwAAAMA="}, '
    b'"b": {"shape": [], "float32": "AACAPg=="}}}\n'
)
HEADER = (
    b'{"__metadata__": {"veridical": "{\\"format\\": \\"x\\"}"}, '
    b'"w": {"dtype": "F32", "shape": [1, 2], "data_offsets": [0, 8]}, '
    b'"b": {"dtype": "F32", "shape": [], "data_offsets": [8, 12]}}     '
)
SAFETENSORS = len(HEADER).to_bytes(8, "little") + HEADER + BODY


@pytest.mark.parametrize(("ending", "content"), [("json", JSON), ("safetensors", SAFETENSORS)])
def test_the_container_is_as_it_was(ending: str, content: bytes) -> None:
    head, arrays = arrays_of(content, ending == "safetensors")
    assert head == HEAD
    assert {name: array.tolist() for name, array in arrays.items()} == {
        "w": [[1.5, -2.0]],
        "b": 0.25,
    }
    assert arrays_content(Path(f"m.{ending}"), HEAD, ARRAYS) == content
