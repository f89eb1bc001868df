"""Encoders behind HTTP: OpenAI-compatible ``/embeddings`` and text-embeddings-inference."""

from __future__ import annotations

import hashlib
import os
import random
import time
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from veridical.errors import ModelError, UsageError
from veridical.models.pooling import Floats, join_vectors
from veridical.models.protocols import Encoded, Window

#: Characters a window may have: 512 tokens of most tokenizers in most languages with spaces.
MAX_CHARACTERS = 2000
#: Windows per request; text-embeddings-inference takes 32 unless told otherwise.
MAX_ITEMS = 32
CHARACTERS_PER_TOKEN = 4
_RETRIED = {408, 409, 425, 429, 500, 502, 503, 504}
_LONGEST_WAIT = 60.0


class HttpEncoder:
    """Vectors from a server. It has no token vectors.

    Texts longer than ``max_characters`` are split at white space into windows that overlap by an
    eighth, and the windows' vectors are averaged by length; the server is asked not to truncate
    where its protocol can say so. Redirects are not followed. Thread-safe.

    Args:
        url: base address, such as ``https://host/v1``; ``/embeddings`` (OpenAI-compatible) or
            ``/embed`` (``tei``) is appended.
        model: model name sent with OpenAI-compatible requests.
        protocol: ``openai`` or ``tei``.
        key_variable: environment variable that holds the bearer token; unset sends none.
        timeout: seconds for each attempt.
        attempts: tries per request; 429, 5xx and connection errors are tried again, after the
            server's Retry-After or else after a jittered, doubling wait.
        max_characters: longest window.

    Raises:
        ModelError: from ``run``, when the server cannot be reached, refuses, or answers with
            anything but one finite vector per text, all of one width.
    """

    has_tokens = False
    scripts: frozenset[str] | None = None

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
        workers: int = 4,
    ) -> None:
        if protocol not in ("openai", "tei"):
            raise UsageError(f"unknown protocol {protocol!r}; known: openai, tei")
        if protocol == "openai" and not model:
            raise UsageError(f"{url}: name the model after '#', as in {url}#MODEL")
        if max_characters < 16:
            raise UsageError("max_characters must be at least 16")
        path = "embeddings" if protocol == "openai" else "embed"
        self._client = JsonClient(
            f"{url.rstrip('/')}/{path}", key_variable, timeout=timeout, attempts=attempts
        )
        self._url = self._client.url
        self._model = model
        self._protocol = protocol
        self._max_characters = max_characters
        self._width: int | None = None
        self.name = model or "tei"
        self.workers = workers
        self.batch_tokens = MAX_ITEMS * max_characters // CHARACTERS_PER_TOKEN
        # Not the address: a model served elsewhere is the same model.
        identity = repr((protocol, model or self._url, max_characters, "http-1"))
        self.revision = hashlib.blake2b(identity.encode(), digest_size=8).hexdigest()

    @classmethod
    def from_spec(cls, spec: str) -> HttpEncoder:
        """``https://HOST/v1#MODEL`` or ``tei:http://HOST``."""
        if spec.startswith("tei:"):
            # The key of another service must not reach this host.
            return cls(spec.removeprefix("tei:"), protocol="tei", key_variable="TEI_API_KEY")
        url, _, model = spec.partition("#")
        return cls(url, model)

    def windows(self, texts: Sequence[str]) -> list[list[Window]]:
        return [split_characters(text, self._max_characters) for text in texts]

    def run(self, batch: Sequence[Window], tokens: bool) -> list[Any]:
        if tokens:
            raise ModelError(f"{self.name}: a server of embeddings gives no token vectors")
        vectors: list[Floats] = []
        for start in range(0, len(batch), MAX_ITEMS):
            vectors += self._embed([w.content for w in batch[start : start + MAX_ITEMS]])
        return vectors

    def assemble(self, windows: Sequence[Window], outputs: Sequence[Any], tokens: bool) -> Encoded:
        return Encoded(join_vectors(windows, outputs))

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def _embed(self, texts: list[str]) -> list[Floats]:
        if self._protocol == "openai":
            # Servers reject an empty text; a space embeds as one.
            sent = [t or " " for t in texts]
            request = {"model": self._model, "input": sent, "encoding_format": "float"}
            rows = _openai_rows(self._client.post(request), len(texts))
        else:
            reply = self._client.post({"inputs": texts, "truncate": False, "normalize": True})
            rows = reply if isinstance(reply, list) else []
        if len(rows) != len(texts):
            raise ModelError(f"{self._url}: {len(rows)} vectors for {len(texts)} texts")
        return [self._checked(row) for row in rows]

    def _checked(self, row: object) -> Floats:
        try:
            vector = np.asarray(row, dtype=np.float32)
        except (TypeError, ValueError):
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


class JsonClient:
    """Sends JSON to one address. Redirects are not followed. Thread-safe.

    Args:
        key_variable: environment variable that holds the bearer token; unset sends none.
        timeout: seconds for each attempt.
        attempts: tries per request; 429, 5xx and connection errors are tried again, after the
            server's Retry-After or else after a jittered, doubling wait.

    Raises:
        UsageError: the address holds credentials.
    """

    def __init__(self, url: str, key_variable: str, *, timeout: float, attempts: int) -> None:
        import httpx

        if "@" in url:
            raise UsageError("a model's address holds no credentials: put the key in a variable")
        self.url = url
        self._key_variable = key_variable
        self._attempts = attempts
        self._http = httpx.Client(timeout=timeout, follow_redirects=False)

    def post(self, payload: dict[str, Any]) -> Any:
        """The server's answer to ``payload``, parsed.

        Raises:
            ModelError: it cannot be reached, refuses, or answers with anything but JSON.
        """
        import httpx

        key = os.environ.get(self._key_variable)
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        for attempt in range(1, self._attempts + 1):
            retry_after = None
            try:
                reply = self._http.post(self.url, json=payload, headers=headers)
            except httpx.TransportError as e:
                problem = f"{type(e).__name__}: {e}"
            except (httpx.InvalidURL, UnicodeError) as e:
                raise ModelError(f"{self.url}: {e}") from None
            else:
                if reply.status_code == 200:
                    return _json(self.url, reply)
                problem = f"HTTP {reply.status_code}: {_excerpt(reply.text)}"
                if reply.status_code not in _RETRIED:
                    raise ModelError(f"{self.url}: {problem}")
                retry_after = reply.headers.get("retry-after")
            if attempt < self._attempts:
                time.sleep(_wait(attempt, retry_after))
        raise ModelError(f"{self.url}: {problem} (after {self._attempts} attempts)")

    def close(self) -> None:
        """Close the connections."""
        self._http.close()


class _Piece(NamedTuple):
    start: int
    end: int


def split_characters(text: str, longest: int) -> list[Window]:
    """Windows of at most ``longest`` characters, cut at white space where there is some.

    ``length`` is estimated at four characters a token; ``overlap`` likewise.
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
    """The last position in ``lowest..at`` that follows white space, else ``at``."""
    return next((i for i in range(at, lowest - 1, -1) if text[i - 1].isspace()), at)


def _openai_rows(reply: Any, count: int) -> list[Any]:
    """Embeddings in the order of the texts, by each entry's ``index``."""
    data = reply.get("data") if isinstance(reply, dict) else None
    if not isinstance(data, list) or not all(isinstance(d, dict) for d in data):
        raise ModelError("the server's reply has no list 'data' of embeddings")
    if len(data) != count:
        raise ModelError(f"the server gave {len(data)} vectors for {count} texts")
    by_index = {d.get("index"): d.get("embedding") for d in data}
    if set(by_index) != set(range(count)):
        raise ModelError(f"the server's indices are not 0..{count - 1}, each once")
    return [by_index[i] for i in range(count)]


def _json(url: str, reply: Any) -> Any:
    try:
        return reply.json()
    except ValueError:
        raise ModelError(f"{url}: the reply is not JSON: {_excerpt(reply.text)}") from None


def _excerpt(text: str) -> str:
    """The start of a server's words, on one line, printable."""
    flat = " ".join(text.split())[:200]
    return "".join(c if c.isprintable() else "?" for c in flat)


def _wait(attempt: int, retry_after: str | None) -> float:
    """Seconds before the next attempt: the server's wish, else full jitter over 0.5, 1, 2, ..."""
    try:
        wished = float(retry_after) if retry_after else -1.0
    except ValueError:  # an HTTP date
        wished = -1.0
    if 0 <= wished < float("inf"):
        return min(wished, _LONGEST_WAIT)
    return random.uniform(0, min(0.5 * 2 ** (attempt - 1), _LONGEST_WAIT))
