"""The embedded image encoder: its files, its agreement with the original, what it tells apart."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import numpy as np
import pytest
from places import ROOT

from veridical.core.images import Picture
from veridical.models.images.names import load_image_embedder
from veridical.models.images.onnx import EMBEDDED
from veridical_lab.studies.checkembed.scenes import OBJECTS, Scene

pytest.importorskip("PIL")
REFERENCE = json.loads((ROOT / "tests/models/data/efficientnet_reference.json").read_text("utf-8"))


@pytest.fixture(scope="module")
def embedder() -> Any:
    return load_image_embedder(threads=1)


def vectors(embedder: Any, scenes: list[Scene]) -> np.ndarray:
    windows = embedder.windows([Picture(scene.url()) for scene in scenes])
    outputs = embedder.run([w for (w,) in windows])
    return np.stack([embedder.assemble(w, [o]) for w, o in zip(windows, outputs, strict=True)])


def test_files_match_their_checksums_and_have_card_and_licence() -> None:
    lines = (EMBEDDED / "SHA256SUMS").read_text().splitlines()
    assert len(lines) == 2
    for line in lines:
        digest, name = line.split()
        assert hashlib.sha256((EMBEDDED / name).read_bytes()).hexdigest() == digest, name
    assert "Apache License" in (EMBEDDED / "LICENSE").read_text()
    card = (EMBEDDED / "README.md").read_text("utf-8")
    assert "Apache-2.0" in card and "ML Illustrated" in card
    assert (EMBEDDED / "model.onnx").stat().st_size < 5e6


def test_agrees_with_the_float32_network(embedder: Any) -> None:
    """The stored values are of the original weights in torch (training/efficientnet.py)."""
    ours = vectors(embedder, [Scene(*scene) for scene in REFERENCE["scenes"]])
    assert ours.shape == (3, 1280) and embedder.width == 1280
    difference = ours[:, :8] - np.array(REFERENCE["vectors"])
    # A cosine of 0.9996 leaves 0.0008 a value; the values themselves are about 0.02.
    assert np.sqrt((difference**2).mean()) < 0.0016


def test_a_vector_does_not_depend_on_its_batch(embedder: Any) -> None:
    scenes = [Scene("apple", count, 3) for count in (1, 2, 5)]
    together = vectors(embedder, scenes)
    apart = np.concatenate([vectors(embedder, [scene]) for scene in scenes])
    assert np.abs(together - apart).max() < 1e-5
    assert np.allclose(np.linalg.norm(together, axis=1), 1, atol=1e-6)


def test_things_are_told_apart(embedder: Any) -> None:
    """Of each of the drawn things, the nearest other picture shows the same thing."""
    scenes = [Scene(name, 4, seed) for name in OBJECTS for seed in (0, 1, 2)]
    found = vectors(embedder, scenes)
    cosines = found @ found.T - 2 * np.eye(len(scenes))
    nearest = [scenes[i].object for i in cosines.argmax(axis=1)]
    assert nearest == [scene.object for scene in scenes]
