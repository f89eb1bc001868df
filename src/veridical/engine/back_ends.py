"""Back ends by kind of model: loader and request queue.

Batch size and number of parallel forwards depend on the hardware, so the back end declares them
(``batch_tokens``, ``workers``).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from veridical import models, plugins
from veridical.core.kinds import Kind
from veridical.engine.service import Service
from veridical.errors import UsageError


@dataclass(frozen=True)
class BackEnd:
    """The back end of a kind of model.

    Attributes:
        loader: ``(spec, *, threads, device)`` -> back end; None if another distribution provides
            it, as an entry point named like the kind.
        service: ``(back end, idle signal, store)`` -> request queue.
        nameable: ``(spec)``, raises :class:`UsageError` if external requests may not name the
            model; without it, they may name no model of this kind.
    """

    loader: Callable[..., Any] | None = None
    service: Callable[..., Any] = Service
    nameable: Callable[[str], None] | None = None

    @classmethod
    def of(cls, kind: Kind) -> BackEnd:
        """Return the back end of ``kind``."""
        return BACK_ENDS.get(kind.name, cls())


# Modules that most runs do not need are imported on first use.
def _load_encoder(spec: str, **options: Any) -> Any:
    return models.load_encoder(spec, **options)


def _load_nli(spec: str, **options: Any) -> Any:
    return models.load_nli(spec, **options)


def _encode_by(*arguments: Any) -> Any:
    from veridical.engine.encoders import EncoderService

    return EncoderService(*arguments)


def _encode_tokens_by(*arguments: Any) -> Any:
    from veridical.engine.encoders import token_service

    return token_service(*arguments)


def _judge_by(*arguments: Any) -> Any:
    from veridical.engine.nli import NliService

    return NliService(*arguments)


def _load_images(spec: str, **options: Any) -> Any:
    from veridical.models.images.names import load_image_embedder

    return load_image_embedder(spec, **options)


def _load_proxy(spec: str, **options: Any) -> Any:
    from veridical.models.causal import load_language_model

    return load_language_model(spec, **options)


def _read_by(*arguments: Any) -> Any:
    from veridical.engine.reading import LanguageService

    return LanguageService(*arguments)


def _configured_proxy(spec: str) -> None:
    from veridical.models.causal import configured_proxy

    configured_proxy(spec)


def _load_detector(spec: str, **options: Any) -> Any:
    from veridical.models.token_classification import load_detector

    return load_detector(spec, **options)


#: By name of the kind; for other kinds, another distribution provides the loader.
BACK_ENDS = {
    "embedder": BackEnd(_load_encoder, _encode_by),
    "image_embedder": BackEnd(_load_images),
    "token_encoder": BackEnd(_load_encoder, _encode_tokens_by),
    "nli": BackEnd(_load_nli, _judge_by, models.published_nli),
    "proxy": BackEnd(_load_proxy, _read_by, _configured_proxy),
    "detector": BackEnd(_load_detector),
}


def load(kind: Kind, spec: str, **options: Any) -> Any:
    """Load the back end that ``spec`` names.

    Raises:
        MissingDistribution: the distribution that loads it is not installed.
    """
    loader = BackEnd.of(kind).loader
    if loader is None:
        called = f"the back end of {spec} ({kind.name})"
        loader = plugins.load(plugins.MODELS, kind.name, called)
    return loader(spec, **options)


def check_name(kind: Kind, spec: str) -> None:
    """Refuse a model that external requests may not name.

    Raises:
        UsageError: the model may not be named.
    """
    nameable = BackEnd.of(kind).nameable
    if nameable is None:
        raise UsageError(
            f"a scorer of this request may not name its own model: {spec}; leave it out"
        )
    nameable(spec)
