"""Language models behind completion servers that tell the probabilities of given text."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

import numpy as np

from veridical.errors import ModelError
from veridical.llm.echo import ECHO_FORMS, EchoForm, echo_request, read_echo
from veridical.llm.endpoints import Endpoint
from veridical.llm.messages import LlmError
from veridical.llm.tokens import GivenText, TokenProbabilities
from veridical.models.causal.chat import plain_prompt
from veridical.models.http import CHARACTERS_PER_TOKEN, JsonClient
from veridical.models.protocols import Window

#: How many alternatives to ask for: what vLLM gives at most unless told otherwise, and OpenAI.
_TOPS = (20, 5)
_PROBE = GivenText("The sky is", " blue and the grass is green.")


class HttpLanguageModel:
    """Token probabilities from ``/completions``: ``echo`` or ``prompt_logprobs``.

    Which of the two the server knows, and how many alternatives it gives, is found out when the
    model is loaded. It tells the likeliest tokens only: there is no entropy over the whole
    vocabulary. Texts are sent whole; the server refuses what is too long for its model. Chat
    templates cannot be asked for, so messages are joined by blank lines. Thread-safe.

    Raises:
        ModelError: when loaded and from ``run``, when the server cannot be reached, refuses, or
            tells no usable log-probabilities of given text.
    """

    workers = 8
    batch_tokens = 1  # one request a text

    def __init__(self, endpoint: Endpoint) -> None:
        self._client = JsonClient(
            f"{endpoint.base_url.rstrip('/')}/completions",
            endpoint.key_env or "",
            timeout=endpoint.timeout,
            attempts=endpoint.attempts,
        )
        self._body = {"model": endpoint.model, **endpoint.extra_body}
        self.name = endpoint.model or endpoint.name
        self._form, self._top = self._probe()
        identity = (endpoint.identity, self._form, self._top, "http-causal-1")
        self.revision = hashlib.blake2b(repr(identity).encode(), digest_size=8).hexdigest()

    def windows(self, texts: Sequence[GivenText]) -> list[list[Window]]:
        return [[Window(1 + sum(map(len, t)) // CHARACTERS_PER_TOKEN, t)] for t in texts]

    def run(self, batch: Sequence[Window]) -> list[Any]:
        return [self._read(w.content, self._form, self._top) for w in batch]

    def assemble(self, windows: Sequence[Window], outputs: Sequence[Any]) -> TokenProbabilities:
        (found,) = outputs
        value: TokenProbabilities = found
        return value

    def chat_prompt(self, messages: Sequence[dict[str, Any]]) -> str:
        """
        Raises:
            ModelError: a message holds an image.
        """
        return plain_prompt(messages)

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def _read(self, given: GivenText, form: EchoForm, top: int) -> TokenProbabilities:
        if not given.text:
            nothing = np.zeros(0)
            places = np.zeros(0, np.int64)
            return TokenProbabilities(places, places, nothing, np.zeros((0, top)))
        reply = self._client.post(self._body | echo_request(given, top, form))
        try:
            return read_echo(reply, given, form, top)
        except LlmError as e:
            raise ModelError(f"{self._client.url}: {e}") from None

    def _probe(self) -> tuple[EchoForm, int]:
        problem: ModelError | None = None
        for form in ECHO_FORMS:
            for top in _TOPS:
                try:
                    self._read(_PROBE, form, top)
                    return form, top
                except ModelError as e:
                    problem = problem or e
        raise ModelError(
            f"{self.name} tells no log-probabilities of given text ({problem}). vLLM and "
            "llama-cpp-python do; llama.cpp's own server and most hosted ones do not: name a "
            "folder or a PATH.gguf instead"
        )
