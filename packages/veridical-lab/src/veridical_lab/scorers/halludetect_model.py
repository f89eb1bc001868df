"""HalluDetect's classifiers, stored as JSON or safetensors, never pickle."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import AfterValidator

from veridical.arrays import Floats
from veridical.files.trained_files import (
    arrays_content,
    arrays_of,
    pinned,
    read_trained,
    write_trained,
)
from veridical_lab.scorers.halludetect_features import FEATURES

Kind = Literal["logistic", "network"]
#: A layer's weights (inputs, outputs) and biases (outputs,).
Layer = tuple[Floats, Floats]

FORMAT = "veridical-halludetect-1"
_MOST = 64 << 20  # bytes of a model file
_WIDEST = 4096  # units of a layer


@dataclass(frozen=True, eq=False)
class Detector:
    """A trained classifier of the four features.

    Attributes:
        kind: logistic regression (one layer) or a network of two hidden ReLU layers.
        mean, scale: (4,) shift and divisor of the features.
        layers: the last has one output: the log-odds of a hallucination.
        proxy: the model whose probabilities it was trained on; None for the records' own.
        condition: what the proxy read before the response.
        notes: what it was trained on and how it did on what was held out.
        version: the first 8 hexadecimal digits of a hash of the file; "" before it is written.
    """

    kind: Kind
    mean: Floats
    scale: Floats
    layers: tuple[Layer, ...]
    proxy: str | None
    condition: str
    notes: Mapping[str, Any]
    version: str = ""

    def log_odds(self, features: Floats) -> Floats:
        """Compute the log-odds (n,) of a hallucination from (n, 4) features."""
        x = (features - self.mean) / self.scale
        for i, (weights, biases) in enumerate(self.layers):
            x = x @ weights + biases
            if i < len(self.layers) - 1:
                x = np.maximum(x, 0.0)
        return np.asarray(x[:, 0])

    def risk(self, features: Floats) -> Floats:
        """Compute the probability (n,) of a hallucination: the sigmoid of :meth:`log_odds`."""
        return np.asarray(0.5 * (1.0 + np.tanh(0.5 * self.log_odds(features))))


def write_detector(path: Path, detector: Detector) -> None:
    """Keep ``detector`` in ``path``: as safetensors if that is its ending, else as JSON.

    Weights are float32, which is what they were trained to.
    """
    head = {
        "format": FORMAT,
        "kind": detector.kind,
        "features": list(FEATURES),
        "proxy": detector.proxy,
        "condition": detector.condition,
        "notes": dict(detector.notes),
    }
    write_trained(path, arrays_content(path, head, _named(detector)))


def read_detector(name: str) -> Detector:
    """Read a classifier from a file: see :func:`~veridical.files.trained_files.read_trained`.

    Raises:
        UsageError: the file is unreadable, is not such a model, or has changed.
    """
    return read_trained(
        name,
        _parse,
        title="HalluDetect",
        command="veridical train halludetect",
        most=_MOST,
    )


#: Annotation of a scorer's model parameter: checked, and pinned to the file's content, when the
#: scorer is bound.
ModelFile = Annotated[str, AfterValidator(lambda name: pinned(name, read_detector(name).version))]


def _parse(content: bytes, safetensors: bool, version: str) -> Detector:
    head = {} if safetensors else json.loads(content)
    if "weights" in head:  # lists of numbers, as versions before 0.3 wrote them
        lists = head.pop("weights").items()
        arrays = {n: np.array(a, dtype=np.float32).astype(np.float64) for n, a in lists}
    else:
        head, arrays = arrays_of(content, safetensors)
    return _detector(head, arrays, version)


def _named(detector: Detector) -> dict[str, Floats]:
    arrays = {"mean": detector.mean, "scale": detector.scale}
    for i, (weights, biases) in enumerate(detector.layers):
        arrays |= {f"layer{i}.weights": weights, f"layer{i}.biases": biases}
    return arrays


def _detector(head: dict[str, Any], arrays: dict[str, Floats], version: str) -> Detector:
    if head["format"] != FORMAT or head["features"] != list(FEATURES):
        raise ValueError("another format or other features")
    kind = head["kind"]
    if kind not in ("logistic", "network"):
        raise ValueError(f"kind is {kind!r}")
    count = 1 if kind == "logistic" else 3
    names = [f"layer{i}.{part}" for i in range(count) for part in ("weights", "biases")]
    if set(arrays) != {"mean", "scale", *names}:
        raise ValueError("it has other arrays")
    if not all(np.isfinite(a).all() for a in arrays.values()):
        raise ValueError("a weight is not finite")
    width = len(FEATURES)
    if arrays["mean"].shape != (width,) or arrays["scale"].shape != (width,):
        raise ValueError("mean and scale are not of four features")
    if not (arrays["scale"] > 0).all():
        raise ValueError("a scale is not positive")
    layers = []
    for weights, biases in (
        (arrays[names[i]], arrays[names[i + 1]]) for i in range(0, 2 * count, 2)
    ):
        if weights.ndim != 2 or biases.shape != weights.shape[1:] or len(weights) != width:
            raise ValueError("its layers do not fit together")
        width = weights.shape[1]
        if not 0 < width <= _WIDEST:
            raise ValueError("a layer is too wide")
        layers.append((weights, biases))
    if width != 1:
        raise ValueError("it has more than one output")
    proxy, condition, notes = head["proxy"], head["condition"], head["notes"]
    if not (proxy is None or isinstance(proxy, str)) or not isinstance(condition, str):
        raise ValueError("proxy and condition must be texts")
    if not isinstance(notes, dict):
        raise ValueError("notes must be an object")
    mean, scale = arrays["mean"], arrays["scale"]
    return Detector(kind, mean, scale, tuple(layers), proxy, condition, notes, version)
