"""Names of image embedders: embedded, ONNX folders, transformers models."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from veridical.core.model_names import ModelName, forms
from veridical.models.catalog import local_model
from veridical.models.folder import IMAGE_GRAPHS

if TYPE_CHECKING:
    from veridical.core.protocols import ImageEmbedder

#: Name of the embedded model.
DEFAULT = "efficientnet-lite0"
FORMS = forms("image_embedder")
_OPTIONS: dict[str, dict[str, Any]] = {"onnx": {}, "torch": {"revision": str}}


def load_image_embedder(
    spec: str = DEFAULT, *, threads: int | None = None, device: str | None = None
) -> ImageEmbedder:
    """Load the image embedder named by ``spec`` (see :data:`FORMS`).

    Args:
        threads: threads per forward.
        device: torch device, for torch back ends only.

    Raises:
        UsageError: ``spec`` has none of the known forms.
        ModelError: the model cannot be loaded, or Pillow is not installed.
    """
    from veridical.models.images.decoding import need_pillow

    need_pillow()
    if spec == DEFAULT:
        from veridical.models.images.onnx import EMBEDDED, OnnxImageEmbedder

        return OnnxImageEmbedder(EMBEDDED, threads=threads)
    kind, name, options = local_model(ModelName.parse(spec), FORMS, _OPTIONS, graphs=IMAGE_GRAPHS)
    if kind == "onnx":
        from veridical.models.images.onnx import OnnxImageEmbedder

        return OnnxImageEmbedder(Path(name).expanduser(), threads=threads)
    from veridical.models.images.torch import TorchImageEmbedder

    return TorchImageEmbedder(name, device=device, threads=threads, **options)
