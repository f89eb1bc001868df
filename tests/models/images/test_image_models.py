"""Image embedders: named checkpoints beside transformers, ONNX folders, names and errors."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from image_files import clip_checkpoint, clip_graph, noise, picture, preparation, vit_checkpoint

from veridical.errors import ModelError, UsageError
from veridical.models.images.names import FORMS, load_image_embedder
from veridical.models.images.onnx import EMBEDDED

pytest.importorskip("PIL")
IMAGES = [noise(60, 40, seed) for seed in range(5)]


def vectors(embedder: Any, images: list[Any]) -> np.ndarray:
    windows = embedder.windows([picture(image) for image in images])
    outputs = embedder.run([w for (w,) in windows])
    return np.stack([embedder.assemble(w, [o]) for w, o in zip(windows, outputs, strict=True)])


@pytest.fixture(scope="module")
def clip(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("torch")
    pytest.importorskip("transformers")
    return clip_checkpoint(tmp_path_factory.mktemp("clip"))


def points(folder: Path) -> Any:
    import torch

    from veridical.models.images.preparing import Preparation

    prepare = Preparation.read(folder)
    return torch.from_numpy(np.stack([prepare(image) for image in IMAGES]))


def unit(tensor: Any) -> np.ndarray:
    import torch

    return torch.nn.functional.normalize(tensor, dim=1).numpy()


@pytest.mark.torch
@pytest.mark.parametrize("form", ["{}", "torch:{}"])
def test_clip_by_its_projected_embedding(clip: Path, form: str) -> None:
    import torch
    from transformers import CLIPModel

    embedder = load_image_embedder(form.format(clip), device="cpu")
    with torch.inference_mode():
        model = CLIPModel.from_pretrained(clip).eval()
        pooled = model.vision_model(pixel_values=points(clip)).pooler_output
        wanted = unit(model.visual_projection(pooled))
    given = vectors(embedder, IMAGES)
    assert given.shape == (5, 24) and np.abs(given - wanted).max() < 1e-5
    assert np.abs(vectors(embedder, IMAGES[:1]) - given[:1]).max() < 1e-5
    assert embedder.pretend(embedder.windows([picture(IMAGES[0])])[0][0]).shape == (24,)


@pytest.mark.torch
@pytest.mark.parametrize(("kind", "key"), [("vit", "pooler_output"), ("dinov2", "pooler_output")])
def test_models_of_images_alone_by_their_pooled_output(tmp_path: Path, kind: str, key: str) -> None:
    torch = pytest.importorskip("torch")
    from transformers import AutoModel

    folder = vit_checkpoint(tmp_path, kind)
    with torch.inference_mode():
        wanted = unit(AutoModel.from_pretrained(folder).eval()(pixel_values=points(folder))[key])
    given = vectors(load_image_embedder(str(folder), device="cpu"), IMAGES)
    assert np.abs(given - wanted).max() < 1e-5


@pytest.mark.torch
@pytest.mark.parametrize("name", ["vision_model.onnx", "onnx/vision_model.onnx", "model.onnx"])
def test_an_exported_folder_gives_what_the_checkpoint_gives(
    clip: Path, tmp_path: Path, name: str
) -> None:
    folder = clip_graph(tmp_path / "graph", clip, name)
    wanted = vectors(load_image_embedder(str(clip), device="cpu"), IMAGES)
    for form in (str(folder), f"onnx:{folder}"):
        embedder = load_image_embedder(form)
        assert np.abs(vectors(embedder, IMAGES) - wanted).max() < 1e-4
        assert embedder.name == "graph" and embedder.width == 24


@pytest.mark.torch
def test_revisions_tell_weights_and_preparation_apart(clip: Path, tmp_path: Path) -> None:
    first = load_image_embedder(f"torch:{clip}", device="cpu").revision
    other = clip_checkpoint(tmp_path)
    assert load_image_embedder(f"torch:{other}", device="cpu").revision == first
    preparation(other, resample=2)
    assert load_image_embedder(f"torch:{other}", device="cpu").revision != first


@pytest.mark.torch
def test_what_is_no_model_of_images(clip: Path, tmp_path: Path) -> None:
    (clip / "preprocessor_config.json").rename(tmp_path / "kept.json")
    try:
        with pytest.raises(ModelError, match=r"has no preprocessor_config\.json"):
            load_image_embedder(f"torch:{clip}")
    finally:
        (tmp_path / "kept.json").rename(clip / "preprocessor_config.json")
    with pytest.raises(ModelError, match="is not a folder and could not be downloaded"):
        load_image_embedder("nobody/nothing-of-this-name")
    text = EMBEDDED.parent / "all-MiniLM-L6-v2"
    with pytest.raises(ModelError, match=r"has no preprocessor_config\.json"):
        load_image_embedder(f"onnx:{text}")
    for file in text.glob("*.onnx"):
        (tmp_path / file.name).symlink_to(file)
    preparation(tmp_path)
    with pytest.raises(ModelError, match="an image encoder has only pixel_values"):
        load_image_embedder(str(tmp_path))


def test_names_that_are_none(tmp_path: Path) -> None:
    for wrong in ("nonsense", "a/b/c", "onnx:", "ftp://host/x", "https://host/v1#m", ""):
        with pytest.raises(UsageError, match="names no model") as error:
            load_image_embedder(wrong)
        assert all(form in str(error.value) for form in FORMS)
    for absent in ("onnx:does-not-exist", "./does-not-exist", "/does/not/exist"):
        with pytest.raises(UsageError, match="no such model folder"):
            load_image_embedder(absent)
    with pytest.raises(UsageError, match="no option 'layer'"):
        load_image_embedder(f"torch:{tmp_path}?layer=2")
    with pytest.raises(ModelError, match=r"has none of model\.onnx"):
        load_image_embedder(f"onnx:{tmp_path}")


def test_a_vector_without_direction_is_an_error() -> None:
    embedder = load_image_embedder()
    for bad in (np.zeros(4, np.float32), np.array([1, np.nan], np.float32)):
        with pytest.raises(ModelError, match="a zero vector"):
            embedder.assemble([], [bad])
