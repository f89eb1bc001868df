"""HTTP encoders: OpenAI-compatible ``/embeddings`` and text-embeddings-inference."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import numpy as np

from veridical.arrays import Floats32
from veridical.core.model_names import ModelName
from veridical.core.protocols import Encoded, Window
from veridical.errors import ModelError, UsageError
from veridical.llm.endpoints import URL_KEY, Endpoint
from veridical.models.folder import digest_of
from veridical.models.json_client import HttpBackEnd
from veridical.models.pooling import join_vectors

#: Maximum characters of a window: 512 tokens in most tokenizers and languages with spaces.
MAX_CHARACTERS = 2000
#: Windows per request; the default limit of text-embeddings-inference is 32.
MAX_ITEMS = 32
_WORKERS = 4
CHARACTERS_PER_TOKEN = 4
#: Maximum bytes of a reply: 32 vectors of 8192 numbers with 17 digits are 5 MB.
LONGEST_REPLY = 16 * 2**20
_OPENAI = "api.openai.com"


class HttpEncoder(HttpBackEnd):
    """Embeddings from a server, without token vectors.

    Texts longer than ``max_characters`` are split at white space into windows that overlap by an
    eighth, and the windows' vectors are averaged by length. Truncation is disabled if the protocol
    allows. Redirects are not followed. Thread-safe.

    Args:
        url: base address, such as ``https://host/v1``; ``/embeddings`` (OpenAI-compatible) or
            ``/embed`` (``tei``) is appended.
        model: model name sent with OpenAI-compatible requests.
        protocol: ``openai`` or ``tei``.
        key_variable: environment variable with the bearer token; unset sends none.
        timeout, attempts: limits per request (see
            :class:`~veridical.models.json_client.JsonClient`).
        max_characters: maximum characters of a window.
        workers: concurrent requests.
        extra_body: the server's own options, added to OpenAI-compatible requests.

    Raises:
        ModelError: from ``run``, if the server cannot be reached, refuses, or does not return one
            finite vector per text, all of one width.
    """

    has_tokens = False

    def __init__(
        self,
        url: str,
        model: str = "",
        *,
        protocol: str = "openai",
        key_variable: str = "OPENAI_API_KEY",
        timeout: float = 60.0,
        attempts: int = 5,
        max_characters: int = MAX_CHARACTERS,
        workers: int = _WORKERS,
        extra_body: Mapping[str, Any] | None = None,
    ) -> None:
        if protocol not in ("openai", "tei"):
            raise UsageError(f"unknown protocol {protocol!r}; known: openai, tei")
        if protocol == "openai" and not model:
            raise UsageError(f"{url} has no model; add it after '#': {url}#MODEL")
        if max_characters < 16:
            raise UsageError("max_characters must be at least 16")
        path = "embeddings" if protocol == "openai" else "embed"
        super().__init__(
            f"{url.rstrip('/')}/{path}",
            key_variable,
            timeout=timeout,
            attempts=attempts,
            longest=LONGEST_REPLY,
        )
        self._model = model
        self._extra = dict(extra_body or {})
        self._protocol = protocol
        self._max_characters = max_characters
        self._width: int | None = None
        self.name = model or "tei"
        self.workers = workers
        self.batch_tokens = MAX_ITEMS * max_characters // CHARACTERS_PER_TOKEN
        # Not the address, as the same model may be served elsewhere.
        identity = repr((protocol, model or self._url, max_characters, "http-1"))
        if self._extra:
            identity += json.dumps(self._extra, sort_keys=True, default=str)
        self.revision = digest_of(identity.encode())

    @classmethod
    def from_name(cls, name: ModelName) -> HttpEncoder:
        """Parse ``https://HOST/v1#MODEL`` or ``tei:http://HOST``.

        OpenAI gets its own key, and other addresses the one in
        :data:`veridical.llm.endpoints.URL_KEY`.
        """
        if name.kind == "tei":
            # The key of another service must not be sent to this host.
            return cls(name.rest, protocol="tei", key_variable="TEI_API_KEY")
        url, model = name.served
        parts = urlsplit(url)
        openai = (parts.scheme, parts.netloc) == ("https", _OPENAI)
        return cls(url, model, key_variable="OPENAI_API_KEY" if openai else URL_KEY)

    @classmethod
    def from_endpoint(cls, endpoint: Endpoint) -> HttpEncoder:
        """Use the ``/embeddings`` of an LLM endpoint, with its key, limits and options.

        Raises:
            UsageError: it is a local model without a server, or its key is not in the environment.
        """
        if endpoint.runs_here:
            raise UsageError(
                f"LLM {endpoint.name!r} gives no embeddings; use a server, or an "
                "embedding model (minilm, a folder, torch:ID)"
            )
        endpoint.key()  # raise now rather than during a run
        return cls(
            endpoint.base_url,
            endpoint.model,
            key_variable=endpoint.key_env or "",
            timeout=endpoint.timeout,
            attempts=endpoint.attempts,
            workers=min(_WORKERS, endpoint.max_concurrency),
            extra_body=endpoint.extra_body,
        )

    def windows(self, texts: Sequence[str]) -> list[list[Window]]:
        return [split_characters(text, self._max_characters) for text in texts]

    def run(self, batch: Sequence[Window], tokens: bool) -> list[Any]:
        if tokens:
            raise ModelError(f"{self.name}: an embedding server returns no token vectors")
        vectors: list[Floats32] = []
        for start in range(0, len(batch), MAX_ITEMS):
            vectors += self._embed([w.content for w in batch[start : start + MAX_ITEMS]])
        return vectors

    def assemble(self, windows: Sequence[Window], outputs: Sequence[Any], tokens: bool) -> Encoded:
        return Encoded(join_vectors(windows, outputs))

    def _embed(self, texts: list[str]) -> list[Floats32]:
        if self._protocol == "openai":
            # Servers reject an empty text; a space has the same embedding.
            inputs = [t or " " for t in texts]
            request = {"model": self._model, "input": inputs, "encoding_format": "float"}
            request |= self._extra
            rows = _openai_rows(self._client.post(request), len(texts))
        else:
            reply = self._client.post({"inputs": texts, "truncate": False, "normalize": True})
            rows = reply if isinstance(reply, list) else []
        if len(rows) != len(texts):
            raise ModelError(f"{self._url}: {len(rows)} vectors for {len(texts)} texts")
        return [self._checked(row) for row in rows]

    def _checked(self, row: object) -> Floats32:
        try:
            with np.errstate(over="ignore"):  # reported below
                vector = np.asarray(row, dtype=np.float32)
        except (TypeError, ValueError, OverflowError):
            vector = np.empty(0, dtype=np.float32)
        if vector.ndim != 1 or not vector.size:
            raise ModelError(f"{self._url}: an embedding is not a list of numbers")
        if not np.isfinite(vector).all():
            raise ModelError(f"{self._url}: an embedding has values that are not finite")
        if self._width is None:
            self._width = vector.size
        if vector.size != self._width:
            raise ModelError(
                f"{self._url}: an embedding has {vector.size} values, others had {self._width}"
            )
        return vector


class _Piece(NamedTuple):
    start: int
    end: int


def split_characters(text: str, longest: int) -> list[Window]:
    """Split a text at white space into windows of at most ``longest`` characters.

    ``length`` and ``overlap`` are estimated at four characters per token.
    """
    pieces = []
    slack, start = longest // 8, 0
    while len(text) - start > longest:
        end = _space(text, start + longest, start + longest - slack)
        pieces.append(_Piece(start, end))
        start = _space(text, end - slack, max(end - 2 * slack, start + 1))
    pieces.append(_Piece(start, len(text)))
    windows, previous = [], 0
    for start, end in pieces:
        overlap = max(previous - start, 0) // CHARACTERS_PER_TOKEN
        length = 2 + (end - start) // CHARACTERS_PER_TOKEN
        windows.append(Window(length, text[start:end], overlap))
        previous = end
    return windows


def _space(text: str, at: int, lowest: int) -> int:
    """Return the last position in ``lowest..at`` after white space, else ``at``."""
    return next((i for i in range(at, lowest - 1, -1) if text[i - 1].isspace()), at)


def _openai_rows(reply: Any, count: int) -> list[Any]:
    """Return the embeddings in the order of the texts, by each entry's ``index``."""
    data = reply.get("data") if isinstance(reply, dict) else None
    if not isinstance(data, list) or not all(isinstance(d, dict) for d in data):
        raise ModelError("the server's reply has no list 'data' of embeddings")
    if len(data) != count:
        raise ModelError(f"the server returned {len(data)} vectors for {count} texts")
    by_index = {i: d.get("embedding") for d in data if type(i := d.get("index")) is int}
    if set(by_index) != set(range(count)):
        raise ModelError(f"the server's indices are not 0..{count - 1}, each once")
    return [by_index[i] for i in range(count)]
