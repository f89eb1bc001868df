"""Clients of language models, including models run in process by torch."""

from __future__ import annotations

from typing import TYPE_CHECKING

from veridical.llm import service

if TYPE_CHECKING:
    from veridical.llm.endpoints import Endpoint
    from veridical.llm.service import ChatClient


def check_client(endpoint: Endpoint) -> None:
    """Raise the errors of :func:`open_client` that can be detected without loading a model.

    Raises:
        UsageError: the key is not in the environment, or there is no such file or option.
        ModelError: a package that runs the model is not installed.
    """
    if endpoint.kind == "torch":
        from veridical.models.causal.generation import check_torch_chat
        from veridical.models.torch_loading import libraries

        check_torch_chat(endpoint)
        libraries(endpoint.name)
    else:
        service.check_client(endpoint)


def open_client(endpoint: Endpoint) -> ChatClient:
    """Open the client of ``endpoint``.

    Raises:
        UsageError: its key is not in the environment, or a required package is not installed.
    """
    if endpoint.kind == "torch":
        from veridical.models.causal.generation import TorchChat

        return TorchChat(endpoint)
    return service.open_client(endpoint)
