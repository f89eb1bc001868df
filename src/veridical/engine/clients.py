"""Clients of language models, those that torch runs in this process among them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from veridical.llm import service

if TYPE_CHECKING:
    from veridical.llm.endpoints import Endpoint
    from veridical.llm.service import ChatClient


def check_client(endpoint: Endpoint) -> None:
    """Refuse what :func:`open_client` would, as far as it can be told without loading a model.

    Raises:
        UsageError: there is no key in the environment, no such file, or no such option.
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
    """The client that ``endpoint`` says.

    Raises:
        UsageError: its key is not in the environment, or what it needs is not installed.
    """
    if endpoint.kind == "torch":
        from veridical.models.causal.generation import TorchChat

        return TorchChat(endpoint)
    return service.open_client(endpoint)
