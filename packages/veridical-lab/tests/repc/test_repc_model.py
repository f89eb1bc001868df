"""RepC's model files: kept whole, and refused when they are not what they say."""

from __future__ import annotations

import base64
import json
import os

import numpy as np
import pytest
from pydantic import TypeAdapter

from veridical.claims.checkers import RepcFile
from veridical.errors import UsageError
from veridical_lab.repc.classifiers import KINDS
from veridical_lab.repc.fit import fit, fit_mixer
from veridical_lab.repc.model import Repc, read_repc, write_repc

RNG = np.random.default_rng(0)
TRUTH = RNG.integers(0, 3, 90)
STATES = (RNG.normal(size=(90, 4, 6)) + TRUTH[:, None, None]).astype(np.float32)


def made(kind="svm", layers=(2,)):
    experts = [fit(kind, STATES[:, a].astype(float), TRUTH, 0) for a in layers]
    mixer = None
    if len(layers) > 1:
        each = [e.probabilities(STATES[:, a]) for e, a in zip(experts, layers, strict=True)]
        mixer = fit_mixer(np.concatenate(each, axis=1), TRUTH, 0)
    return Repc(kind, layers, tuple(experts), mixer, "smollm2", "abc", (4, 6), {"n": 90})


@pytest.mark.parametrize("ending", ["json", "safetensors"])
@pytest.mark.parametrize("layers", [(2,), (1, 2, 3)])
@pytest.mark.parametrize("kind", KINDS)
def test_a_file_holds_all_of_it(kind, layers, ending, tmp_path):
    model, path = made(kind, layers), tmp_path / f"repc.{ending}"
    write_repc(path, model)
    found = read_repc(str(path))
    assert (found.kind, found.layers, found.proxy, found.revision) == (
        kind,
        layers,
        "smollm2",
        "abc",
    )
    assert found.shape == (4, 6) and found.notes == {"n": 90} and len(found.version) == 8
    x = STATES[:, list(layers)]
    np.testing.assert_allclose(found.probabilities(x), model.probabilities(x), atol=1e-4)
    again = tmp_path / f"again.{ending}"
    write_repc(again, found)
    np.testing.assert_array_equal(read_repc(str(again)).probabilities(x), found.probabilities(x))


def test_an_ensemble_is_the_mixers_answer_to_all_layers():
    model = made("svm", (1, 3))
    x = STATES[:, [1, 3]]
    first, second = (e.probabilities(x[:, i].astype(float)) for i, e in enumerate(model.experts))
    expected = model.mixer.probabilities(np.hstack([first, second]))
    np.testing.assert_allclose(model.probabilities(x), expected)


def test_a_model_is_pinned_to_the_files_content(tmp_path):
    path = tmp_path / "repc.json"
    write_repc(path, made())
    pinned = TypeAdapter(RepcFile).validate_python(str(path))
    assert pinned == f"{path}@{read_repc(str(path)).version}"
    assert TypeAdapter(RepcFile).validate_python(pinned) == pinned
    assert read_repc(pinned).kind == "svm"
    write_repc(path, made("knn"))
    with pytest.raises(UsageError, match="has changed"):
        read_repc(pinned)


def test_parts_that_do_not_fit_together():
    svm = made()
    for wrong in (
        {"layers": (4,)},
        {"layers": (0,)},
        {"layers": (1, 2)},
        {"layers": (), "experts": ()},
        {"shape": (4, 7)},
        {"layers": (1, 2), "experts": svm.experts * 2},
        {"layers": (1, 1), "experts": svm.experts * 2, "mixer": made("svm", (1, 2)).mixer},
        {"mixer": made("svm", (1, 2)).mixer},
    ):
        with pytest.raises(ValueError):
            Repc(**{**vars(svm), **wrong})


def hostile(head):
    """What a file may say instead, by what it is."""
    arrays = head["arrays"]
    name = "0.weights"
    big = {**arrays[name], "shape": [10**9, 10**9]}
    negative = {**arrays[name], "shape": [3, -1]}
    nan = base64.b64encode(np.full(arrays[name]["shape"], np.nan, "<f4").tobytes()).decode()
    cut = {**arrays[name], "float32": arrays[name]["float32"][:-4]}
    yield "no object", []
    yield "a number", 3
    yield "no arrays", {k: v for k, v in head.items() if k != "arrays"}
    yield "arrays in a list", {**head, "arrays": []}
    for key in head:
        if key != "arrays":
            yield f"no {key}", {k: v for k, v in head.items() if k != key}
            yield f"odd {key}", {**head, key: {"a": [1, {}]} if key != "notes" else 3}
    yield "another format", {**head, "format": "veridical-repc-99"}
    yield "layers of text", {**head, "layers": ["2"]}
    yield "true layers", {**head, "layers": [True]}
    yield "many layers", {**head, "layers": list(range(1, 5000))}
    yield "a deep model", {**head, "shape": [10**12, 6]}
    for what, value in (("big", big), ("negative", negative), ("cut", cut), ("text", "abc")):
        yield f"{what} array", {**head, "arrays": {**arrays, name: value}}
    yield "nan", {**head, "arrays": {**arrays, name: {**arrays[name], "float32": nan}}}
    yield "no base64", {**head, "arrays": {**arrays, name: {**arrays[name], "float32": "%%%"}}}
    yield "another array", {**head, "arrays": {**arrays, "0.more": arrays[name]}}
    yield "a mixer of nothing", {**head, "arrays": {**arrays, "mixer.mean": arrays["0.mean"]}}


def test_hostile_json(tmp_path):
    path = tmp_path / "repc.json"
    write_repc(path, made())
    head = json.loads(path.read_text())
    texts = {what: json.dumps(value) for what, value in hostile(head)}
    texts |= {"empty": "", "cut": path.read_text()[:500], "deep": "[" * 100_000}
    for number, (what, text) in enumerate(texts.items()):
        path.write_text(text)
        os.utime(path, (number, number))
        with pytest.raises(UsageError, match="is not a valid RepC model"):
            raise AssertionError(f"{what}: {read_repc(str(path))}")
    with pytest.raises(UsageError, match="cannot read"):
        read_repc(str(tmp_path / "none.json"))
    with pytest.raises(UsageError, match="cannot read"):
        read_repc(str(tmp_path))


def test_hostile_safetensors(tmp_path):
    path = tmp_path / "repc.safetensors"
    write_repc(path, made())
    whole = path.read_bytes()
    size = int.from_bytes(whole[:8], "little")
    header = json.loads(whole[8 : 8 + size])

    def with_header(value):
        text = json.dumps(value).encode()
        return len(text).to_bytes(8, "little") + text + whole[8 + size :]

    no_head = {k: v for k, v in header.items() if k != "__metadata__"}
    half = {**header, "0.mean": {**header["0.mean"], "dtype": "F16"}}
    contents = [
        *(b"", b"\0" * 4, whole[:100], whole[:-8], b"\xff" * 8 + whole[8:]),
        *(with_header(no_head), with_header({**header, "__metadata__": {}}), with_header(half)),
        with_header({**header, "__metadata__": {"veridical": "[]"}}),
    ]
    for number, content in enumerate(contents):
        path.write_bytes(content)
        os.utime(path, (number, number))
        with pytest.raises(UsageError, match="is not a valid RepC model"):
            read_repc(str(path))
