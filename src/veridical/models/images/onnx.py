"""Image encoders in ONNX form, run by ONNX Runtime on the CPU. The embedded one is of them."""

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

#: The one that comes with the package.
EMBEDDED = Path(__file__).parents[1] / "data" / "efficientnet-lite0"
#: Images per forward: more of them are no faster on a processor.
BATCH = 8
_INPUT = "pixel_values"
#: Outputs that are an image's vector, the first that there is.
_OUTPUTS = ("image_embeds", "pooler_output", "embeddings")


class OnnxImageEmbedder(ImageWindows):
    """A folder with an ONNX graph of ``pixel_values`` and a ``preprocessor_config.json``, as
    exporters of CLIP and the like write them. Each forward runs on one thread; thread-safe.

    Args:
        threads: forwards side by side; default: the processors this process may use.

    Raises:
        ModelError: a file is missing or broken, the graph wants other inputs, or none of its
            outputs is one vector an image.
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
            raise ModelError(f"{graph}: inputs {inputs}; of an image encoder {_INPUT} alone")
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
        except Exception as e:  # the library has a class for every way to fail
            raise ModelError(f"{self.name}: {e}") from None
        return list(np.asarray(vectors, np.float32))
