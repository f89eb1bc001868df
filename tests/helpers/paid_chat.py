"""A chat endpoint that keeps its own accounts."""

from __future__ import annotations

import json
import threading
import time
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

PRICE = 1000.0  # for a million tokens, in and out
TOKENS_IN, TOKENS_OUT = 500, 100


class Paid:
    """A server that counts what it is asked, and what it is owed."""

    def __init__(self, pause: float = 0.0) -> None:
        self.asked: Counter[str] = Counter()
        self.owed = 0.0
        paid = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["content-length"]))
                asked = json.loads(body)
                paid.asked[json.dumps([asked["messages"], asked.get("seed")])] += 1
                paid.owed += (TOKENS_IN + TOKENS_OUT) * PRICE / 1e6
                time.sleep(pause)
                message = {"role": "assistant", "content": '{"score": "Correct"}'}
                answer = {
                    "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
                    "usage": {"prompt_tokens": TOKENS_IN, "completion_tokens": TOKENS_OUT},
                }
                content = json.dumps(answer).encode()
                try:
                    self.send_response(200)
                    self.send_header("content-type", "application/json")
                    self.send_header("content-length", str(len(content)))
                    self.end_headers()
                    self.wfile.write(content)
                except OSError:
                    pass  # whoever asked was killed

            def log_message(self, *_: Any) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{self._server.server_port}/v1"

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
