"""RepC's classifiers fitted by scikit-learn (the ``[train]`` extra), and kept as arrays."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from veridical.arrays import Floats
from veridical.errors import UsageError
from veridical_lab.repc.classifiers import PAIRS, Classifier, Kind, Knn, Mlp, Svm

if TYPE_CHECKING:
    from numpy.typing import NDArray

#: Training pairs of each (Hu et al. 2024, table 8).
PUBLISHED = {"svm": 1000, "mlp": 2000, "knn": 100}
_FOLDS = 5
_DIMENSIONS = 16  # of the space of nearest neighbours
_NEIGHBOURS = 15
_MIXED = 32  # hidden units of what joins the layers


def need_sklearn() -> None:
    """Check that scikit-learn is installed.

    Raises:
        UsageError: scikit-learn is not installed.
    """
    try:
        import sklearn  # noqa: F401
    except ImportError:
        raise UsageError("training needs scikit-learn: pip install scikit-learn") from None


def fit(kind: Kind, x: Floats, truth: NDArray[np.int64], seed: int) -> Classifier:
    """Fit a classifier of one layer's states.

    - ``svm``: Gaussian kernel on standardised states, scikit-learn's defaults (C = 1), as
      published; the link to probabilities is fitted on decisions of 5-fold cross-validation.
    - ``mlp``: d -> d/4 -> 3 with ReLU, Adam in batches of 32, stopped early, as published; on
      standardised states.
    - ``knn``: 15 neighbours after NCA to 16 dimensions, on standardised states. (The paper
      reports neither number.)

    Args:
        x: (n, d) states.
        truth: (n,) classes 0 .. 2, each at least 5 times.
    """
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import StratifiedKFold, cross_val_predict
    from sklearn.neighbors import KNeighborsClassifier, NeighborhoodComponentsAnalysis
    from sklearn.preprocessing import StandardScaler
    from sklearn.svm import SVC

    scaler = StandardScaler().fit(x)
    z = scaler.transform(x)
    if kind == "svm":
        machine = SVC(kernel="rbf", decision_function_shape="ovo")
        folds = StratifiedKFold(_FOLDS, shuffle=True, random_state=seed)
        decisions = cross_val_predict(machine, z, truth, cv=folds, method="decision_function")
        link = LogisticRegression(max_iter=1000).fit(decisions, truth)
        return svm_of(scaler, machine.fit(z, truth), link)
    if kind == "mlp":
        return mlp_of(scaler, _network((max(4, x.shape[1] // 4),), 1e-4, seed).fit(z, truth))
    projection = NeighborhoodComponentsAnalysis(
        min(_DIMENSIONS, x.shape[1]), init="pca", max_iter=50, random_state=seed
    ).fit(z, truth)
    neighbours = KNeighborsClassifier(min(_NEIGHBOURS, len(x)))
    return knn_of(scaler, projection, neighbours.fit(projection.transform(z), truth))


def fit_mixer(shares: Floats, truth: NDArray[np.int64], seed: int) -> Mlp:
    """Fit the network of 32 ReLU units that combines layers' (n, layers x 3) probabilities."""
    from sklearn.preprocessing import StandardScaler

    scaler = StandardScaler().fit(shares)
    return mlp_of(scaler, _network((_MIXED,), 1e-2, seed).fit(scaler.transform(shares), truth))


def _network(hidden: tuple[int, ...], alpha: float, seed: int) -> Any:
    from sklearn.neural_network import MLPClassifier

    return MLPClassifier(
        hidden,
        alpha=alpha,
        batch_size=32,
        learning_rate_init=1e-3,
        early_stopping=True,
        n_iter_no_change=10,
        max_iter=300,
        random_state=seed,
    )


def svm_of(scaler: Any, machine: Any, link: Any) -> Svm:
    """Convert a fitted SVM to arrays.

    Args:
        scaler: a fitted ``StandardScaler``.
        machine: an ``SVC`` of three classes fitted on its output.
        link: ``LogisticRegression`` fitted on one-against-one decisions.
    """
    bounds = np.concatenate([[0], np.cumsum(machine.n_support_)])
    of_class = [slice(bounds[c], bounds[c + 1]) for c in range(3)]  # support vectors, by class
    weights = np.zeros((len(PAIRS), len(machine.support_vectors_)))
    for row, (i, j) in enumerate(PAIRS):  # libsvm keeps a vector's weights against other classes
        weights[row, of_class[i]] = machine.dual_coef_[j - 1, of_class[i]]
        weights[row, of_class[j]] = machine.dual_coef_[i, of_class[j]]
    return Svm(
        mean=np.asarray(scaler.mean_),
        scale=np.asarray(scaler.scale_),
        vectors=np.asarray(machine.support_vectors_),
        weights=weights,
        biases=np.asarray(machine.intercept_),
        gamma=np.array(float(machine._gamma)),
        link=np.asarray(link.coef_),
        offsets=np.asarray(link.intercept_),
    )


def mlp_of(scaler: Any, network: Any) -> Mlp:
    """Convert a fitted network to arrays.

    Args:
        network: an ``MLPClassifier`` of ReLU units fitted on the output of ``scaler``.
    """
    layers = zip(network.coefs_, network.intercepts_, strict=True)
    return Mlp(
        np.asarray(scaler.mean_),
        np.asarray(scaler.scale_),
        tuple((np.asarray(w), np.asarray(b)) for w, b in layers),
    )


def knn_of(scaler: Any, projection: Any, neighbours: Any) -> Knn:
    """Convert fitted nearest neighbours to arrays.

    Args:
        projection: ``NeighborhoodComponentsAnalysis`` fitted on the output of ``scaler``.
        neighbours: a ``KNeighborsClassifier`` fitted on its output.
    """
    return Knn(
        mean=np.asarray(scaler.mean_),
        scale=np.asarray(scaler.scale_),
        projection=np.asarray(projection.components_),
        points=np.asarray(neighbours._fit_X),
        classes=np.asarray(neighbours._y, dtype=np.float64),
        neighbours=np.array(float(neighbours.n_neighbors)),
    )
