"""Torch checkpoints from safetensors: building and identity."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from veridical.core.protocols import Window
from veridical.errors import ModelError
from veridical.models import torch_loading as loading
from veridical.models.folder import digest_of, read_json

if TYPE_CHECKING:
    from typing_extensions import Unpack


class TorchCheckpoint(loading.TorchBackEnd):
    """A model that a scorer names, built from safetensors only.

    Its revision covers weights, configuration, tokenizer, commit, precision and the back end's
    version. Thread-safe. The arguments are those of
    :class:`~veridical.models.torch_loading.TorchBackEnd`.

    Attributes:
        automatic: transformers' class that builds the model.
        what: kind of the model, for errors.
        version: version of the back end's processing.
        single: name of its single output in errors, if it must have one.

    Raises:
        ModelError: torch is missing, the model cannot be found or built, or it lacks trained
            weights for a part of ``automatic``.
    """

    automatic: ClassVar[str]
    what: ClassVar[str]
    version: ClassVar[str]
    single: ClassVar[str] = ""

    def __init__(self, name_or_path: str | Path, **options: Unpack[loading.TorchOptions]) -> None:
        super().__init__(name_or_path, **options)
        root = self._root
        self._config = read_json(root / "config.json", {})
        if not self._config:
            raise ModelError(f"{root} has no config.json, so it is not a model folder")
        with loading.explained(root, self._config):
            self._model = self._trained(self.automatic, self.what)
        classes = getattr(self._model.config, "num_labels", None)
        if self.single and classes != 1:
            raise ModelError(f"{root} has {classes} classes; one {self.single} was expected")
        small = ("config.json", "generation_config.json", "tokenizer_config.json", "spiece.model")
        beside = [p for p in (root / name for name in small) if p.is_file()]
        identity = (self.version, self._commit, self._dtype)
        self.revision = digest_of(identity, [*loading.own_files(root, self._commit), *beside])
        self._open()

    def _open(self) -> None:
        """Load the resources for requests, such as the tokenizer."""

    def pretend(self, window: Window) -> Any:
        """Return a possible result of ``run`` for ``window``."""
        return 0.0
