"""What is kept of scikit-learn's models says what they say; and the file that holds it."""

from __future__ import annotations

import base64
import json

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.neural_network import MLPClassifier
from sklearn.preprocessing import StandardScaler

from veridical.core.protocols import TokenVectors
from veridical.errors import UsageError
from veridical_lab.repc.fit import mlp_of
from veridical_lab.tagger.features import beside_width, candidate_width, sentence_of, word_width
from veridical_lab.tagger.fit import fit_selection, project
from veridical_lab.tagger.model import Networks, Tagger, read_tagger, write_tagger

RNG = np.random.default_rng(0)
K, D = 4, 6


def network(width: int):
    x, y = RNG.normal(size=(60, width)), np.arange(60) % 3
    scaler = StandardScaler().fit(x)
    fitted = MLPClassifier((5,), max_iter=300, random_state=0).fit(scaler.transform(x), y)
    kept = mlp_of(scaler, fitted)
    np.testing.assert_allclose(
        kept.probabilities(x), fitted.predict_proba(scaler.transform(x)), atol=1e-9
    )
    return kept


def selection():
    x = RNG.normal(size=(80, candidate_width(K)))
    return fit_selection(x, x[:, 0] + x[:, 1] > 0), x


def tagger():
    networks = Networks(
        RNG.normal(size=D),
        RNG.normal(size=(K, D)),
        network(word_width(K)),
        network(beside_width(K)),
    )
    return Tagger(networks, selection()[0], "minilm", "abc", {"seed": 0})


def test_the_selection_is_scikit_learns():
    kept, x = selection()
    truth = x[:, 0] + x[:, 1] > 0
    scaler = StandardScaler().fit(x)
    fitted = LogisticRegression(C=0.01, max_iter=1000).fit(scaler.transform(x), truth)
    expected = fitted.predict_proba(scaler.transform(x))[:, 1]
    np.testing.assert_allclose(kept.shares(x), expected, atol=1e-6)
    with pytest.raises(UsageError, match="all right, or all wrong"):
        fit_selection(x, np.ones(len(x), bool))


def test_the_axes_are_those_of_the_singular_values():
    offsets = np.array([(i, i + 1) for i in range(0, 40, 2)])
    vectors = RNG.normal(size=(20, D)).astype(np.float32) * np.arange(1, D + 1)
    read = sentence_of("a " * 20, TokenVectors(offsets, vectors))
    mean, axes = project([read])
    _, _, expected = np.linalg.svd(vectors - vectors.mean(axis=0))
    np.testing.assert_allclose(mean, vectors.mean(axis=0), rtol=1e-5)
    np.testing.assert_allclose(np.abs(axes), np.abs(expected), atol=1e-5)


@pytest.mark.parametrize("ending", ["json", "safetensors"])
def test_a_file_holds_all_of_it(ending, tmp_path):
    model, path = tagger(), tmp_path / f"extractor.{ending}"
    write_tagger(path, model)
    found = read_tagger(str(path))
    assert (found.encoder, found.revision, found.notes) == ("minilm", "abc", {"seed": 0})
    assert found.selection.threshold == 0.5 and len(found.version) == 8
    rows = RNG.normal(size=(3, word_width(K)))
    np.testing.assert_allclose(
        found.networks.tails.probabilities(rows),
        model.networks.tails.probabilities(rows),
        atol=1e-4,
    )
    again = tmp_path / f"again.{ending}"
    write_tagger(again, found)
    assert again.read_bytes() == path.read_bytes()


def _changed(body, name, value):
    array = np.asarray(value, "<f4")
    raw = base64.b64encode(array.tobytes()).decode()
    body["arrays"][name] = {"shape": list(array.shape), "float32": raw}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda b: b.update(format="veridical-repc-1"), "format 'veridical-repc-1'"),
        (lambda b: b.update(encoder=1), "must be texts"),
        (lambda b: b.update(threshold=1.5), "threshold"),
        (lambda b: b["arrays"].pop("mean"), "it has the arrays"),
        (lambda b: b["arrays"].update({"other.mean": b["arrays"]["mean"]}), "KeyError"),
        (lambda b: _changed(b, "mean", np.zeros(D + 1)), "axes of shape"),
        (lambda b: _changed(b, "mean", np.full(D, np.nan)), "not finite"),
        (lambda b: _changed(b, "axes", np.zeros((K + 1, D))), "other rows than it makes"),
        (lambda b: _changed(b, "scale", np.zeros(candidate_width(K))), "scale is not positive"),
        (lambda b: _changed(b, "bias", [1.0, 2.0]), "do not fit together"),
        (lambda b: b["arrays"].pop("tails.mean"), "arrays"),
    ],
)
def test_what_is_no_such_model_is_refused(change, message, tmp_path):
    path = tmp_path / "extractor.json"
    write_tagger(path, tagger())
    body = json.loads(path.read_text())
    change(body)
    path.write_text(json.dumps(body))
    with pytest.raises(UsageError, match=f"is not a valid extractor model of .*{message}"):
        read_tagger(str(path))
