"""Language models behind completion servers with echoed probabilities."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from veridical.core.messages import LlmError
from veridical.core.protocols import Window
from veridical.core.tokens import GivenText, TokenProbabilities
from veridical.errors import ModelError
from veridical.llm.endpoints import Endpoint
from veridical.models.causal.chat import plain_prompt
from veridical.models.causal.echo import ECHO_FORMS, EchoForm, echo_request, read_echo
from veridical.models.folder import digest_of
from veridical.models.http import CHARACTERS_PER_TOKEN
from veridical.models.json_client import HttpBackEnd

#: Requested alternatives: the default maximum of vLLM and OpenAI.
_TOPS = (20, 5)
_PROBE = GivenText("The sky is", " blue and the grass is green.")


class HttpLanguageModel(HttpBackEnd):
    """Token probabilities from ``/completions``: ``echo`` or ``prompt_logprobs``.

    The supported form and number of alternatives are detected when the model is loaded. The server
    returns the likeliest tokens only, so there is no entropy over the whole vocabulary. Texts are
    sent whole; the server rejects texts that are too long. Chat templates are unavailable, so
    messages are joined by blank lines. Thread-safe.

    Raises:
        ModelError: on loading and from ``run``, if the server cannot be reached, refuses, or
            returns no valid log-probabilities of given text.
    """

    workers = 8
    batch_tokens = 1  # one request per text

    def __init__(self, endpoint: Endpoint) -> None:
        super().__init__(
            f"{endpoint.base_url.rstrip('/')}/completions",
            endpoint.key_env or "",
            timeout=endpoint.timeout,
            attempts=endpoint.attempts,
        )
        self._body = {"model": endpoint.model, **endpoint.extra_body}
        self.name = endpoint.model or endpoint.name
        self._form, self._top = self._probe()
        identity = (endpoint.identity, self._form, self._top, "http-causal-1")
        self.revision = digest_of(identity)

    def windows(self, texts: Sequence[GivenText]) -> list[list[Window]]:
        return [[Window(1 + sum(map(len, t)) // CHARACTERS_PER_TOKEN, t)] for t in texts]

    def run(self, batch: Sequence[Window]) -> list[Any]:
        return [self._read(w.content, self._form, self._top) for w in batch]

    def assemble(self, windows: Sequence[Window], outputs: Sequence[Any]) -> TokenProbabilities:
        (probabilities,) = outputs
        value: TokenProbabilities = probabilities
        return value

    def chat_prompt(self, messages: Sequence[dict[str, Any]]) -> str:
        """Join the messages by blank lines.

        Raises:
            ModelError: a message has an image.
        """
        return plain_prompt(messages)

    def _read(self, text: GivenText, form: EchoForm, top: int) -> TokenProbabilities:
        if not text.text:
            nothing = np.zeros(0)
            places = np.zeros(0, np.int64)
            return TokenProbabilities(places, places, nothing, np.zeros((0, top)))
        reply = self._client.post(self._body | echo_request(text, top, form))
        try:
            return read_echo(reply, text, form, top)
        except LlmError as e:
            raise ModelError(f"{self._url}: {e}") from None

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
            f"{self.name} returns no log-probabilities of given text ({problem}). vLLM and "
            "llama-cpp-python do; llama.cpp's own server and most hosted ones do not: name a "
            "folder or a PATH.gguf instead"
        )
