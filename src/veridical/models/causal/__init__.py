"""Causal language models that score texts, and their names."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from veridical.core.model_names import ModelName, forms, no_model
from veridical.errors import UsageError
from veridical.weights.download import SMOLLM2, WEIGHTS

if TYPE_CHECKING:
    from veridical.core.protocols import LanguageModel

LANGUAGE_FORMS = (
    *(f"{name} (see: veridical models get {name})" for name in WEIGHTS),
    *forms("proxy"),
)
_HUB_ID = re.compile(r"[\w.-]+/[\w.-]+")


def load_language_model(
    spec: str, *, threads: int | None = None, device: str | None = None
) -> LanguageModel:
    """Load the language model named by ``spec`` (see :data:`LANGUAGE_FORMS`).

    Args:
        threads: CPU threads per forward, for local models.
        device: torch device, such as ``cuda`` or ``cpu``, for local models.

    Raises:
        UsageError: ``spec`` has none of the known forms.
        ModelError: the model cannot be loaded, or does not return probabilities of given text.
    """
    from veridical.llm.endpoints import configured, find_endpoint
    from veridical.weights import download

    model = ModelName.parse(spec)
    if model.kind == "torch":
        return _torch(spec, threads, device)
    remote = spec in configured() or model.remote
    if not remote:
        here = replace(model, kind="") if model.kind == "local" else model
        name = here.head
        weights = SMOLLM2 if model.kind == "local" and not name else WEIGHTS.get(name)
        path = Path(name).expanduser() if weights is None else download.need(weights)
        if path.suffix == ".gguf":
            return _gguf(path, model.query, threads, None if weights is None else weights.name)
        if name.startswith((".", "/", "~")) and not path.is_dir():
            raise UsageError(f"no such model folder or GGUF file: {name!r}")
        if path.is_dir() or _HUB_ID.fullmatch(name):
            return _torch(str(here), threads, device)
    try:
        endpoint = find_endpoint(spec)
    except UsageError:
        if remote:
            raise
        raise no_model(spec, LANGUAGE_FORMS, "language model") from None
    if endpoint.runs_here:
        served = ModelName.parse(endpoint.base_url).head  # the rest are serving options
        if endpoint.kind == "local" and served != model.head:
            return load_language_model(served, threads=threads, device=device)
        raise UsageError(
            f"{spec!r} cannot score a given text; use a folder, a GGUF file or a completion server"
        )
    from veridical.models.causal.http import HttpLanguageModel

    return HttpLanguageModel(endpoint)


def configured_proxy(spec: str) -> None:
    """Raise an error for a language model that is not a section of ``veridical.toml``.

    Raises:
        UsageError: ``spec`` is a path, an address, or an unknown name.
    """
    from veridical.llm.endpoints import find_endpoint

    find_endpoint(spec, named_only=True)


def _gguf(path: Path, query: str | None, threads: int | None, label: str | None) -> LanguageModel:
    from veridical.models.causal.gguf import GgufLanguageModel

    if query:
        raise UsageError(f"{path.name} takes no options; use torch:{path.name} for options")
    return GgufLanguageModel(path, threads=threads, name=label)


def _torch(spec: str, threads: int | None, device: str | None) -> LanguageModel:
    from veridical.models.causal.torch import TorchLanguageModel, read_torch

    place, options = read_torch(spec)
    return TorchLanguageModel(place, device=device, threads=threads, **options)
