"""Server process: runs an ASGI app until a signal stops it."""

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

#: Seconds that pending answers have after a signal to stop.
DRAIN = 30.0
#: Maximum connections; a further one is answered 503.
CONNECTIONS = 1000

#: Thread switch interval of the interpreter, in seconds. With the default of 5 ms, each step of a
#: request may wait that long for other Python threads.
_SWITCH_SECONDS = 0.0005

_log = logging.getLogger("veridical.serve")


def open_socket(host: str, port: int, *, guarded: bool) -> socket.socket:
    """Open a listening socket.

    Args:
        host: address or name.
        port: 0 for any free one.
        guarded: whether every request needs a key or a token.

    Raises:
        UsageError: the address is not loopback and unguarded, does not belong to this computer, or
            its port is in use.
    """
    if not guarded and not is_loopback(host):
        raise UsageError(
            f"--host {host} is reachable from other computers; add --keys FILE, or use "
            "--host 127.0.0.1"
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
        raise UsageError(f"cannot listen on {where}: {e.strerror or e}") from None
    listener.setblocking(False)
    return listener


def address_of(listener: socket.socket) -> str:
    """Return the address of a listening socket as a URL."""
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
    """Serve until SIGTERM or SIGINT, then finish pending requests and return.

    New requests are refused meanwhile. A second SIGINT ends pending requests. The address is
    printed on standard error: ``listening on http://127.0.0.1:8000``.

    Args:
        listener: from :func:`open_socket`; it is closed at the end.
        drain: seconds that pending answers have.
        patience: seconds that a connection may take to send the head of a request.
        started: called with the address once requests are answered.
        draining: called when the server receives the signal to stop.

    Returns:
        The exit code, 0.

    Raises:
        UsageError: the extra ``[serve]`` is not installed, or the app cannot start.
    """
    address = address_of(listener)

    def begun() -> None:
        print(f"listening on {address}", file=sys.stderr, flush=True)
        if started is not None:
            started(address)

    server = _server(app, drain, patience, begun, draining or (lambda: None))
    before = sys.getswitchinterval()
    sys.setswitchinterval(_SWITCH_SECONDS)
    try:
        asyncio.run(server.serve(sockets=[listener]))
    except SystemExit:
        raise UsageError("the server could not start; see the messages above") from None
    finally:
        sys.setswitchinterval(before)
        with contextlib.suppress(OSError):
            listener.close()
    _log.info("stopped")
    return 0


def need_extra() -> None:
    """Check that the packages of the extra ``[serve]`` are installed.

    Raises:
        UsageError: they are not.
    """
    try:
        import fastapi  # noqa: F401
        import prometheus_client  # noqa: F401
        import uvicorn  # noqa: F401
    except ImportError as e:
        raise UsageError(
            f"a server requires the package {e.name}: pip install fastapi uvicorn prometheus-client"
        ) from None


def _server(
    app: App,
    drain: float,
    patience: float,
    begun: Callable[[], None],
    draining: Callable[[], None],
) -> Any:
    """Return a uvicorn server that returns on a signal and drops slow request heads."""
    need_extra()
    import uvicorn
    from uvicorn.protocols.http.h11_impl import H11Protocol

    class _IdleTimer(H11Protocol):
        """Timer that closes a connection whose next request does not begin in time."""

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

    class _SignalHandler(uvicorn.Server):
        """Signal handler that does not raise signals again: stopping is their purpose."""

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
            _log.info("stopping on %s; pending answers have %g s", name, drain)
            draining()

    return _SignalHandler(
        uvicorn.Config(
            app,
            http=_IdleTimer,
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
