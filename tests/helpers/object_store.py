"""A real server that speaks S3, in this process, for tests."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import pytest

BUCKET = "answers"
#: The credentials that the server is asked with; it takes any.
ENVIRONMENT = {
    "AWS_ACCESS_KEY_ID": "tests",
    "AWS_SECRET_ACCESS_KEY": "tests",
    "AWS_REGION": "us-east-1",
}


@dataclass
class ObjectStore:
    """A server with one bucket.

    Attributes:
        url: where it listens.
        asked: method, path and bytes of the answer of every request so far.
        refuse: requests with one of these methods are answered by 503.
    """

    url: str = ""
    asked: list[tuple[str, str, int]] = field(default_factory=list)
    refuse: set[str] = field(default_factory=set)

    def put(self, name: str, file: Path | bytes) -> str:
        """Store an object: its address."""
        content = file if isinstance(file, bytes) else file.read_bytes()
        self._ask("PUT", name, content)
        return f"s3://{BUCKET}/{name}"

    def get(self, name: str) -> bytes:
        """The content of an object."""
        return self._ask("GET", name).content

    def delete(self, name: str) -> None:
        """Remove an object."""
        self._ask("DELETE", name)

    def names(self, prefix: str) -> list[str]:
        """What is below a prefix."""
        import re

        listed = self._ask("GET", f"?list-type=2&prefix={prefix}").text
        return re.findall("<Key>(.*?)</Key>", listed)

    def _ask(self, method: str, name: str, content: bytes | None = None) -> httpx.Response:
        headers = {
            "authorization": "AWS4-HMAC-SHA256 Credential=tests/20260101/us-east-1/s3/aws4_request"
        }
        where = f"{self.url}/{BUCKET}" + (f"/{name}" if name else "")
        where = where.replace("/?", "?")
        response = httpx.request(method, where, content=content, headers=headers)
        response.raise_for_status()
        return response


@contextmanager
def object_store(monkeypatch: pytest.MonkeyPatch) -> Iterator[ObjectStore]:
    """A running server; the environment names it."""
    server = pytest.importorskip("moto.server")
    from werkzeug.serving import make_server

    pytest.importorskip("obstore")
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    store = ObjectStore()
    app = server.DomainDispatcherApplication(server.create_backend_app)
    # moto looks whether an object is there, then writes it: one request at a time, or two
    # conditional writes might both be the first
    turn = threading.Lock()

    def serve(environ: Any, start: Any) -> Any:
        method, path = environ["REQUEST_METHOD"], environ["PATH_INFO"]
        if method in store.refuse:
            start("503 Slow Down", [("Content-Length", "0")])
            return []
        with turn:
            body = b"".join(app(environ, start))
        store.asked.append((method, path, len(body)))
        return [body]

    listening = make_server("127.0.0.1", 0, serve, threaded=True)
    store.url = f"http://127.0.0.1:{listening.server_port}"
    thread = threading.Thread(target=listening.serve_forever, daemon=True)
    thread.start()
    try:
        for name, value in {**ENVIRONMENT, "AWS_ENDPOINT_URL": store.url}.items():
            monkeypatch.setenv(name, value)
        httpx.post(f"{store.url}/moto-api/reset")
        store._ask("PUT", "")
        yield store
    finally:
        listening.shutdown()
        listening.server_close()
