"""Reading model folders: settings, windows, tensors, and every way they can be wrong."""

from __future__ import annotations

import json
import os
import shutil
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from veridical.errors import ModelError, UsageError
from veridical.models import MODEL_FORMS, list_models, load_encoder
from veridical.models.catalog import EMBEDDED
from veridical.models.folder import Settings, digest_of, load_tokenizer, read_safetensors
from veridical.models.onnx import OnnxEncoder


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A copy of the embedded model that a test may change."""
    return Path(shutil.copytree(EMBEDDED, tmp_path / "model"))


def write(path: Path, value: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value), "utf-8")


def tensors(path: Path, entries: dict[str, tuple[str, list[int], bytes]]) -> None:
    """A safetensors file by the format's own description."""
    header, body = {}, b""
    for name, (dtype, shape, data) in entries.items():
        header[name] = {
            "dtype": dtype, "shape": shape, "data_offsets": [len(body), len(body) + len(data)]
        }  # fmt: skip
        body += data
    text = json.dumps({"__metadata__": {"format": "pt"}, **header}).encode()
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(struct.pack("<Q", len(text)) + text + body)


def vector(encoder: Any, text: str) -> Any:
    (windows,) = encoder.windows([text])
    return encoder.assemble(windows, encoder.run(windows, False), False).vector


def test_safetensors_of_every_float_kind(tmp_path: Path) -> None:
    values = [1.5, -2.0, 0.0, 0.25]
    bf16 = (np.array(values, "<f4").view("<u4") >> 16).astype("<u2").tobytes()
    kinds = {f"F{b}": np.array(values, f"<f{b // 8}").tobytes() for b in (16, 32, 64)}
    path = tmp_path / "x.safetensors"
    tensors(path, {k: (k, [2, 2], data) for k, data in {**kinds, "BF16": bf16}.items()})
    found = read_safetensors(path)
    assert set(found) == {"F16", "F32", "F64", "BF16"}
    for tensor in found.values():
        assert tensor.dtype == np.float32
        assert tensor.tolist() == [[1.5, -2.0], [0.0, 0.25]]


@pytest.mark.parametrize(
    "data",
    [b"", b"\xff" * 8, struct.pack("<Q", 2) + b"[]", struct.pack("<Q", 9) + b'{"a": {}}',
     struct.pack("<Q", 63) + b'{"a": {"dtype": "F32", "shape": [4], "data_offsets": [0, 16]}}'],
)  # fmt: skip
def test_broken_safetensors(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "x").write_bytes(data)
    with pytest.raises(ModelError, match="not a readable safetensors"):
        read_safetensors(tmp_path / "x")


def test_dense_head_prefix_and_subfolder(folder: Path) -> None:
    """A head that keeps the first two dimensions, a default prompt, and onnx/model.onnx."""
    weight = np.eye(2, 384, dtype="<f4")
    tensors(folder / "2_Dense/model.safetensors",
            {"linear.weight": ("F32", [2, 384], weight.tobytes())})  # fmt: skip
    write(folder / "2_Dense/config.json", {"activation_function": "torch.nn.Identity"})
    modules = json.loads((folder / "modules.json").read_text())
    modules.insert(2, {"path": "2_Dense", "type": "sentence_transformers.models.Dense"})
    write(folder / "modules.json", modules)
    prompts = {"prompts": {"q": "query: "}, "default_prompt_name": "q"}
    write(folder / "config_sentence_transformers.json", prompts)
    (folder / "onnx").mkdir()
    (folder / "model.onnx").rename(folder / "onnx/model.onnx")

    encoder = load_encoder(str(folder), threads=1)
    (windows,) = encoder.windows(["Paris"])
    assert (windows[0].content.head, windows[0].content.tail) == (3, 1)  # [CLS] query :
    plain = OnnxEncoder(EMBEDDED, threads=1)
    expected = vector(plain, "query: Paris")[:2]
    np.testing.assert_allclose(
        vector(encoder, "Paris"), expected / np.linalg.norm(expected), atol=1e-6
    )
    without = load_encoder(f"onnx:{folder}?prefix=", threads=1)
    expected = vector(plain, "Paris")[:2]
    np.testing.assert_allclose(
        vector(without, "Paris"), expected / np.linalg.norm(expected), atol=1e-6
    )
    assert len({encoder.revision, without.revision, plain.revision}) == 3


def test_prefix_is_in_every_window_and_may_stay_out_of_the_mean(folder: Path) -> None:
    encoder = OnnxEncoder(folder, threads=1, prefix="query: ")
    (windows,) = encoder.windows(["hello world " * 300])
    assert len(windows) > 2
    assert len({tuple(w.content.ids[:3]) for w in windows}) == 1
    write(folder / "1_Pooling/config.json", {"pooling_mode": "mean", "include_prompt": False})
    apart = OnnxEncoder(folder, threads=1, prefix="query: ")
    (windows,) = apart.windows(["Paris"])
    (output,) = apart.run(windows, True)
    np.testing.assert_allclose(output.vector, output.tokens[3:].mean(axis=0), atol=1e-5)


def test_end_token_is_appended_where_the_configuration_asks(folder: Path) -> None:
    tokenizer = json.loads((folder / "tokenizer.json").read_text("utf-8"))
    tokenizer["post_processor"] = None
    write(folder / "tokenizer.json", tokenizer)
    write(
        folder / "tokenizer_config.json", {"add_eos_token": True, "eos_token": {"content": "[SEP]"}}
    )
    settings = Settings.read(folder)
    ((window,),) = settings.windower(load_tokenizer(folder))(["Paris"])
    assert window.content.ids.tolist() == [3000, 102]
    assert (window.content.head, window.content.tail) == (0, 1)
    write(folder / "tokenizer_config.json", {"add_eos_token": True, "eos_token": "</none>"})
    with pytest.raises(ModelError, match="not in the vocabulary"):
        Settings.read(folder).windower(load_tokenizer(folder))


def test_lower_casing_and_length_from_configuration(folder: Path) -> None:
    write(folder / "sentence_bert_config.json", {"max_seq_length": None, "do_lower_case": True})
    write(folder / "config.json",
          {"model_type": "roberta", "max_position_embeddings": 514, "pad_token_id": 1})  # fmt: skip
    settings = Settings.read(folder)
    assert (settings.max_length, settings.lower) == (512, True)
    write(folder / "tokenizer_config.json", {"model_max_length": 128})
    assert Settings.read(folder).max_length == 128
    assert vector(OnnxEncoder(folder, threads=1), "PARIS").shape == (384,)


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("modules.json", {"a": 1}, "must be a JSON list"),
        ("modules.json", [{"type": "x.CNN", "path": ""}], "'CNN' are not supported"),
        ("modules.json", [{"type": "x.Pooling", "path": "../.."}], "outside the model folder"),
        ("modules.json", [{"type": "x.Dense", "path": "none"}], "no model.safetensors"),
        ("1_Pooling/config.json", {"pooling_mode": "median"}, "unknown pooling 'median'"),
        ("sentence_bert_config.json", {"max_seq_length": 2}, "leaves no room"),
        ("tokenizer.json", {"version": "9"}, "tokenizer.json"),
        ("model.onnx", {}, "model.onnx"),
    ],
)
def test_broken_folders_are_model_errors(folder: Path, name: str, value: Any, message: str) -> None:
    write(folder / name, value)
    with pytest.raises(ModelError, match=message):
        OnnxEncoder(folder, threads=1)


@pytest.mark.parametrize("name", ["tokenizer.json", "model.onnx"])
def test_missing_files_are_model_errors(folder: Path, name: str) -> None:
    (folder / name).unlink()
    with pytest.raises(ModelError, match=name):
        OnnxEncoder(folder, threads=1)


def test_a_graph_that_is_opened_late_is_not_read_before_a_text_is(folder: Path) -> None:
    known = OnnxEncoder(folder, threads=1, lazy=True)
    assert np.array_equal(vector(known, "Paris"), vector(OnnxEncoder(folder, threads=1), "Paris"))
    late = OnnxEncoder(folder, threads=1, lazy=True)
    (folder / "model.onnx").write_bytes(b"broken")
    (windows,) = late.windows(["Paris"])
    with pytest.raises(ModelError, match=r"model\.onnx"):
        late.run(windows, False)
    with pytest.raises(ModelError, match=r"model\.onnx"):
        OnnxEncoder(folder, threads=1)


def test_specifications() -> None:
    for wrong in ("nonsense", "a/b/c", "onnx:", "ftp://host/x"):
        with pytest.raises(UsageError, match="names no model") as error:
            load_encoder(wrong)
        assert all(form in str(error.value) for form in MODEL_FORMS)
    with pytest.raises(UsageError, match="no option 'layer'"):
        load_encoder("onnx:x?layer=2")
    for absent in ("onnx:does-not-exist", "./does-not-exist", "/does/not/exist"):
        with pytest.raises(UsageError, match="no such model folder"):
            load_encoder(absent)


def test_list_of_models() -> None:
    (row,) = [row for row in list_models() if row.kind == "encoder"]
    assert (row.name, row.licence, row.kind) == ("minilm", "Apache-2.0", "encoder")
    assert 23e6 < row.as_dict()["size_bytes"] < 25e6
    assert row.revision == load_encoder(threads=1).revision


def test_a_digest_is_that_of_the_content_after_any_change(tmp_path: Path) -> None:
    path = tmp_path / "weights"
    path.write_bytes(b"a" * 100)
    first = digest_of("m", [path])
    path.write_bytes(b"b" * 100)  # as long, and at once
    assert digest_of("m", [path]) != first
    path.write_bytes(b"a" * 100)
    assert digest_of("m", [path]) == first != digest_of("n", [path])


def test_a_file_that_has_not_changed_is_read_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "weights"
    path.write_bytes(b"a" * 100)
    os.utime(path, ns=(0, 10**18))
    first = digest_of("m", [path])
    monkeypatch.setattr(Path, "open", lambda *_: pytest.fail("it is read again"))
    assert digest_of("m", [path]) == first
    monkeypatch.undo()
    path.write_bytes(b"b" * 100)
    os.utime(path, ns=(0, 10**18 + 1))
    assert digest_of("m", [path]) != first
