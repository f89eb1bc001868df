"""The tagger's networks and selection, fitted by scikit-learn (the ``[train]`` extra)."""

from __future__ import annotations

import warnings
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from veridical.arrays import Floats
from veridical.errors import UsageError
from veridical_lab.repc.classifiers import Mlp
from veridical_lab.repc.fit import mlp_of
from veridical_lab.tagger.align import Tagged
from veridical_lab.tagger.decode import BEGIN, HEAD, INSIDE, RELATION
from veridical_lab.tagger.features import Range, Sentence, beside_rows, word_rows
from veridical_lab.tagger.model import Selection

_WIDTH = 48  # numbers that a word's vector becomes
_HIDDEN = 64
_EPOCHS = 12
_MANY = 2000  # rows from which a part is set aside to stop by
_C = 0.01  # inverse strength of the selection's regularisation


def project(sentences: Sequence[Sentence]) -> tuple[Floats, Floats]:
    """Compute mean and principal axes, (d,) and (k, d), of all words' vectors."""
    vectors = np.concatenate([s.vectors for s in sentences])
    mean = vectors.mean(axis=0)
    _, axes = np.linalg.eigh(np.cov((vectors - mean).T))
    axes = axes[:, ::-1].T[:_WIDTH]
    signs = np.sign(axes[np.arange(len(axes)), np.abs(axes).argmax(axis=1)])
    return mean, axes * signs[:, None]


def fit_networks(tagged: Sequence[tuple[Sentence, Sequence[Tagged]]], seed: int) -> tuple[Mlp, Mlp]:
    """Fit the network of tails, and that of heads and relations given a tail.

    Args:
        tagged: sentences, with projected vectors, each with its triplets. The longer of two tails
            that share words is used.

    Raises:
        UsageError: a class of words does not occur.
    """
    alone: list[tuple[Floats, NDArray[np.int64]]] = []
    beside: list[tuple[Floats, NDArray[np.int64]]] = []
    for sentence, triplets in tagged:
        rows = word_rows(sentence)
        by_tail: dict[Range, list[Tagged]] = {}
        for one in triplets:
            by_tail.setdefault(one.tail, []).append(one)
        classes = np.zeros(len(rows), np.int64)
        for first, end in sorted(by_tail, key=lambda t: t[0] - t[1]):
            if not classes[first:end].any():
                classes[first:end] = INSIDE
                classes[first] = BEGIN
        alone.append((rows.astype(np.float32), classes))
        for tail, some in by_tail.items():
            classes = np.zeros(len(rows), np.int64)
            for one in some:
                classes[list(one.relation)] = RELATION
            for one in some:
                classes[list(one.head)] = HEAD
            beside.append((beside_rows(sentence, rows, tail).astype(np.float32), classes))
    return _network(alone, seed), _network(beside, seed)


def _network(parts: Sequence[tuple[Floats, NDArray[np.int64]]], seed: int) -> Mlp:
    """Fit a layer of ReLU units on standardised rows; Adam, stopped early with enough rows."""
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.neural_network import MLPClassifier
    from sklearn.preprocessing import StandardScaler

    truth = np.concatenate([t for _, t in parts]) if parts else np.zeros(0, np.int64)
    if np.bincount(truth, minlength=3).min() < 2:
        raise UsageError(
            "too little to train on: of head, relation, and tails of one and of several words, "
            "each half needs examples"
        )
    rows = np.concatenate([r for r, _ in parts])
    scaler = StandardScaler().fit(rows)
    network = MLPClassifier(
        (_HIDDEN,),
        alpha=1e-3,
        batch_size=min(256, len(rows)),
        max_iter=_EPOCHS if len(rows) >= _MANY else 100,
        early_stopping=len(rows) >= _MANY,
        n_iter_no_change=3,
        random_state=seed,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # the number of epochs is intended
        network.fit(scaler.transform(rows), truth)
    return mlp_of(scaler, network)


def fit_selection(features: Floats, hits: NDArray[np.bool_]) -> Selection:
    """Logistic regression of whether a candidate says what a claim of the LLM does.

    Args:
        features: (n, m) of the candidates.

    Raises:
        UsageError: all of them do, or none.
    """
    from sklearn.linear_model import LogisticRegression
    from sklearn.preprocessing import StandardScaler

    if len(set(hits.tolist())) < 2:
        raise UsageError("too little to train on: the candidates are all right, or all wrong")
    scaler = StandardScaler().fit(features)
    fitted = LogisticRegression(C=_C, max_iter=1000).fit(scaler.transform(features), hits)
    return Selection(
        np.asarray(scaler.mean_),
        np.asarray(scaler.scale_),
        np.asarray(fitted.coef_[0], np.float64),
        np.array(float(fitted.intercept_[0])),
        0.5,
    )
