"""Server logs on standard error: requests, warnings and shutdowns."""

from __future__ import annotations

import json
import logging
import sys
import time
from typing import Any

from veridical.serve.keys import KEY
from veridical.serve.problems import App, Message, Receive, Scope, Send
from veridical.text.display import printable

#: Routes that machines poll: they are logged at the level ``debug``.
_QUIET = ("/healthz", "/readyz", "/metrics")
_MOST_PATH_CHARACTERS = 200

access = logging.getLogger("veridical.access")


def set_up_logs(level: str, form: str) -> None:
    """Write the package's log lines of a level and above to standard error.

    Args:
        level: ``debug``, ``info``, ``warning`` or ``error``.
        form: ``text`` or ``json``.
    """
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_Json() if form == "json" else _Text())
    logger = logging.getLogger("veridical")
    logger.handlers[:] = [handler]
    logger.propagate = False
    logger.setLevel(level.upper())


def log(logger: logging.Logger, level: int, message: str, **fields: Any) -> None:
    """Write a log line. Fields follow the message as text, and are fields of a line in JSON."""
    logger.log(level, message, extra={"fields": fields})


def _time(record: logging.LogRecord) -> str:
    return (
        time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created)) + f".{record.msecs:03.0f}Z"
    )


class _Text(logging.Formatter):
    """Text format. A line break in a message does not begin another line of the log."""

    def format(self, record: logging.LogRecord) -> str:
        fields = getattr(record, "fields", {})
        text = printable(record.getMessage())
        text += "".join(f" {name}={printable(str(value))}" for name, value in fields.items())
        text = f"{_time(record)} {record.levelname.lower()} {record.name}: {text}"
        if record.exc_info:
            text += "\n" + self.formatException(record.exc_info)
        return text


class _Json(logging.Formatter):
    """Format of one JSON object per line."""

    def format(self, record: logging.LogRecord) -> str:
        found = {
            "time": _time(record),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
            **getattr(record, "fields", {}),
        }
        if record.exc_info:
            found["exception"] = self.formatException(record.exc_info)
        return json.dumps(found)


def logged(app: App) -> App:
    """Return ``app`` with a log line for each request: method, path, status and seconds. Queries,
    headers and bodies are not logged."""

    async def answered(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await app(scope, receive, send)
            return
        begun, status, size = time.monotonic(), 0, 0

        async def watched(message: Message) -> None:
            nonlocal status, size
            if message["type"] == "http.response.start":
                status = message["status"]
            else:
                size += len(message.get("body", b""))
            await send(message)

        try:
            await app(scope, receive, watched)
        finally:
            level = logging.DEBUG if scope["path"] in _QUIET else logging.INFO
            key = scope.get(KEY)
            log(
                access,
                level,
                f"{scope['method']} {scope['path'][:_MOST_PATH_CHARACTERS]}",
                status=status or "none",  # the client has disconnected
                seconds=round(time.monotonic() - begun, 3),
                bytes=size,
                **({} if key is None else {"key": key.name}),
            )

    return answered
