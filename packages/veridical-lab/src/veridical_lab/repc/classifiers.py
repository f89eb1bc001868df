"""RepC's classifiers in numpy: SVM, two-layer network, nearest neighbours.

Each takes the (n, d) hidden states of one layer and gives (n, 3) probabilities in the order of
:data:`~veridical.core.protocols.LABELS`. Neighbours are found after NCA. They are fitted by
scikit-learn (:mod:`veridical_lab.repc.fit`) and reproduce its numbers.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, Protocol

import numpy as np

from veridical.arrays import Floats
from veridical.core.protocols import LABELS

Kind = Literal["svm", "mlp", "knn"]
KINDS: tuple[Kind, ...] = ("svm", "mlp", "knn")

_CLASSES = len(LABELS)
#: Pairs of classes, in the order of scikit-learn's one-against-one decisions.
PAIRS = tuple((i, j) for i in range(_CLASSES) for j in range(i + 1, _CLASSES))
_ROWS = 256  # rows whose distances to all support vectors are worked on at once
_MOST_LAYERS = 8


class Classifier(Protocol):
    """Hidden states of one layer to probabilities."""

    @property
    def width(self) -> int:
        """Length of the states it takes."""
        ...

    def probabilities(self, x: Floats) -> Floats:
        """Map states (n, d) to probabilities (n, 3)."""
        ...

    def arrays(self) -> dict[str, Floats]:
        """Return all parameters by name."""
        ...


@dataclass(frozen=True, eq=False)
class Svm:
    """Support vector machine with a Gaussian kernel, one against one, on standardised states.

    Its three decisions become probabilities by multinomial logistic regression.

    Attributes:
        mean, scale: (d,) what states are shifted and divided by.
        vectors: (m, d) support vectors.
        weights: (3, m) of the vectors in the decision between each of :data:`PAIRS`.
        biases: (3,) of the decisions.
        gamma: () of the kernel ``exp(-gamma |x - v|^2)``.
        link, offsets: (3, 3) and (3,): class scores are ``link @ decisions + offsets``.
    """

    mean: Floats
    scale: Floats
    vectors: Floats
    weights: Floats
    biases: Floats
    gamma: Floats
    link: Floats
    offsets: Floats

    def __post_init__(self) -> None:
        m, d = _matrix(self.vectors, "vectors")
        _fits(
            mean=(self.mean, (d,)),
            scale=(self.scale, (d,)),
            weights=(self.weights, (len(PAIRS), m)),
            biases=(self.biases, (len(PAIRS),)),
            gamma=(self.gamma, ()),
            link=(self.link, (_CLASSES, len(PAIRS))),
            offsets=(self.offsets, (_CLASSES,)),
        )
        _positive(self.scale, self.gamma)

    @property
    def width(self) -> int:
        return int(self.vectors.shape[1])

    def decisions(self, x: Floats) -> Floats:
        """Map states (n, d) to decisions (n, 3): positive for the first of each of
        :data:`PAIRS`.
        """
        z = (x - self.mean) / self.scale
        lengths = np.sum(self.vectors**2, axis=1)
        decisions = np.empty((len(z), len(PAIRS)))
        for start in range(0, len(z), _ROWS):
            part = z[start : start + _ROWS]
            squares = np.sum(part**2, axis=1)[:, None] + lengths - 2 * part @ self.vectors.T
            kernel = np.exp(-self.gamma * np.maximum(squares, 0.0))
            decisions[start : start + _ROWS] = kernel @ self.weights.T + self.biases
        return decisions

    def probabilities(self, x: Floats) -> Floats:
        return softmax(self.decisions(x) @ self.link.T + self.offsets)

    def arrays(self) -> dict[str, Floats]:
        return dict(vars(self))


@dataclass(frozen=True, eq=False)
class Mlp:
    """A network of ReLU layers on standardised inputs, softmax at the end.

    Attributes:
        mean, scale: (d,) what inputs are shifted and divided by.
        layers: weights (inputs, outputs) and biases (outputs,) of each.
    """

    mean: Floats
    scale: Floats
    layers: tuple[tuple[Floats, Floats], ...]

    def __post_init__(self) -> None:
        if not 0 < len(self.layers) <= _MOST_LAYERS:
            raise ValueError(f"a network of {len(self.layers)} layers")
        width = len(self.mean)
        _fits(mean=(self.mean, (width,)), scale=(self.scale, (width,)))
        for i, (weights, biases) in enumerate(self.layers):
            rows, columns = _matrix(weights, f"weights{i}")
            last = i == len(self.layers) - 1
            if rows != width or biases.shape != (columns,) or (last and columns != _CLASSES):
                raise ValueError("the layers of a network do not fit together")
            width = columns
        _positive(self.scale)

    @property
    def width(self) -> int:
        return len(self.mean)

    def probabilities(self, x: Floats) -> Floats:
        x = (x - self.mean) / self.scale
        for i, (weights, biases) in enumerate(self.layers):
            x = x @ weights + biases
            if i < len(self.layers) - 1:
                x = np.maximum(x, 0.0)
        return softmax(x)

    def arrays(self) -> dict[str, Floats]:
        arrays = {"mean": self.mean, "scale": self.scale}
        for i, (weights, biases) in enumerate(self.layers):
            arrays |= {f"weights{i}": weights, f"biases{i}": biases}
        return arrays


@dataclass(frozen=True, eq=False)
class Knn:
    """Class shares among nearest neighbours in a learned projection.

    The projection is fitted by neighbourhood components analysis (Goldberger et al. 2004) on
    standardised states.

    Attributes:
        mean, scale: (d,) for standardising states.
        projection: (k, d).
        points: (m, k) the training states, projected.
        classes: (m,) their classes, 0 .. 2.
        neighbours: () number of neighbours, at most m.
    """

    mean: Floats
    scale: Floats
    projection: Floats
    points: Floats
    classes: Floats
    neighbours: Floats

    def __post_init__(self) -> None:
        k, d = _matrix(self.projection, "projection")
        m, _ = _matrix(self.points, "points")
        _fits(
            mean=(self.mean, (d,)),
            scale=(self.scale, (d,)),
            points=(self.points, (m, k)),
            classes=(self.classes, (m,)),
            neighbours=(self.neighbours, ()),
        )
        _positive(self.scale)
        if not np.isin(self.classes, range(_CLASSES)).all():
            raise ValueError("a class is not 0, 1 or 2")
        if self.neighbours not in range(1, m + 1):
            raise ValueError(f"{self.neighbours} neighbours among {m}")

    @property
    def width(self) -> int:
        return int(self.projection.shape[1])

    def probabilities(self, x: Floats) -> Floats:
        z = ((x - self.mean) / self.scale) @ self.projection.T
        votes = np.eye(_CLASSES)[self.classes.astype(np.int64)]
        shares = np.empty((len(z), _CLASSES))
        for start in range(0, len(z), _ROWS):
            part = z[start : start + _ROWS]
            away = np.sum((part[:, None, :] - self.points) ** 2, axis=2)
            nearest = np.argsort(away, axis=1, kind="stable")[:, : int(self.neighbours)]
            shares[start : start + _ROWS] = votes[nearest].mean(axis=1)
        return shares

    def arrays(self) -> dict[str, Floats]:
        return dict(vars(self))


def classifier(kind: str, arrays: Mapping[str, Floats]) -> Classifier:
    """Build the classifier of a ``kind`` from :meth:`Classifier.arrays`.

    Raises:
        ValueError: arrays are missing, unknown or inconsistent.
    """
    parts = dict(arrays)
    if kind == "mlp":
        count = (len(parts) - 2) // 2
        names = [f"{part}{i}" for i in range(count) for part in ("weights", "biases")]
        _named(parts, {"mean", "scale", *names})
        layers = tuple((parts[f"weights{i}"], parts[f"biases{i}"]) for i in range(count))
        return Mlp(parts["mean"], parts["scale"], layers)
    if kind not in KINDS:
        raise ValueError(f"a classifier {kind!r}")
    of_kind: type[Svm] | type[Knn] = Svm if kind == "svm" else Knn
    _named(parts, set(of_kind.__dataclass_fields__))
    return of_kind(**parts)


def softmax(scores: Floats) -> Floats:
    """Convert scores (n, classes) to probabilities."""
    powers = np.exp(scores - scores.max(axis=1, keepdims=True))
    return np.asarray(powers / powers.sum(axis=1, keepdims=True))


def _named(arrays: dict[str, Floats], names: set[str]) -> None:
    if set(arrays) != names:
        raise ValueError(f"it has the arrays {sorted(arrays)}, not {sorted(names)}")
    for name, array in arrays.items():
        if not np.isfinite(array).all():
            raise ValueError(f"{name} has a number that is not finite")


def _matrix(array: Floats, name: str) -> tuple[int, int]:
    if array.ndim != 2 or not array.size:
        raise ValueError(f"{name} is of shape {array.shape}")
    return array.shape[0], array.shape[1]


def _fits(**arrays: tuple[Floats, tuple[int, ...]]) -> None:
    for name, (array, shape) in arrays.items():
        if array.shape != shape:
            raise ValueError(f"{name} is of shape {array.shape}, not {shape}")


def _positive(*arrays: Floats) -> None:
    if not all((a > 0).all() for a in arrays):
        raise ValueError("a scale or a kernel's width is not positive")
