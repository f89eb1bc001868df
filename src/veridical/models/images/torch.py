"""Image encoders by transformers: CLIP, SigLIP, DINOv2, ViT and others."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from veridical.core.protocols import Window
from veridical.errors import ModelError
from veridical.models import torch_loading as loading
from veridical.models.folder import digest_of, read_json
from veridical.models.images.preparing import CONFIG, VERSION, Preparation
from veridical.models.images.vectors import ImageWindows

if TYPE_CHECKING:
    from typing_extensions import Unpack

#: Images per forward.
BATCH = {"cpu": 8, "cuda": 64}


class TorchImageEmbedder(ImageWindows, loading.TorchBackEnd):
    """An image model that ``AutoModel`` can build from safetensors.

    The vector of an image is the one the model is trained to compare. For CLIP and SigLIP it is the
    projected embedding (``get_image_features``), else the pooled output, else the first token.
    Thread-safe. The arguments are those of :class:`~veridical.models.torch_loading.TorchBackEnd`.

    Raises:
        ModelError: torch is missing, the model cannot be found or built, or has no image
            preprocessing.
    """

    def __init__(self, name_or_path: str | Path, **options: Unpack[loading.TorchOptions]) -> None:
        super().__init__(name_or_path, **options)
        root = self._root
        self._prepare = Preparation.read(root)
        config = read_json(root / "config.json", {})
        with loading.explained(root, config):
            self._model = self._trained("AutoModel", "image model")
        self.batch_tokens = BATCH.get(self._device.type, BATCH["cpu"])
        beside = [root / name for name in ("config.json", CONFIG)]
        files = [*loading.own_files(root, self._commit), *beside]
        self.revision = digest_of((VERSION, "torch", self._commit, self._dtype), files)

    def run(self, batch: Sequence[Window]) -> list[Any]:
        import torch

        points = torch.from_numpy(self.prepared(batch)).to(self._device, self._model.dtype)
        with self._lock, torch.inference_mode():
            try:
                vectors = self._vectors(points)
            except (RuntimeError, TypeError, ValueError) as e:
                raise ModelError(f"{self.name}: {loading.first_line(e)}") from None
        self.width = vectors.shape[1]
        return list(vectors.float().cpu().numpy().astype(np.float32))

    def _vectors(self, points: Any) -> Any:
        """Return an (n, d) tensor, not normalised."""
        features = getattr(self._model, "get_image_features", None)
        made = (self._model if features is None else features)(pixel_values=points)
        if not hasattr(made, "keys"):  # transformers before 5 returns the tensor itself
            return made
        pooled = made.get("pooler_output")
        return made["last_hidden_state"][:, 0] if pooled is None else pooled
