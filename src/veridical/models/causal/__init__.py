"""Causal language models that read texts, and the names under which they are asked for."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from veridical.errors import UsageError
from veridical.weights.download import SMOLLM2, WEIGHTS

if TYPE_CHECKING:
    from veridical.core.protocols import LanguageModel

LANGUAGE_FORMS = (
    *(f"{name} (see: veridical models get {name})" for name in WEIGHTS),
    "PATH.gguf",
    "a local folder, run by torch",
    "torch:HUB_ID_OR_FOLDER_OR_GGUF[?dtype=bfloat16&revision=COMMIT]",
    "org/name (a hub id, run by torch)",
    "http(s)://HOST/v1#MODEL, or NAME of a section [llm.NAME] in veridical.toml (a server that "
    "gives the log-probabilities of given text, such as vLLM)",
)
_HUB_ID = re.compile(r"[\w.-]+/[\w.-]+")


def load_language_model(
    spec: str, *, threads: int | None = None, device: str | None = None
) -> LanguageModel:
    """The language model that ``spec`` names (see :data:`LANGUAGE_FORMS`).

    Args:
        threads: CPU threads of one forward, for models that run here.
        device: torch device, such as ``cuda`` or ``cpu``, for models that run here.

    Raises:
        UsageError: ``spec`` has none of the known forms.
        ModelError: the model cannot be loaded, or gives no probabilities of given text.
    """
    from veridical.llm.endpoints import configured, find_endpoint
    from veridical.weights import download

    if spec.startswith("torch:"):
        return _torch(spec, threads, device)
    remote = spec in configured() or spec.startswith(("http://", "https://"))
    if not remote:
        here = spec.removeprefix("local:")
        name, _, query = here.partition("?")
        weights = WEIGHTS.get(SMOLLM2.name if name == "local" else name)
        path = Path(name).expanduser() if weights is None else download.need(weights)
        if path.suffix == ".gguf":
            return _gguf(path, query, threads, None if weights is None else weights.name)
        if name.startswith((".", "/", "~")) and not path.is_dir():
            raise UsageError(f"there is no model folder or GGUF file {name!r}")
        if path.is_dir() or _HUB_ID.fullmatch(name):
            return _torch(here, threads, device)
    try:
        endpoint = find_endpoint(spec)
    except UsageError:
        if remote:
            raise
        forms = "\n  ".join(LANGUAGE_FORMS)
        raise UsageError(f"{spec!r} names no language model. Known forms:\n  {forms}") from None
    if endpoint.runs_here:
        if endpoint.base_url.startswith("local:"):
            named = endpoint.base_url.partition("?")[0]  # what follows is how it is served
            return load_language_model(named, threads=threads, device=device)
        raise UsageError(f"{spec!r} answers, but cannot read a text")
    from veridical.models.causal.http import HttpLanguageModel

    return HttpLanguageModel(endpoint)


def configured_proxy(spec: str) -> None:
    """Refuse a language model that is no section of ``veridical.toml``.

    Raises:
        UsageError: ``spec`` is a path, an address, or a name that stands for nothing.
    """
    from veridical.llm.endpoints import find_endpoint

    find_endpoint(spec, named_only=True)


def _gguf(path: Path, query: str, threads: int | None, label: str | None) -> LanguageModel:
    from veridical.models.causal.gguf import GgufLanguageModel

    if query:
        raise UsageError(f"{path.name} takes no options; torch:{path.name} does")
    return GgufLanguageModel(path, threads=threads, name=label)


def _torch(spec: str, threads: int | None, device: str | None) -> LanguageModel:
    from veridical.models.causal.torch import TorchLanguageModel, read_torch

    place, options = read_torch(spec)
    return TorchLanguageModel(place, device=device, threads=threads, **options)
