"""Stacking: the risk of an ensemble learned from graded answers by a model of its components'.

Logistic regression, and gradient-boosted trees in which no component's risk, when it rises, can
lower the ensemble's. Both are plain numbers, fitted here and applied by numpy alone.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from veridical.arrays import Floats
from veridical.ensembles.ensemble_file import Boosted, Logistic, Tree
from veridical.errors import UsageError
from veridical.stats import logistic

#: Of the boosted trees: many small steps by shallow trees, for a few hundred to thousands of rows.
ROUNDS, RATE, LEAVES = 100, 0.05, 6
_FEWEST_IN_LEAF = 20
_LARGEST = 1e9  # what stands for a cut above every risk


def fit_logistic(risks: Floats, labels: Floats, degrees: Floats | None = None) -> Logistic:
    """Logistic regression on standardised risks, with scikit-learn's default L2 penalty (C = 1).

    A risk that is missing takes the mean of those that are not, and is thus no evidence.
    Coefficients may be negative: what one component says is read in the light of the others.

    Args:
        risks: (n, k) from 0 to 1, NaN where not scored.
        labels: (n,) 0 or 1.
        degrees: (n,) what to learn instead, where an answer may be wrong in part: from 0 to 1,
            each as so much of a wrong answer and so much of a right one.

    Raises:
        ValueError: the labels are of one class, or a component is scored nowhere.
    """
    _check(risks, labels)
    mean = np.nanmean(risks, axis=0)
    scale = np.nanstd(risks, axis=0)
    scale = np.where(scale > 1e-9, scale, 1.0)
    targets = labels if degrees is None else degrees
    fitted = logistic.fit_logistic(_standardised(risks, mean, scale), targets, ridge=1.0)
    return Logistic(
        intercept=fitted.intercept,
        coefficients=tuple(fitted.coefficients.tolist()),
        mean=tuple(mean.tolist()),
        scale=tuple(scale.tolist()),
    )


def fit_boosted(risks: Floats, labels: Floats, *, seed: int = 0) -> Boosted:
    """Gradient-boosted trees, monotone in each risk, by scikit-learn's histogram boosting
    (``HistGradientBoostingClassifier`` with ``monotonic_cst``).

    Where a risk is missing a tree goes the way it learned for missing ones, else that of the
    larger child.

    Args:
        risks: (n, k) from 0 to 1, NaN where not scored.
        labels: (n,) 0 or 1.

    Raises:
        UsageError: scikit-learn is not installed.
        ValueError: the labels are of one class, or a component is scored nowhere.
    """
    try:
        from sklearn.ensemble import HistGradientBoostingClassifier
        from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]
    except ImportError as e:
        raise UsageError(
            f"boosted stacking is fitted by scikit-learn: pip install scikit-learn ({e})"
        ) from None
    _check(risks, labels)
    model = HistGradientBoostingClassifier(
        learning_rate=RATE,
        max_iter=ROUNDS,
        max_leaf_nodes=LEAVES,
        min_samples_leaf=min(_FEWEST_IN_LEAF, max(1, len(labels) // 10)),
        monotonic_cst=[1] * risks.shape[1],
        early_stopping=False,
        random_state=seed,
    )
    with threadpool_limits(1, user_api="openmp"):  # on so few rows, threads wait for each other
        model.fit(risks, labels >= 0.5)
    # No public way leads to the trees; the parity test fails if a release moves them.
    rounds = [nodes.nodes for (nodes,) in model._predictors]
    return Boosted(
        baseline=float(model._baseline_prediction[0, 0]),
        trees=tuple(_tree(nodes) for nodes in rounds),
    )


def predict(parameters: Logistic | Boosted, risks: Floats) -> Floats:
    """(n,) probabilities that the answers are hallucinated, of (n, k) risks of the components;
    NaN is not scored."""
    from scipy.special import expit

    probabilities: Floats = expit(log_odds(parameters, np.asarray(risks, dtype=np.float64)))
    return probabilities


def log_odds(parameters: Logistic | Boosted, risks: Floats) -> Floats:
    """(n,) log-odds, of which :func:`predict` gives the probabilities."""
    if isinstance(parameters, Logistic):
        mean, scale = np.array(parameters.mean), np.array(parameters.scale)
        x = _standardised(risks, mean, scale)
        linear: Floats = parameters.intercept + x @ np.array(parameters.coefficients)
        return linear
    total = np.full(len(risks), parameters.baseline)
    for tree in parameters.trees:
        total += _leaf_values(tree, risks)
    return total


def _check(risks: Floats, labels: Floats) -> None:
    if len(np.unique(labels)) < 2:
        raise ValueError("there must be both right and hallucinated answers to learn from")
    if np.isnan(risks).all(axis=0).any():
        raise ValueError("a component is scored nowhere")


def _standardised(risks: Floats, mean: Floats, scale: Floats) -> Floats:
    """Standardised risks; a missing one is at the mean, 0."""
    return np.nan_to_num((risks - mean) / scale, nan=0.0)


def _tree(nodes: NDArray[np.void]) -> Tree:
    """scikit-learn's array of nodes as ours, in its order: children after their parent."""
    leaf = nodes["is_leaf"].astype(bool)
    cut = np.where(leaf, 0.0, np.minimum(nodes["num_threshold"], _LARGEST))
    return Tree(
        feature=tuple(np.where(leaf, -1, nodes["feature_idx"]).tolist()),
        threshold=tuple(cut.tolist()),
        left=tuple(np.where(leaf, 0, nodes["left"]).tolist()),
        right=tuple(np.where(leaf, 0, nodes["right"]).tolist()),
        missing_left=tuple((nodes["missing_go_to_left"].astype(bool) & ~leaf).tolist()),
        value=tuple(np.where(leaf, nodes["value"], 0.0).tolist()),
    )


def _leaf_values(tree: Tree, risks: Floats) -> Floats:
    """(n,) the value of the leaf that each row falls into; all rows walk down together."""
    feature, threshold = np.array(tree.feature), np.array(tree.threshold)
    left, right = np.array(tree.left), np.array(tree.right)
    missing_left, value = np.array(tree.missing_left), np.array(tree.value)
    rows = np.arange(len(risks))
    at = np.zeros(len(risks), dtype=np.int64)
    while (walking := feature[at] >= 0).any():
        moving = rows[walking]
        node = at[moving]
        x = risks[moving, feature[node]]
        goes_left = np.where(np.isnan(x), missing_left[node], x <= threshold[node])
        at[moving] = np.where(goes_left, left[node], right[node])
    values: Floats = value[at]
    return values
