"""Training of HalluDetect's small network in numpy, on log-odds.

The sigmoid is only in the loss.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from veridical.arrays import Floats
from veridical.stats.logistic import sigmoid
from veridical_lab.scorers.halludetect_model import Layer

Weights = NDArray[np.float32]
#: Units of the network's two hidden layers (Quevedo 2024).
HIDDEN = (512, 512)
_RATE, _BETA1, _BETA2, _EPSILON = 1e-3, 0.9, 0.999, 1e-8  # Adam's (Kingma & Ba 2015)


def standardised(features: Floats) -> tuple[Floats, Floats]:
    """Return mean and scale, (4,) each, of (n, 4) features; the scale of a constant one is 1.

    Both are float32, as in files. A later rounding of the mean would be many scales off for
    features that hardly vary.
    """
    scale = np.where(features.std(axis=0) > 1e-12, features.std(axis=0), 1.0)
    mean = features.mean(axis=0).astype(np.float32).astype(np.float64)
    return mean, scale.astype(np.float32).astype(np.float64)


def log_loss(log_odds: Floats, truth: Floats) -> float:
    """Compute the mean cross-entropy in nats: log(1 + e^z) - y z."""
    return float(np.mean(np.logaddexp(0.0, log_odds) - truth * log_odds))


@dataclass(frozen=True, eq=False)
class TrainedFit:
    """A fitted network: its layers, after how many epochs, and the loss then on the validation
    part."""

    layers: tuple[Layer, ...]
    epochs: int
    loss: float


def fit_network(
    x: Floats,
    truth: Floats,
    x_valid: Floats,
    truth_valid: Floats,
    *,
    epochs: int = 2000,
    patience: int = 100,
    seed: int = 0,
    progress: Callable[[int, float], None] | None = None,
) -> TrainedFit:
    """Fit two hidden layers of 512 ReLU units by Adam at 1e-3 on full batches.

    The loss is binary cross-entropy. The published training runs 10 000 epochs. Here the layers of
    the epoch with the least loss on the validation part are kept. Training ends after ``patience``
    epochs without a better one.

    Args:
        x, x_valid: (n, d) and (m, d) standardised features.
        truth, truth_valid: (n,) and (m,), 0 or 1.
        progress: called with each epoch and its validation loss.
    """
    rng = np.random.default_rng(seed)
    sizes = (x.shape[1], *HIDDEN, 1)
    weights: list[Weights] = [
        part.astype(np.float32)
        for a, b in itertools.pairwise(sizes)
        for part in (rng.normal(0.0, np.sqrt(2.0 / a), (a, b)), np.zeros(b))  # He et al. 2015
    ]
    inputs, held = x.astype(np.float32), x_valid.astype(np.float32)
    first: list[Weights] = [np.zeros_like(w) for w in weights]
    second: list[Weights] = [np.zeros_like(w) for w in weights]
    best, best_loss, best_epoch = [w.copy() for w in weights], np.inf, 0
    for epoch in range(1, epochs + 1):
        slopes = _slopes(weights, inputs, truth)
        for w, g, m, v in zip(weights, slopes, first, second, strict=True):
            m += (1 - _BETA1) * (g - m)
            v += (1 - _BETA2) * (g * g - v)
            mean, spread = m / (1 - _BETA1**epoch), np.sqrt(v / (1 - _BETA2**epoch))
            w -= np.float32(_RATE) * mean / (spread + np.float32(_EPSILON))
        loss = log_loss(_forward(weights, held)[-1][:, 0].astype(np.float64), truth_valid)
        if progress is not None:
            progress(epoch, loss)
        if loss < best_loss:
            best, best_loss, best_epoch = [w.copy() for w in weights], loss, epoch
        elif epoch - best_epoch >= patience:
            break
    pairs = zip(best[::2], best[1::2], strict=True)
    layers = tuple((w.astype(np.float64), b.astype(np.float64)) for w, b in pairs)
    return TrainedFit(layers, best_epoch, best_loss)


def _forward(weights: list[Weights], x: Weights) -> list[Weights]:
    """Return the input and each layer's output; the last is the log-odds, without a sigmoid."""
    outputs = [x]
    for i in range(0, len(weights), 2):
        z = outputs[-1] @ weights[i] + weights[i + 1]
        outputs.append(np.maximum(z, 0.0) if i < len(weights) - 2 else z)
    return outputs


def _slopes(weights: list[Weights], x: Weights, truth: Floats) -> list[Weights]:
    """Gradient of the mean cross-entropy by each of ``weights``."""
    outputs = _forward(weights, x)
    error = (sigmoid(outputs[-1][:, 0].astype(np.float64)) - truth) / len(x)
    back = error[:, None].astype(np.float32)
    slopes: list[Weights] = []
    for i in range(len(weights) - 2, -1, -2):
        before = outputs[i // 2]
        slopes[:0] = [before.T @ back, back.sum(axis=0)]
        if i:
            back = (back @ weights[i].T) * (before > 0)
    return slopes
