"""A model that is sure to be asked for is opened before it is."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from veridical.errors import ModelError
from veridical.models import load_nli
from veridical.models.nli import onnx, packaged


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str]]:
    """Folder and precision of every graph that is opened."""
    asked: list[tuple[str, str]] = []
    real = onnx._open

    def spied(path: Path, precision: str) -> Any:
        asked.append((path.parent.name, precision))
        return real(path, precision)

    monkeypatch.setattr(onnx, "_open", spied)
    return asked


def test_its_error_is_that_of_who_asks(tmp_path: Path) -> None:
    (tmp_path / "model.onnx").write_bytes(b"none")
    for name in ("config.json", "tokenizer.json"):
        folder = packaged.need(packaged.MINI).folder
        (tmp_path / name).write_bytes((folder / name).read_bytes())
    onnx.open_early(tmp_path, "float32")
    with pytest.raises(ModelError, match=r"model\.onnx"):
        onnx.OnnxNli(tmp_path)
    assert not onnx._EARLY


def test_a_model_of_ours_is_opened_early_by_its_name_and_no_other(
    opened: list[tuple[str, str]],
) -> None:
    for spec in ("org/model", "mini?precision=int8", "http://127.0.0.1:9/v1"):
        packaged.open_early(spec, "auto")
        assert not onnx._EARLY
    for precision, spec in (("float32", "mini"), ("auto", "mini?precision=auto")):
        packaged.open_early("mini", precision)
        assert len(onnx._EARLY) == 1
        nli: Any = load_nli(spec, threads=1)
        assert not onnx._EARLY and opened == [(packaged.MINI, precision)]
        assert nli.name == packaged.MINI
        int8 = precision == "auto"
        assert nli.revision.startswith("int8-") == int8
        opened.clear()
