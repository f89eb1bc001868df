from __future__ import annotations

import itertools

import numpy as np
import pytest
from sklearn.metrics import log_loss as reference_log_loss

from veridical.stats.logistic import fit_logistic
from veridical_lab.scorers import halludetect_fit
from veridical_lab.scorers.halludetect_fit import (
    fit_network,
    log_loss,
    standardised,
)
from veridical_lab.scorers.halludetect_model import (
    Detector,
    read_detector,
    write_detector,
)


def data(n=300, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 4))
    z = 1.5 * x[:, 0] - x[:, 2] + 0.3
    return x, (rng.random(n) < 1 / (1 + np.exp(-z))).astype(float)


def test_standardised():
    x = np.array([[1.0, 5, 0, 1], [3.0, 5, 2, 1]])
    mean, scale = standardised(x)
    assert mean.tolist() == [2, 5, 1, 1] and scale.tolist() == [1, 1, 1, 1]


def test_log_loss_of_log_odds():
    z, truth = np.array([-800.0, 0.3, 2.0, 800.0]), np.array([0.0, 1.0, 0.0, 1.0])
    p = 1 / (1 + np.exp(-np.clip(z, -30, 30)))
    assert log_loss(z, truth) == pytest.approx(reference_log_loss(truth, p), abs=1e-9)


@pytest.mark.torch
def test_gradients_are_torchs():
    torch = pytest.importorskip("torch")
    rng = np.random.default_rng(3)
    sizes = (4, 7, 5, 1)
    weights = [
        part.astype(np.float32)
        for a, b in itertools.pairwise(sizes)
        for part in (rng.normal(size=(a, b)), rng.normal(size=b))
    ]
    x, truth = data(50)
    leaves = [torch.tensor(w, requires_grad=True) for w in weights]
    h = torch.tensor(x, dtype=torch.float32)
    for i in range(0, 6, 2):
        h = h @ leaves[i] + leaves[i + 1]
        h = torch.relu(h) if i < 4 else h
    loss = torch.nn.functional.binary_cross_entropy_with_logits(
        h[:, 0], torch.tensor(truth).float()
    )
    loss.backward()
    found = halludetect_fit._slopes(weights, x.astype(np.float32), truth)
    for slope, leaf in zip(found, leaves, strict=True):
        assert slope == pytest.approx(leaf.grad.numpy(), abs=1e-5)


@pytest.mark.torch
def test_steps_are_adams(monkeypatch):
    torch = pytest.importorskip("torch")
    monkeypatch.setattr(halludetect_fit, "HIDDEN", (6, 5))
    x, truth = data(60)
    start = fit_network(x, truth, x, truth, epochs=1, seed=4)
    losses = []
    fit_network(x, truth, x, truth, epochs=6, seed=4, progress=lambda _, loss: losses.append(loss))
    # torch goes on from the layers of the first epoch's beginning, rebuilt from the same draws
    rng = np.random.default_rng(4)
    leaves = []
    for a, b in ((4, 6), (6, 5), (5, 1)):
        leaves += [rng.normal(0.0, np.sqrt(2.0 / a), (a, b)), np.zeros(b)]
    leaves = [torch.tensor(w, dtype=torch.float32, requires_grad=True) for w in leaves]
    adam = torch.optim.Adam(leaves, lr=1e-3)

    def loss():
        h = torch.tensor(x, dtype=torch.float32)
        for i in range(0, 6, 2):
            h = h @ leaves[i] + leaves[i + 1]
            h = torch.relu(h) if i < 4 else h
        goal = torch.tensor(truth).float()
        return torch.nn.functional.binary_cross_entropy_with_logits(h[:, 0], goal)

    expected = []
    for _ in range(6):
        adam.zero_grad()
        loss().backward()
        adam.step()
        expected.append(float(loss().detach()))
    assert losses == pytest.approx(expected, abs=1e-5)
    assert start.epochs == 1 and start.loss == pytest.approx(expected[0], abs=1e-5)


def test_the_network_learns_what_a_line_cannot(monkeypatch):
    monkeypatch.setattr(halludetect_fit, "HIDDEN", (32, 32))
    rng = np.random.default_rng(0)
    x = rng.uniform(-1, 1, size=(600, 4))
    truth = (x[:, 0] * x[:, 1] > 0).astype(float)
    found = fit_network(x[:400], truth[:400], x[400:500], truth[400:500], epochs=600, seed=0)
    ((w1, b1), (w2, b2), (w3, b3)) = found.layers
    h = np.maximum(np.maximum(x[500:] @ w1 + b1, 0) @ w2 + b2, 0)
    right = ((h @ w3 + b3)[:, 0] > 0) == (truth[500:] > 0.5)
    assert right.mean() > 0.85


def test_training_stops_and_keeps_the_best_epoch(monkeypatch):
    monkeypatch.setattr(halludetect_fit, "HIDDEN", (16, 16))
    rng = np.random.default_rng(0)
    x, truth = rng.normal(size=(40, 4)), (rng.random(40) < 0.5).astype(float)  # nothing to learn
    losses = []
    found = fit_network(
        x[:30],
        truth[:30],
        x[30:],
        truth[30:],
        patience=20,
        progress=lambda _, loss: losses.append(loss),
    )
    assert len(losses) == found.epochs + 20
    assert found.loss == min(losses) == losses[found.epochs - 1]


def test_the_same_seed_gives_the_same_network(monkeypatch):
    monkeypatch.setattr(halludetect_fit, "HIDDEN", (8, 8))
    x, truth = data(50)
    one, two, other = (fit_network(x, truth, x, truth, epochs=3, seed=s) for s in (1, 1, 2))
    assert all((a[0] == b[0]).all() for a, b in zip(one.layers, two.layers, strict=True))
    assert not (one.layers[0][0] == other.layers[0][0]).all()


def test_features_that_hardly_vary_are_read_back_as_they_were_fitted(tmp_path):
    x, truth = data()
    x[:, 2] = 1 - 1e-9 * (2.1 + x[:, 2])  # far finer than float32 is near 1
    mean, scale = standardised(x)
    logistic = fit_logistic((x - mean) / scale, truth, ridge=1.0)
    layers = ((logistic.coefficients[:, None], np.array([logistic.intercept])),)
    fitted = Detector("logistic", mean, scale, layers, None, "all", {})
    write_detector(tmp_path / "model.json", fitted)
    read = read_detector(str(tmp_path / "model.json"))
    assert read.log_odds(x) == pytest.approx(fitted.log_odds(x), abs=1e-4)
    assert ((fitted.risk(x) > 0.5) == (truth > 0.5)).mean() > 0.7
