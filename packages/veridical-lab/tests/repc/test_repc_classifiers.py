"""RepC's classifiers in numpy against the scikit-learn estimators they are made from."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier, NeighborhoodComponentsAnalysis
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from veridical_lab.repc import fit
from veridical_lab.repc.classifiers import KINDS, Mlp, Svm, classifier


def blobs(n: int = 240, d: int = 20, seed: int = 0):
    """Three clouds that overlap, in numbers of very different sizes."""
    rng = np.random.default_rng(seed)
    truth = rng.choice(3, n, p=[0.5, 0.3, 0.2])
    centres = rng.normal(size=(3, d))
    x = centres[truth] + rng.normal(scale=1.5, size=(n, d))
    return x * np.geomspace(0.1, 50, d) + 7, truth


X, Y = blobs()
TEST, _ = blobs(100, seed=1)


def test_svm():
    scaler = StandardScaler().fit(X)
    machine = SVC(decision_function_shape="ovo").fit(scaler.transform(X), Y)
    z = scaler.transform(TEST)
    link = LogisticRegression().fit(machine.decision_function(scaler.transform(X)), Y)
    made = fit.svm_of(scaler, machine, link)
    decisions = machine.decision_function(z)
    np.testing.assert_allclose(made.decisions(TEST), decisions, atol=1e-9)
    np.testing.assert_allclose(made.probabilities(TEST), link.predict_proba(decisions), atol=1e-9)
    votes = np.zeros((len(TEST), 3))  # one against one: who wins most
    for column, (i, j) in enumerate([(0, 1), (0, 2), (1, 2)]):
        first = made.decisions(TEST)[:, column] > 0
        votes[first, i] += 1
        votes[~first, j] += 1
    clear = np.sort(votes, axis=1)[:, -1] == 2
    assert clear.sum() > 90
    assert (votes.argmax(1) == machine.predict(z))[clear].all()


@pytest.mark.parametrize("hidden", [(5,), (8, 4)])
def test_mlp(hidden):
    scaler = StandardScaler().fit(X)
    network = MLPClassifier(hidden, max_iter=30, random_state=0).fit(scaler.transform(X), Y)
    made = fit.mlp_of(scaler, network)
    z = scaler.transform(TEST)
    np.testing.assert_allclose(made.probabilities(TEST), network.predict_proba(z), atol=1e-9)
    assert (made.probabilities(TEST).argmax(1) == network.predict(z)).all()


def test_knn_after_nca():
    scaler = StandardScaler()
    nca = NeighborhoodComponentsAnalysis(2, max_iter=10, random_state=0)
    knn = KNeighborsClassifier(7)
    pipe = make_pipeline(scaler, nca, knn).fit(X, Y)
    made = fit.knn_of(scaler, nca, knn)
    np.testing.assert_allclose(made.probabilities(TEST), pipe.predict_proba(TEST), atol=1e-12)
    assert (made.probabilities(TEST).argmax(1) == pipe.predict(TEST)).all()


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_fitted_tells_the_classes_apart(kind):
    made = fit.fit(kind, X, Y, seed=0)
    p = made.probabilities(TEST)
    assert made.width == X.shape[1] and p.shape == (100, 3)
    np.testing.assert_allclose(p.sum(1), 1)
    truth = blobs(100, seed=1)[1]
    # the clouds of the test have centres of their own: on the training ones it must do well
    assert (made.probabilities(X).argmax(1) == Y).mean() > 0.7 > np.bincount(truth).max() / 100
    again = fit.fit(kind, X, Y, seed=0)
    assert (again.probabilities(TEST) == p).all()


def test_one_class_leaves_out_the_others_of_skewed_svm():
    """Classes of unequal size: the weights of a support vector are kept by class."""
    scaler = StandardScaler().fit(X)
    order = np.argsort(-Y, kind="stable")  # not in the order of the classes
    machine = SVC(decision_function_shape="ovo").fit(scaler.transform(X[order]), Y[order])
    link = LogisticRegression().fit(machine.decision_function(scaler.transform(X)), Y)
    made = fit.svm_of(scaler, machine, link)
    np.testing.assert_allclose(
        made.decisions(TEST), machine.decision_function(scaler.transform(TEST)), atol=1e-9
    )


def test_arrays_that_do_not_fit_are_refused():
    made = fit.fit("svm", X, Y, seed=0)
    assert isinstance(made, Svm)
    arrays = made.arrays()
    assert classifier("svm", arrays).probabilities(TEST) == pytest.approx(made.probabilities(TEST))
    wrong = {
        "mean": np.zeros(3),
        "scale": np.zeros(X.shape[1]),
        "vectors": np.zeros(4),
        "weights": arrays["weights"].T,
        "biases": np.zeros(4),
        "gamma": np.array(-1.0),
        "link": np.full((3, 3), np.nan),
        "offsets": np.zeros((3, 1)),
    }
    for name, value in wrong.items():
        with pytest.raises(ValueError):
            classifier("svm", {**arrays, name: value})
    with pytest.raises(ValueError, match="it has the arrays"):
        classifier("svm", {n: a for n, a in arrays.items() if n != "gamma"})
    with pytest.raises(ValueError, match="a classifier 'forest'"):
        classifier("forest", arrays)
    knn = fit.fit("knn", X, Y, seed=0).arrays()
    for name, value in {"classes": knn["classes"] + 1, "neighbours": np.array(1e9)}.items():
        with pytest.raises(ValueError):
            classifier("knn", {**knn, name: value})
    mlp = fit.fit("mlp", X, Y, seed=0).arrays()
    for name in ("weights0", "weights1"):
        with pytest.raises(ValueError):
            classifier("mlp", {**mlp, name: mlp[name].T})
    with pytest.raises(ValueError):
        Mlp(np.zeros(2), np.ones(2), ())
