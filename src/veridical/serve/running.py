"""An ASGI app, run until it is told to stop."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import signal
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from veridical.errors import UsageError
from veridical.serve.security import PATIENCE, is_loopback

if TYPE_CHECKING:
    from veridical.serve.problems import App

#: Seconds that answers under way have, once the server is told to stop.
DRAIN = 30.0
#: Connections at a time; a further one is answered 503.
CONNECTIONS = 1000

_log = logging.getLogger("veridical.serve")


def open_socket(host: str, port: int, *, guarded: bool) -> socket.socket:
    """A socket that listens.

    Args:
        host: address or name.
        port: 0 for one that is free.
        guarded: whether every request needs a key or a token.

    Raises:
        UsageError: the address is no loopback and nothing guards it, is not this computer's, or
            its port is in use.
    """
    if not guarded and not is_loopback(host):
        raise UsageError(
            f"--host {host} can be reached from other computers: that needs --keys FILE"
        )
    where = f"{host}:{port}"
    try:
        found = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE | socket.AI_ADDRCONFIG
        )
    except (OSError, UnicodeError) as e:
        raise UsageError(f"--host {host}: {e}") from None
    family, kind, protocol, _, address = found[0]
    listener = socket.socket(family, kind, protocol)
    try:
        if sys.platform != "win32":
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            listener.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        listener.bind(address)
        listener.listen(2048)
    except OSError as e:
        listener.close()
        raise UsageError(f"cannot listen at {where}: {e.strerror or e}") from None
    listener.setblocking(False)
    return listener


def address_of(listener: socket.socket) -> str:
    """The address of a listening socket as a URL."""
    host, port = listener.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def run_app(
    app: App,
    listener: socket.socket,
    *,
    drain: float = DRAIN,
    patience: float = PATIENCE,
    started: Callable[[str], None] | None = None,
    draining: Callable[[], None] | None = None,
) -> int:
    """Answer requests until SIGTERM or SIGINT: then take no more, finish those under way, and
    return. A second SIGINT ends them.

    The address is printed on standard error: ``listening on http://127.0.0.1:8000``.

    Args:
        listener: of :func:`open_socket`; it is closed at the end.
        drain: seconds that answers under way have.
        patience: seconds that a connection may take to send the head of a request.
        started: called with the address once requests are answered.
        draining: called when the server is told to stop.

    Returns:
        the exit code, 0.

    Raises:
        UsageError: the extra ``[serve]`` is not installed, or the app cannot start.
    """
    address = address_of(listener)

    def begun() -> None:
        print(f"listening on {address}", file=sys.stderr, flush=True)
        if started is not None:
            started(address)

    server = _server(app, drain, patience, begun, draining or (lambda: None))
    try:
        asyncio.run(server.serve(sockets=[listener]))
    except SystemExit:
        raise UsageError("the server could not start") from None
    finally:
        with contextlib.suppress(OSError):
            listener.close()
    _log.info("stopped")
    return 0


def need_extra() -> None:
    """
    Raises:
        UsageError: the packages of the extra ``[serve]`` are not installed.
    """
    try:
        import fastapi  # noqa: F401
        import prometheus_client  # noqa: F401
        import uvicorn  # noqa: F401
    except ImportError as e:
        raise UsageError(
            f"a server needs the package {e.name}: pip install fastapi uvicorn prometheus-client"
        ) from None


def _server(
    app: App,
    drain: float,
    patience: float,
    begun: Callable[[], None],
    draining: Callable[[], None],
) -> Any:
    """A server of uvicorn's that ends with a return when a signal tells it to, and waits for no
    slow head of a request."""
    need_extra()
    import uvicorn
    from uvicorn.protocols.http.h11_impl import H11Protocol

    class Patient(H11Protocol):
        """Closes a connection whose next request does not begin in time."""

        _late: asyncio.TimerHandle | None = None

        def connection_made(self, transport: Any) -> None:
            super().connection_made(transport)
            self._wait()

        def data_received(self, data: bytes) -> None:
            super().data_received(data)
            if self._working():
                self._rest()
            elif self._late is None:
                self._wait()

        def connection_lost(self, exc: Exception | None) -> None:
            self._rest()
            super().connection_lost(exc)

        def _working(self) -> bool:
            return self.cycle is not None and not self.cycle.response_complete

        def _wait(self) -> None:
            self._late = self.loop.call_later(patience, self._close_silent)

        def _rest(self) -> None:
            if self._late is not None:
                self._late.cancel()
                self._late = None

        def _close_silent(self) -> None:
            self._late = None
            if not self._working():
                self.transport.close()

    class Stopped(uvicorn.Server):
        """Takes signals without raising them again: stopping is what it was asked for."""

        async def startup(self, sockets: list[socket.socket] | None = None) -> None:
            await super().startup(sockets)
            if self.started:
                begun()

        @contextlib.contextmanager
        def capture_signals(self) -> Iterator[None]:
            if threading.current_thread() is not threading.main_thread():
                yield
                return
            signals = (signal.SIGINT, signal.SIGTERM)
            before = {number: signal.signal(number, self.handle_exit) for number in signals}
            try:
                yield
            finally:
                for number, handler in before.items():
                    signal.signal(number, handler)

        def handle_exit(self, sig: int, frame: Any) -> None:
            super().handle_exit(sig, frame)
            name = signal.Signals(sig).name
            _log.info("stopping on %s; answers under way have %g s", name, drain)
            draining()

    return Stopped(
        uvicorn.Config(
            app,
            http=Patient,
            ws="none",
            lifespan="on",
            log_config=None,
            log_level="warning",
            access_log=False,
            server_header=False,
            proxy_headers=False,
            limit_concurrency=CONNECTIONS,
            timeout_graceful_shutdown=max(int(drain), 1),
        )
    )
