"""Trained tagger, stored as JSON or safetensors, never pickle."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from veridical.arrays import Floats
from veridical.files.trained_files import (
    arrays_content,
    arrays_of,
    read_trained,
    write_trained,
)
from veridical_lab.repc.classifiers import Mlp, classifier
from veridical_lab.tagger.features import Sentence, beside_width, candidate_width, word_width

FORMAT = "veridical-extractor-1"
_MOST = 64 << 20  # bytes of a model file
_READING = ("mean", "axes")
_CHOOSING = ("shift", "scale", "weights", "bias")


@dataclass(frozen=True, eq=False)
class Networks:
    """Networks that read triplets from the words of a sentence.

    Attributes:
        mean, axes: (d,) and (k, d): word vectors are shifted and projected to k numbers.
        tails: classifies each word: no tail, the first word of one, a further one.
        parts: classifies each word given a tail: neither, head, relation.

    Raises:
        ValueError: the parts are inconsistent.
    """

    mean: Floats
    axes: Floats
    tails: Mlp
    parts: Mlp

    def __post_init__(self) -> None:
        if self.axes.ndim != 2 or not self.axes.size or self.mean.shape != self.axes.shape[1:]:
            raise ValueError(f"axes of shape {self.axes.shape} and mean {self.mean.shape}")
        _finite(mean=self.mean, axes=self.axes)
        k = len(self.axes)
        if self.tails.width != word_width(k) or self.parts.width != beside_width(k):
            raise ValueError("its networks take other rows than it makes")

    def project(self, sentence: Sentence) -> Sentence:
        """Project the sentence's vectors to k numbers."""
        return sentence.project(self.mean, self.axes)


@dataclass(frozen=True, eq=False)
class Selection:
    """Logistic regression on candidates of m numbers.

    Attributes:
        shift, scale, weights, bias: (m,), (m,), (m,) and ().
        threshold: the probability from which a candidate is taken, in (0, 1).

    Raises:
        ValueError: the parts do not fit together.
    """

    shift: Floats
    scale: Floats
    weights: Floats
    bias: Floats
    threshold: float

    def __post_init__(self) -> None:
        shape = self.weights.shape
        if len(shape) != 1 or {self.shift.shape, self.scale.shape} != {shape} or self.bias.ndim:
            raise ValueError("the parts of its selection do not fit together")
        _finite(shift=self.shift, scale=self.scale, weights=self.weights, bias=self.bias)
        if not (self.scale > 0).all() or not 0 < self.threshold < 1:
            raise ValueError("a scale is not positive, or the threshold not between 0 and 1")

    def shares(self, features: Floats) -> Floats:
        """Return the probability (n,) that each candidate, features (n, m), is a claim of the
        LLM.
        """
        scores = (features - self.shift) / self.scale @ self.weights + self.bias
        return np.asarray(1 / (1 + np.exp(-np.clip(scores, -500, 500))))


@dataclass(frozen=True, eq=False)
class Tagger:
    """A trained extractor.

    Attributes:
        encoder: name of the token encoder.
        revision: of that encoder; vectors of another mean nothing here.
        notes: what it was trained on.
        version: the first 8 hexadecimal digits of a hash of the file; "" before it is written.

    Raises:
        ValueError: the parts do not fit together.
    """

    networks: Networks
    selection: Selection
    encoder: str
    revision: str
    notes: Mapping[str, Any]
    version: str = ""

    def __post_init__(self) -> None:
        m = candidate_width(len(self.networks.axes))
        if self.selection.weights.shape != (m,):
            raise ValueError(f"its selection does not take candidates of {m} numbers")


def write_tagger(path: Path, model: Tagger) -> None:
    """Keep ``model`` in ``path``: as safetensors if that is its ending, else as JSON."""
    head = {
        "format": FORMAT,
        "encoder": model.encoder,
        "revision": model.revision,
        "threshold": model.selection.threshold,
        "notes": dict(model.notes),
    }
    networks = model.networks
    arrays = {name: np.asarray(getattr(networks, name)) for name in _READING}
    arrays |= {name: np.asarray(getattr(model.selection, name)) for name in _CHOOSING}
    for part, network in (("tails", networks.tails), ("parts", networks.parts)):
        arrays |= {f"{part}.{name}": array for name, array in network.arrays().items()}
    write_trained(path, arrays_content(path, head, arrays))


def read_tagger(name: str) -> Tagger:
    """Read a tagger from a file: see :func:`~veridical.files.trained_files.read_trained`.

    Raises:
        UsageError: the file is unreadable, is not a tagger, or has changed.
    """
    return read_trained(
        name, _parse, title="extractor", command="veridical train extractor", most=_MOST
    )


def _parse(content: bytes, safetensors: bool, version: str) -> Tagger:
    head, arrays = arrays_of(content, safetensors)
    if head["format"] != FORMAT:
        raise ValueError(f"format {head['format']!r}, not {FORMAT}")
    texts = (head["encoder"], head["revision"])
    if not all(isinstance(t, str) for t in texts) or not isinstance(head["notes"], dict):
        raise ValueError("encoder and revision must be texts, and notes an object")
    parts: dict[str, dict[str, Floats]] = {"": {}, "tails": {}, "parts": {}}
    for name, array in arrays.items():
        part, _, inner = name.rpartition(".")
        parts[part][inner] = array
    plain = parts[""]
    if set(plain) != {*_READING, *_CHOOSING}:
        raise ValueError(f"it has the arrays {sorted(plain)}")
    tails, beside = (classifier("mlp", parts[name]) for name in ("tails", "parts"))
    assert isinstance(tails, Mlp) and isinstance(beside, Mlp)
    return Tagger(
        Networks(plain["mean"], plain["axes"], tails, beside),
        Selection(
            plain["shift"],
            plain["scale"],
            plain["weights"],
            plain["bias"],
            float(head["threshold"]),
        ),
        encoder=head["encoder"],
        revision=head["revision"],
        notes=head["notes"],
        version=version,
    )


def _finite(**arrays: Floats) -> None:
    for name, array in arrays.items():
        if not np.isfinite(array).all():
            raise ValueError(f"{name} has a number that is not finite")
