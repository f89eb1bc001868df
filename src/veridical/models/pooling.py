"""Pooling of token vectors to one vector per text."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from veridical.arrays import Floats32
from veridical.core.protocols import Encoded, Window


class Ids(NamedTuple):
    """Token ids of a window.

    ``head`` leading and ``tail`` trailing ones do not belong to the text.
    """

    ids: NDArray[np.int64]
    head: int
    tail: int


class Output(NamedTuple):
    """Result of a forward for one window: its vector and, if requested, token vectors."""

    vector: Floats32
    tokens: Floats32 | None = None


#: Pooling modes, by sentence-transformers' names and in its order of concatenation.
MODES = ("cls", "max", "mean", "mean_sqrt_len_tokens", "weightedmean", "lasttoken")


#: Activations of dense heads, by the class name in their config.
ACTIVATIONS: dict[str, Callable[[Floats32], Floats32]] = {
    "Identity": lambda x: x,
    "Tanh": np.tanh,
    "ReLU": lambda x: np.maximum(x, np.float32(0)),
    "Sigmoid": lambda x: np.asarray(1 / (1 + np.exp(-x)), dtype=np.float32),
}


@dataclass(frozen=True, eq=False)
class Dense:
    """A linear head: ``activation(weight @ x + bias)``; weight (d_out, d_in), bias (d_out,)."""

    weight: Floats32
    bias: Floats32 | None
    activation: str

    def __call__(self, x: Floats32) -> Floats32:
        y = x @ self.weight.T
        return ACTIVATIONS[self.activation](y if self.bias is None else y + self.bias)


def pooling_weights(
    modes: Sequence[str], lengths: Sequence[int], skips: Sequence[int], width: int
) -> Floats32:
    """Return weights w with pooled = w @ hidden, for the linear modes.

    Args:
        lengths: tokens of each row, padding excluded.
        skips: leading tokens of each row to exclude (a prefix).
        width: padded length.

    Returns:
        (rows, modes, width); zero for ``max`` and for padding.
    """
    weights = np.zeros((len(lengths), len(modes), width), dtype=np.float32)
    for row, length, skip in zip(weights, lengths, skips, strict=True):
        for mode, w in zip(modes, row, strict=True):
            if mode == "cls":
                w[0] = 1
            elif mode == "mean":
                w[skip:length] = 1 / (length - skip)
            elif mode == "mean_sqrt_len_tokens":
                w[skip:length] = (length - skip) ** -0.5
            elif mode == "weightedmean":
                w[skip:length] = np.arange(skip + 1, length + 1)
                w /= w.sum()
            elif mode == "lasttoken":
                w[length - 1] = 1
    return weights


def pool(
    hidden: Floats32, modes: Sequence[str], lengths: Sequence[int], skips: Sequence[int]
) -> Floats32:
    """Pool (rows, width, d) token vectors, padded on the right, to (rows, modes * d)."""
    pooled = pooling_weights(modes, lengths, skips, hidden.shape[1]) @ hidden
    for k, mode in enumerate(modes):
        if mode == "max":
            for row, tokens, length, skip in zip(pooled, hidden, lengths, skips, strict=True):
                row[k] = tokens[skip:length].max(axis=0)
    return pooled.reshape(len(hidden), -1)


def l2(x: Floats32) -> Floats32:
    """Scale rows (or the vector) to length 1; zero stays zero."""
    norm = np.linalg.norm(x, axis=-1, keepdims=True)
    return (x / np.where(norm > 0, norm, 1)).astype(np.float32, copy=False)


def join_vectors(windows: Sequence[Window], vectors: Sequence[Floats32]) -> Floats32:
    """Merge the windows' vectors by their mean, weighted by the tokens each adds, L2-normalised."""
    if len(windows) == 1:
        return l2(vectors[0])
    weights = np.array([max(w.length - w.overlap, 1) for w in windows], dtype=np.float32)
    return l2((weights / weights.sum()) @ np.stack(vectors))


def join(windows: Sequence[Window], outputs: Sequence[Output], tokens: bool) -> Encoded:
    """Merge one text's windows.

    Each token of the text appears once in ``tokens``. The first half of an overlap comes from the
    window before and the second half from the window after, so both have context. Leading special
    tokens come from the first window, trailing ones from the last.
    """
    vector = join_vectors(windows, [o.vector for o in outputs])
    if not tokens:
        return Encoded(vector)
    matrices, ids, content = [], [], []
    last = len(windows) - 1
    for i, (window, output) in enumerate(zip(windows, outputs, strict=True)):
        piece: Ids = window.content
        if output.tokens is None:
            raise ValueError("the windows were run without tokens")
        start, stop = 0, len(piece.ids)
        if i > 0:
            start = piece.head + window.overlap // 2
        if i < last:
            after = windows[i + 1].overlap
            stop -= piece.tail + after - after // 2
        mine = np.zeros(len(piece.ids), dtype=np.bool_)
        mine[piece.head : len(piece.ids) - piece.tail] = True
        matrices.append(output.tokens[start:stop])
        ids.append(piece.ids[start:stop])
        content.append(mine[start:stop])
    return Encoded(
        vector, l2(np.concatenate(matrices)), np.concatenate(ids), np.concatenate(content)
    )
