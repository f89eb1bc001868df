"""Preparation of images, beside what transformers' own processors do."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from image_files import noise, preparation

from veridical.errors import ModelError
from veridical.models.images.preparing import Preparation

pytest.importorskip("PIL")


@pytest.mark.torch
@pytest.mark.parametrize(
    "changed",
    [
        {},
        {"resample": 2, "size": {"height": 48, "width": 40}, "do_center_crop": False},
        {"size": {"shortest_edge": 40}, "image_mean": [0.5] * 3, "image_std": [0.5] * 3},
        {"do_normalize": False},
        {"rescale_factor": 1 / 127.5},
        {"do_resize": False, "crop_size": {"height": 20, "width": 24}},
    ],
)
@pytest.mark.parametrize("size", [(64, 64), (90, 50), (33, 71)])
def test_as_transformers_prepares(
    tmp_path: Path, changed: dict[str, Any], size: tuple[int, int]
) -> None:
    transformers = pytest.importorskip("transformers")
    preparation(tmp_path, **changed)
    named = getattr(transformers, "CLIPImageProcessorPil", None) or transformers.CLIPImageProcessor
    theirs = named.from_pretrained(tmp_path)
    image = noise(*size)
    wanted = np.asarray(theirs(image, return_tensors="np")["pixel_values"][0])
    given = Preparation.read(tmp_path)(image)
    assert given.shape == wanted.shape and given.dtype == np.float32
    assert np.abs(given - wanted).max() < 1e-5


@pytest.mark.parametrize(
    "changed",
    [
        {"size": None},
        {"size": {"longest_edge": 10, "shortest_edge": 5}},
        {"size": {"height": 10}},
        {"size": {"shortest_edge": 0}},
        {"size": {"shortest_edge": 10**9}},
        {"size": {"shortest_edge": 32}, "do_center_crop": False},
        {"image_mean": [0.5]},
        {"image_std": [0, 0, 0]},
        {"image_mean": None},
        {"rescale_factor": "x"},
        {"resample": 99},
        {"crop_size": {"height": -1, "width": 3}},
    ],
)
def test_what_is_not_known_is_refused(tmp_path: Path, changed: dict[str, Any]) -> None:
    preparation(tmp_path, **changed)
    with pytest.raises(ModelError, match="has an unsupported preprocessing"):
        Preparation.read(tmp_path)


def test_a_folder_without_the_file(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="so it is not an image model"):
        Preparation.read(tmp_path)
    (tmp_path / "preprocessor_config.json").write_text("[]")
    with pytest.raises(ModelError, match="must be a JSON dict"):
        Preparation.read(tmp_path)


def test_older_files_tell_sizes_as_numbers(tmp_path: Path) -> None:
    preparation(tmp_path, size=40, crop_size=32)
    assert json.loads((tmp_path / "preprocessor_config.json").read_text())["size"] == 40
    assert Preparation.read(tmp_path)(noise(80, 50)).shape == (3, 32, 32)


def test_an_image_of_very_unlike_sides_is_refused(tmp_path: Path) -> None:
    preparation(tmp_path)
    with pytest.raises(ModelError, match="sides of 6000 and 1 pixels"):
        Preparation.read(tmp_path)(noise(6000, 1))
