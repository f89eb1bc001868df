"""Sessions that are opened before they are asked for."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from veridical.errors import ModelError
from veridical.models import load_nli, onnx
from veridical.models.catalog import EMBEDDED
from veridical.models.nli import packaged


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """The files of which a session was made."""
    made: list[Path] = []
    real = onnx._session

    def counted(path: Path) -> Any:
        made.append(path)
        return real(path)

    monkeypatch.setattr(onnx, "_session", counted)
    return made


def test_what_was_begun_is_taken_once(opened: list[Path]) -> None:
    path = EMBEDDED / "model.onnx"
    onnx.open_early(path)
    begun = onnx._EARLY[path]
    assert onnx.open_session(path) is begun.result()
    assert opened == [path] and path not in onnx._EARLY
    assert onnx.open_session(path) is not begun.result() and len(opened) == 2


def test_its_error_is_that_of_who_asks(tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    path.write_bytes(b"none")
    onnx.open_early(path)
    with pytest.raises(ModelError, match=r"model\.onnx"):
        onnx.open_session(path)


def test_a_model_of_ours_is_opened_early_by_its_name_and_no_other(opened: list[Path]) -> None:
    for spec in ("org/model", "mini?precision=int8", "http://127.0.0.1:9/v1"):
        packaged.open_early(spec)
        assert not onnx._EARLY
    packaged.open_early("mini")
    assert len(onnx._EARLY) == 1
    nli: Any = load_nli("mini", threads=1)
    assert not onnx._EARLY and [path.parent.name for path in opened] == [packaged.MINI]
    assert nli.name == packaged.MINI
