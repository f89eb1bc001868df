"""Trained RepC, stored as JSON or safetensors, never pickle."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from veridical.arrays import Floats
from veridical.core.protocols import LABELS
from veridical.files.trained_files import (
    arrays_content,
    arrays_of,
    read_trained,
    whole,
    write_trained,
)
from veridical_lab.repc.classifiers import Classifier, Mlp, classifier

Layers = Literal["select", "ensemble"]
FORMAT = "veridical-repc-1"
_MOST = 2 << 30  # bytes of a model file
_DEEPEST = 1024


@dataclass(frozen=True, eq=False)
class Repc:
    """Classifiers on the hidden states of one language model.

    Attributes:
        kind: of the classifiers: ``svm``, ``mlp`` or ``knn``.
        layers: the layers they read, from 1; one where a layer was selected (RepC-LS).
        experts: the classifier of each.
        mixer: what joins the (layers x 3) probabilities of an ensemble (RepC-LE); None else.
        proxy: name of the language model.
        revision: of that model; states of another mean nothing here.
        shape: (layers + 1, width) of the model's states.
        notes: what it was trained on, and how it did.
        version: the first 8 hexadecimal digits of a hash of the file; "" before it is written.

    Raises:
        ValueError: the parts do not fit together.
    """

    kind: str
    layers: tuple[int, ...]
    experts: tuple[Classifier, ...]
    mixer: Mlp | None
    proxy: str
    revision: str
    shape: tuple[int, int]
    notes: Mapping[str, Any]
    version: str = ""

    def __post_init__(self) -> None:
        depth, width = self.shape
        if not 1 < depth <= _DEEPEST or not self.layers or len(self.layers) != len(self.experts):
            raise ValueError("it has not one classifier a layer")
        if not all(0 < a < depth for a in self.layers) or len(set(self.layers)) < len(self.layers):
            raise ValueError(f"layers {self.layers} of a model with {depth - 1}")
        if any(e.width != width for e in self.experts):
            raise ValueError(f"a classifier does not take states of {width} numbers")
        if self.mixer is None and len(self.layers) > 1:
            raise ValueError("nothing joins its layers")
        if self.mixer is not None and self.mixer.width != len(LABELS) * len(self.layers):
            raise ValueError("what joins its layers is for another number of them")

    def probabilities(self, states: NDArray[np.float32]) -> Floats:
        """Return probabilities (n, 3) from states (n, k, width) after each of the k
        :attr:`layers`.
        """
        x = states.astype(np.float64)
        each = [e.probabilities(x[:, i]) for i, e in enumerate(self.experts)]
        if self.mixer is None:
            return each[0]
        return self.mixer.probabilities(np.concatenate(each, axis=1))


def write_repc(path: Path, model: Repc) -> None:
    """Write ``model`` to ``path``, as safetensors or JSON by its ending.

    JSON has float32 arrays as base64 with their shapes.
    """
    head = {
        "format": FORMAT,
        "classifier": model.kind,
        "layers": list(model.layers),
        "proxy": model.proxy,
        "revision": model.revision,
        "shape": list(model.shape),
        "notes": dict(model.notes),
    }
    arrays = {
        f"{i}.{n}": a.astype("<f4")
        for i, e in enumerate(model.experts)
        for n, a in e.arrays().items()
    }
    if model.mixer is not None:
        arrays |= {f"mixer.{n}": a.astype("<f4") for n, a in model.mixer.arrays().items()}
    write_trained(path, arrays_content(path, head, arrays))


def read_repc(name: str) -> Repc:
    """Read classifiers from a file: see :func:`~veridical.files.trained_files.read_trained`.

    Raises:
        UsageError: the file is unreadable, is not such a model, or has changed.
    """
    return read_trained(name, _parse, title="RepC", command="veridical train repc", most=_MOST)


def _parse(content: bytes, safetensors: bool, version: str) -> Repc:
    head, arrays = arrays_of(content, safetensors)
    return _repc(head, arrays, version)


def _repc(head: dict[str, Any], arrays: Mapping[str, Floats], version: str) -> Repc:
    if head["format"] != FORMAT:
        raise ValueError(f"format {head['format']!r}, not {FORMAT}")
    parts: dict[str, dict[str, Floats]] = {}
    for name, array in arrays.items():
        part, _, name_in_part = name.partition(".")
        parts.setdefault(part, {})[name_in_part] = array
    layers = tuple(whole(n) for n in head["layers"])
    mixer = classifier("mlp", parts.pop("mixer")) if "mixer" in parts else None
    if set(parts) != {str(i) for i in range(len(layers))}:
        raise ValueError("it has not one classifier a layer")
    texts = (head["classifier"], head["proxy"], head["revision"])
    if not all(isinstance(t, str) for t in texts) or not isinstance(head["notes"], dict):
        raise ValueError("classifier, proxy and revision must be texts, and notes an object")
    shape: Sequence[int] = [whole(n) for n in head["shape"]]
    if len(shape) != 2:
        raise ValueError("shape must be layers + 1 and width")
    assert mixer is None or isinstance(mixer, Mlp)
    return Repc(
        kind=head["classifier"],
        layers=layers,
        experts=tuple(classifier(head["classifier"], parts[str(i)]) for i in range(len(layers))),
        mixer=mixer,
        proxy=head["proxy"],
        revision=head["revision"],
        shape=(shape[0], shape[1]),
        notes=head["notes"],
        version=version,
    )
