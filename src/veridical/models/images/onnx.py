"""ONNX image encoders on the CPU, including the embedded one."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from veridical.core.protocols import Window
from veridical.errors import ModelError
from veridical.models.folder import IMAGE_GRAPHS, digest_of
from veridical.models.images.preparing import CONFIG, VERSION, Preparation
from veridical.models.images.vectors import ImageWindows
from veridical.models.onnx import open_session, usable_processors, weight_files

#: The model in the package.
EMBEDDED = Path(__file__).parents[1] / "data" / "efficientnet-lite0"
#: Images per forward: more are not faster on a processor.
BATCH = 8
_INPUT = "pixel_values"
#: Names of outputs with an image's vector; the first present one is used.
_OUTPUTS = ("image_embeds", "pooler_output", "embeddings")


class OnnxImageEmbedder(ImageWindows):
    """An image encoder in a folder with an ONNX graph.

    The graph takes ``pixel_values``, and the folder has ``preprocessor_config.json``, as written by
    exporters of CLIP and similar models. Each forward runs on one thread; thread-safe.

    Args:
        threads: concurrent forwards; default: the processors available to this process.

    Raises:
        ModelError: a file is missing or broken, the graph has other inputs, or no output with one
            vector per image.
    """

    def __init__(self, folder: str | Path, *, threads: int | None = None) -> None:
        root = Path(folder)
        graph = next((root / g for g in IMAGE_GRAPHS if (root / g).is_file()), None)
        if graph is None:
            raise ModelError(f"{root} has none of {', '.join(IMAGE_GRAPHS)}")
        self._prepare = Preparation.read(root)
        self._session = open_session(graph)
        inputs = [i.name for i in self._session.get_inputs()]
        if inputs != [_INPUT]:
            raise ModelError(f"{graph} has inputs {inputs}; an image encoder has only {_INPUT}")
        shapes = {o.name: o.shape for o in self._session.get_outputs()}
        self._output = next((n for n in (*_OUTPUTS, *shapes) if len(shapes.get(n, ())) == 2), "")
        if not self._output:
            raise ModelError(f"{graph}: no output has the shape (batch, width)")
        width = shapes[self._output][1]
        self.width = width if isinstance(width, int) else 1
        self.name = root.name
        self.batch_tokens = BATCH
        self.workers = threads or usable_processors()
        self.revision = digest_of((VERSION, "onnx"), [*weight_files(graph), root / CONFIG])

    def run(self, batch: Sequence[Window]) -> list[Any]:
        points = self.prepared(batch)
        try:
            (vectors,) = self._session.run([self._output], {_INPUT: points})
        except Exception as e:  # the library has many classes of errors
            raise ModelError(f"{self.name}: {e}") from None
        return list(np.asarray(vectors, np.float32))
