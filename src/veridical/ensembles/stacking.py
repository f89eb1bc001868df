"""Stacking: ensemble risks predicted from component risks by a learned model.

The models are logistic regression, and gradient-boosted trees that are monotone in each component's
risk. Both are stored as plain numbers, fitted here and applied by numpy alone.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from veridical.arrays import Floats
from veridical.ensembles.ensemble_file import Boosted, Logistic, Tree
from veridical.errors import UsageError
from veridical.stats import logistic

#: Parameters of the boosted trees: many small steps by shallow trees, for a few hundred to
#: thousands of rows.
ROUNDS, RATE, LEAVES = 100, 0.05, 6
_FEWEST_IN_LEAF = 20
_LARGEST = 1e9  # replaces a cut above every risk


def fit_logistic(risks: Floats, labels: Floats, degrees: Floats | None = None) -> Logistic:
    """Fit logistic regression on standardised risks, with scikit-learn's default L2 penalty (C =
    1).

    A missing risk takes the mean of the others, and is thus no evidence. Coefficients may be
    negative, because components are interpreted jointly.

    Args:
        risks: (n, k) from 0 to 1, NaN if not scored.
        labels: (n,) 0 or 1.
        degrees: (n,) targets from 0 to 1 instead, if answers may be partly wrong. Each counts as
            a wrong answer with that weight, and as a right one with the rest.

    Raises:
        ValueError: all labels have the same class, or a component has no score.
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
    """Fit gradient-boosted trees, monotone in each risk, by scikit-learn's histogram boosting
    (``HistGradientBoostingClassifier`` with ``monotonic_cst``).

    For a missing risk, a tree follows the branch learned for missing ones, or else that of the
    larger child.

    Args:
        risks: (n, k) from 0 to 1, NaN if not scored.
        labels: (n,) 0 or 1.

    Raises:
        UsageError: scikit-learn is not installed.
        ValueError: all labels have the same class, or a component has no score.
    """
    try:
        from sklearn.ensemble import HistGradientBoostingClassifier
        from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]
    except ImportError as e:
        raise UsageError(
            f"boosted stacking requires scikit-learn; pip install scikit-learn ({e})"
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
    # for so few rows, threads only wait for each other
    with threadpool_limits(1, user_api="openmp"):
        model.fit(risks, labels >= 0.5)
    # there is no public access to the trees; the parity test fails if a release moves them
    rounds = [nodes.nodes for (nodes,) in model._predictors]
    return Boosted(
        baseline=float(model._baseline_prediction[0, 0]),
        trees=tuple(_tree(nodes) for nodes in rounds),
    )


def predict(parameters: Logistic | Boosted, risks: Floats) -> Floats:
    """Return (n,) probabilities that the answers are hallucinated, from (n, k) risks of the
    components; NaN is not scored."""
    from scipy.special import expit

    probabilities: Floats = expit(log_odds(parameters, np.asarray(risks, dtype=np.float64)))
    return probabilities


def log_odds(parameters: Logistic | Boosted, risks: Floats) -> Floats:
    """Return (n,) log-odds of the probabilities of :func:`predict`."""
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
        raise ValueError("a component has no score")


def _standardised(risks: Floats, mean: Floats, scale: Floats) -> Floats:
    """Return standardised risks; a missing one is at the mean, 0."""
    return np.nan_to_num((risks - mean) / scale, nan=0.0)


def _tree(nodes: NDArray[np.void]) -> Tree:
    """Convert scikit-learn's array of nodes to ours, in its order: children after their parent."""
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
    """Return (n,) the value of the leaf that each row reaches; all rows descend together."""
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
