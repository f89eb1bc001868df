from __future__ import annotations

import itertools
import json

import numpy as np
import pytest
from llm_evidence import FixedReplies
from token_records import reading_of, record_of, token

from veridical.core.evidence import score_locally
from veridical.core.registry import REGISTRY
from veridical.errors import NotApplicable, UsageError
from veridical_lab.scorers.halludetect import halludetect
from veridical_lab.scorers.halludetect_features import FEATURES, features
from veridical_lab.scorers.halludetect_model import (
    Detector,
    read_detector,
    write_detector,
)

TOKENS = [token("Paris", 0.5, 0.3), token(" is", 0.2, 0.7), token(" big.", 0.9, 0.05)]


def detector(proxy=None, condition="all", kind="logistic") -> Detector:
    rng = np.random.default_rng(0)
    sizes = (4, 1) if kind == "logistic" else (4, 6, 5, 1)
    layers = tuple(
        (rng.normal(size=(a, b)), rng.normal(size=b)) for a, b in itertools.pairwise(sizes)
    )
    return Detector(kind, np.full(4, 0.25), np.full(4, 0.5), layers, proxy, condition, {"n": 3})


async def score(record, **parameters):
    readings = parameters.pop("readings", None)
    return await halludetect(record, FixedReplies(record, readings=readings), **parameters)


def test_features_by_hand():
    # min p, mean p, max(p_max - p), min(p_max - p_min); the chosen token may be the likeliest
    reading = reading_of(
        ["a", "b", "c"],
        [0.5, 0.2, 0.9],
        top=[[0.5, 0.3], [0.7, 0.2], [0.9, 0.05]],
        lowest=[0.01, 0.02, 0.001],
    )
    assert FEATURES == ("mtp", "avgtp", "mpd", "mps")
    expected = [0.2, np.mean([0.5, 0.2, 0.9]), 0.5, min(0.49, 0.68, 0.899)]
    assert features(reading) == pytest.approx(expected)


def test_features_where_the_least_likely_is_unknown_or_the_chosen_not_listed():
    reading = reading_of(["a", "b"], [0.6, 0.2], top=[[0.3, 0.1], [0.7, 0.1]])
    assert features(reading) == pytest.approx([0.2, 0.4, 0.5, 0.6])
    with pytest.raises(NotApplicable, match="likeliest token"):
        features(reading_of(["a"], [0.6]))


async def test_log_odds_and_one_sigmoid(tmp_path):
    path = tmp_path / "m.json"
    made = detector()
    write_detector(path, made)
    record = record_of(TOKENS)
    found = await score(record, model=str(path))
    x = np.array([0.2, np.mean([0.5, 0.2, 0.9]), 0.5, 0.5])
    ((weights, bias),) = made.layers
    z = float(((x - 0.25) / 0.5) @ weights[:, 0] + bias[0])
    assert found.raw["log_odds"] == pytest.approx(z, abs=1e-5)
    assert [found.raw[name] for name in FEATURES] == pytest.approx(list(x))
    assert found.risk == pytest.approx(1 / (1 + np.exp(-z)), abs=1e-6)
    assert [u.text for u in found.units] == ["Paris", " is", " big."]


@pytest.mark.parametrize("ending", ["json", "safetensors"])
@pytest.mark.parametrize("kind", ["logistic", "network"])
def test_files_hold_the_same_numbers_to_float32(tmp_path, ending, kind):
    path = tmp_path / f"m.{ending}"
    made = detector("torch:x", "prompt", kind)
    write_detector(path, made)
    found = read_detector(str(path))
    x = np.random.default_rng(1).random((50, 4))
    assert found.log_odds(x) == pytest.approx(made.log_odds(x), abs=1e-5)
    for (w, b), (v, c) in zip(found.layers, made.layers, strict=True):
        assert (w == v.astype(np.float32)).all() and (b == c.astype(np.float32)).all()
    assert (found.kind, found.proxy, found.condition) == (kind, "torch:x", "prompt")
    assert found.notes == {"n": 3}


@pytest.mark.torch
def test_the_network_is_relu_layers_and_log_odds():
    torch = pytest.importorskip("torch")
    made = detector(kind="network")
    layers = []
    for weights, biases in made.layers:
        layer = torch.nn.Linear(*weights.shape).double()
        layer.weight.data, layer.bias.data = torch.tensor(weights.T), torch.tensor(biases)
        layers += [layer, torch.nn.ReLU()]
    reference = torch.nn.Sequential(*layers[:-1])
    x = np.random.default_rng(1).random((20, 4))
    with torch.no_grad():
        expected = reference(torch.tensor((x - 0.25) / 0.5))[:, 0]
    assert made.log_odds(x) == pytest.approx(expected.numpy())
    assert made.risk(x) == pytest.approx(torch.sigmoid(expected).numpy())


@pytest.mark.torch
def test_the_safetensors_library_reads_ours_and_we_read_its(tmp_path):
    safetensors = pytest.importorskip("safetensors")
    from safetensors.numpy import save_file

    path, again = tmp_path / "a.safetensors", tmp_path / "b.safetensors"
    made = detector(kind="network")
    write_detector(path, made)
    with safetensors.safe_open(path, "np") as file:
        arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        metadata = file.metadata()
    assert (arrays["layer1.weights"] == made.layers[1][0].astype(np.float32)).all()
    save_file(arrays, again, metadata=metadata)
    x = np.random.default_rng(1).random((5, 4))
    assert (read_detector(str(again)).log_odds(x) == read_detector(str(path)).log_odds(x)).all()


def test_extreme_log_odds_are_finite_risks(tmp_path):
    made = detector()
    big = Detector(
        "logistic", made.mean, made.scale, ((np.full((4, 1), 1e30), np.zeros(1)),), None, "all", {}
    )
    assert big.risk(np.array([[1.0] * 4, [0.0] * 4])).tolist() == [1.0, 0.0]


async def test_another_proxy_or_condition_than_in_training_is_refused(tmp_path):
    path = tmp_path / "m.json"
    write_detector(path, detector("torch:x", "prompt"))
    record = record_of(TOKENS)
    for parameters in ({}, {"proxy": "torch:y"}, {"proxy": "torch:x"}):
        with pytest.raises(UsageError, match="trained with proxy=torch:x, condition=prompt"):
            await score(record, model=str(path), **parameters)
    reading = reading_of([record.response], [0.5], top=[[0.5, 0.2]], lowest=[0.001])
    found = await score(
        record,
        model=str(path),
        proxy="torch:x",
        condition="prompt",
        readings={("", record.response): reading},
    )
    assert found.raw["mps"] == pytest.approx(0.499)


async def test_without_a_model():
    with pytest.raises(UsageError, match=r"halludetect\(model=PATH\)"):
        await score(record_of(TOKENS))
    with pytest.raises(UsageError, match="cannot read HalluDetect model nowhere"):
        REGISTRY.parse("halludetect(model='nowhere.json')")


def test_the_file_is_pinned_to_its_content(tmp_path):
    path = tmp_path / "m.json"
    write_detector(path, detector())
    (bound,) = REGISTRY.parse(f"halludetect(model='{path}')")
    version = read_detector(str(path)).version
    assert f"m.json@{version}" in bound.signature() and len(version) == 8
    (again,) = REGISTRY.parse(bound.spec)
    assert again.key == bound.key
    write_detector(path, detector(condition="none", kind="network"))
    (found,) = score_locally(record_of(TOKENS), [bound])
    assert found.status == "failed" and f"it was {version}" in found.reason


PARTS = ("weights", "biases")
HEAD = json.dumps({"a": 1}).encode()


def earlier(made):
    """The content of a file as versions before 0.3 wrote it."""
    layers = enumerate(made.layers)
    of_layers = {f"layer{i}.{n}": a for i, of in layers for n, a in zip(PARTS, of, strict=True)}
    arrays = {"mean": made.mean, "scale": made.scale, **of_layers}
    return {
        "format": "veridical-halludetect-1",
        "kind": made.kind,
        "features": ["mtp", "avgtp", "mpd", "mps"],
        "proxy": made.proxy,
        "condition": made.condition,
        "notes": dict(made.notes),
        "weights": {name: array.astype(np.float32).tolist() for name, array in arrays.items()},
    }


@pytest.mark.parametrize("kind", ["logistic", "network"])
def test_a_file_of_an_earlier_version_is_read(tmp_path, kind):
    old, new = tmp_path / "old.json", tmp_path / "new.json"
    made = detector("torch:x", "prompt", kind)
    old.write_text(json.dumps(earlier(made)))
    write_detector(new, made)
    assert "arrays" in json.loads(new.read_text())
    found, again = read_detector(str(old)), read_detector(str(new))
    x = np.random.default_rng(1).random((5, 4))
    assert found.log_odds(x).tolist() == again.log_odds(x).tolist()
    assert found.log_odds(x) == pytest.approx(made.log_odds(x), abs=1e-5)
    assert (found.proxy, found.condition, found.notes) == ("torch:x", "prompt", {"n": 3})


def broken(path, **changes):
    content = earlier(detector())
    for name, value in changes.items():
        place = content["weights"] if name in ("mean", "scale", "layer0") else content
        key = {"layer0": "layer0.weights"}.get(name, name)
        place[key] = value
    path.write_text(json.dumps(content))


@pytest.mark.parametrize(
    "changes",
    [
        {"format": "other"},
        {"features": ["mtp"]},
        {"kind": "forest"},
        {"kind": "network"},
        {"mean": [0, 0, 0]},
        {"mean": [0, 0, 0, "x"]},
        {"scale": [1, 1, 1, 0]},
        {"scale": [1, 1, 1, float("nan")]},
        {"layer0": [[1], [1]]},
        {"layer0": [[1, 2]] * 4},
        {"layer0": [[float("inf")]] * 4},
        {"layer0": [[1], [1, 2], [1], [1]]},
        {"proxy": 3},
        {"condition": None},
        {"notes": []},
        {"weights": 5},
        {"weights": {}},
    ],
)
def test_files_that_are_no_model(tmp_path, changes):
    path = tmp_path / "m.json"
    broken(path, **changes)
    with pytest.raises(UsageError, match="not a valid HalluDetect model"):
        read_detector(str(path))


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\xff" * 20,
        b"[1]",
        b"{" * 100_000,
        (2**60).to_bytes(8, "little") + b"{}",
        (8).to_bytes(8, "little") + HEAD,
        (2).to_bytes(8, "little") + b"{}",
        b"\x80\x04\x95pickle",
    ],
)
@pytest.mark.parametrize("ending", ["json", "safetensors"])
def test_files_that_are_nothing_like_it(tmp_path, content, ending):
    path = tmp_path / f"m.{ending}"
    path.write_bytes(content)
    with pytest.raises(UsageError, match="not a valid HalluDetect model"):
        read_detector(str(path))


@pytest.mark.parametrize(
    "entry",
    [
        {"dtype": "F64"},
        {"shape": [2, 2]},
        {"shape": [-2, -2]},
        {"data_offsets": [0, 10**9]},
        {"data_offsets": [-4, 12]},
        {"data_offsets": [16.0, 32]},
    ],
)
def test_safetensors_whose_arrays_are_not_as_described(tmp_path, entry):
    path = tmp_path / "m.safetensors"
    write_detector(path, detector())
    content = path.read_bytes()
    size = int.from_bytes(content[:8], "little")
    header = json.loads(content[8 : 8 + size])
    header["scale"] |= entry
    text = json.dumps(header).encode()
    path.write_bytes(len(text).to_bytes(8, "little") + text + content[8 + size :])
    with pytest.raises(UsageError, match="not a valid HalluDetect model"):
        read_detector(str(path))


def test_registered_as_a_risk_that_no_preset_has():
    scorer = REGISTRY.get("halludetect")
    assert (scorer.raw_is, scorer.raw_key, scorer.presets) == ("risk", "log_odds", set())
