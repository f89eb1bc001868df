"""A web site in this process, healthy or hostile."""

from __future__ import annotations

import http.server
import ssl
import threading
from typing import Any

HTML = {"content-type": "text/html; charset=utf-8"}


class Site:
    """Serves ``pages``: (status, headers, body) by path, or a function that writes to the
    connection. ``asked`` has the path and headers of each request."""

    def __init__(self, pages: dict[str, Any], context: ssl.SSLContext | None = None) -> None:
        self.asked: list[tuple[str, dict[str, str]]] = []
        self.gone = threading.Event()
        site = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_: Any) -> None:
                pass

            def do_GET(self) -> None:
                headers = {k.lower(): v for k, v in self.headers.items()}
                site.asked.append((self.path, headers))
                page = pages.get(self.path, (404, HTML, b"no"))
                self.close_connection = True
                try:
                    if callable(page):
                        page(self.wfile, site.gone)
                        return
                    status, told, body = page
                    self.send_response(status)
                    for name, value in {"content-length": str(len(body)), **told}.items():
                        self.send_header(name, value)
                    self.end_headers()
                    self.wfile.write(body)
                except OSError:
                    pass

        self.http = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.http.daemon_threads = True
        if context is not None:
            self.http.socket = context.wrap_socket(self.http.socket, server_side=True)
        self.port = self.http.server_port
        self.scheme = "http" if context is None else "https"
        threading.Thread(target=self.http.serve_forever, daemon=True).start()

    def url(self, path: str = "/", host: str = "pages.test") -> str:
        return f"{self.scheme}://{host}:{self.port}{path}"

    def close(self) -> None:
        self.gone.set()
        self.http.shutdown()
        self.http.server_close()
