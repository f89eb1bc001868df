"""Clients of language models, those that torch runs in this process among them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from veridical.llm import service

if TYPE_CHECKING:
    from veridical.llm.endpoints import Endpoint
    from veridical.llm.service import ChatClient


def open_client(endpoint: Endpoint) -> ChatClient:
    """The client that ``endpoint`` says.

    Raises:
        UsageError: its key is not in the environment, or what it needs is not installed.
    """
    if endpoint.base_url.startswith("torch:"):
        from veridical.models.causal.generation import TorchChat

        return TorchChat(endpoint)
    return service.open_client(endpoint)
