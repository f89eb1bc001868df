"""A server of hostile HTTP replies, on plain sockets: the path says which, as in ``/FAULT/v1``."""

from __future__ import annotations

import contextlib
import gzip
import itertools
import re
import socket
import socketserver
import threading
import time
import zlib
from collections.abc import Callable, Iterable, Iterator

#: Faults that a client waits for until its time is over.
SLOW = {"header-drip", "status-drip", "body-drip", "informational", "silence"}
#: Seconds that a dripping or endless reply goes on at most, should nobody hang up.
_LONGEST = 20.0


def _zeros(wbits: int) -> bytes:
    """3.2 GB of zeros, deflated: 16 MB that begin anew, 200 times over."""
    packer = zlib.compressobj(9, zlib.DEFLATED, wbits)
    first = packer.compress(bytes(1 << 24)) + packer.flush(zlib.Z_FULL_FLUSH)
    again = packer.compress(bytes(1 << 24)) + packer.flush(zlib.Z_FULL_FLUSH)
    return first + again * 199


def reply(body: bytes, *headers: str, length: int | None = None) -> bytes:
    head = ["HTTP/1.1 200 OK", f"content-length: {len(body) if length is None else length}"]
    return "\r\n".join([*head, *headers, "", ""]).encode() + body


def packed(body: bytes, *codings: str) -> bytes:
    return reply(body, *(f"content-encoding: {c}" for c in codings))


def chunked(chunks: Iterable[bytes], *headers: str) -> Iterator[bytes]:
    yield "\r\n".join(["HTTP/1.1 200 OK", "transfer-encoding: chunked", *headers, "", ""]).encode()
    for chunk in chunks:
        yield b"%x\r\n%s\r\n" % (len(chunk), chunk)


def dripping(pieces: Iterable[bytes], first: bytes = b"") -> Iterator[bytes]:
    yield first
    for piece in pieces:
        time.sleep(0.1)
        yield piece


def _empty_blocks() -> Iterator[bytes]:
    packer = zlib.compressobj(9, zlib.DEFLATED, zlib.MAX_WBITS | 16)
    yield packer.compress(b"") + packer.flush(zlib.Z_FULL_FLUSH)
    yield from itertools.repeat(b"\x00\x00\x00\xff\xff" * 13107)


_OK = b"HTTP/1.1 200 OK\r\n"
_TYPE = "content-type: application/json"
FAULTS: dict[str, Callable[[], Iterable[bytes]]] = {
    "nested-gzip": lambda: [packed(gzip.compress(gzip.compress(_zeros(31))), "gzip, gzip, gzip")],
    "nested-gzip-lines": lambda: [packed(gzip.compress(_zeros(31)), "gzip", "gzip")],
    "gzip-bomb": lambda: [packed(_zeros(31), "gzip")],
    "gzip-bomb-shouted": lambda: [packed(_zeros(31), "GZip")],
    "x-gzip-bomb": lambda: [packed(_zeros(31), "x-gzip")],
    "deflate-bomb": lambda: [packed(_zeros(15), "deflate")],
    "raw-deflate-bomb": lambda: [packed(_zeros(-15), "deflate")],
    "identity-and-gzip": lambda: [packed(_zeros(31), "identity, gzip")],
    "br": lambda: [packed(b"\xcf\xff\xff\x7f\xf8" * 999, "br")],
    "zstd": lambda: [packed(b"(\xb5/\xfd" * 999, "zstd")],
    "many-codings": lambda: [packed(b"x", ", ".join(["gzip"] * 9000))],
    "gzip-cut": lambda: [packed(gzip.compress(b'{"data": []}' * 99)[:-9], "gzip")],
    "gzip-and-more": lambda: [packed(gzip.compress(b"[]") + b"\x00" * (4 << 20), "gzip")],
    "gzip-twice": lambda: [packed(gzip.compress(b"[]") * 2, "gzip")],
    "no-gzip": lambda: [packed(b"{}", "gzip")],
    "endless": lambda: chunked(itertools.repeat(b" " * 65536), _TYPE),
    "endless-gzip": lambda: chunked(_empty_blocks(), "content-encoding: gzip"),
    "endless-error": lambda: itertools.chain(
        [b"HTTP/1.1 400 Bad\r\n\r\n"], itertools.repeat(b"x" * 65536)
    ),
    "endless-redirect": lambda: itertools.chain(
        [b"HTTP/1.1 302 Found\r\nlocation: /elsewhere\r\n\r\n"], itertools.repeat(b"x" * 65536)
    ),
    "length-too-long": lambda: [reply(b"{}", length=10)],
    "length-huge": lambda: [reply(b"{}", length=10**18)],
    "length-absurd": lambda: [reply(b"{}", f"content-length: {'9' * 5000}")],
    "length-negative": lambda: [reply(b"{}", length=-5)],
    "many-lists": lambda: [reply(b"[" + b"[]," * 20_000_000 + b"[]]", _TYPE)],
    "many-objects": lambda: [reply(b"[" + b'{"a":1},' * 900_000 + b"{}]", _TYPE)],
    "deep": lambda: [reply(b"[" * 100_000 + b"]" * 100_000, _TYPE)],
    "deep-objects": lambda: [reply(b'{"data":' * 900 + b"1" + b"}" * 900, _TYPE)],
    "digits": lambda: [reply(b'{"data": [' + b"9" * 1_000_000 + b"]}", _TYPE)],
    "large-number": lambda: [
        reply(b'{"data": [{"index": 0, "embedding": [' + b"9" * 4000 + b"]}]}", _TYPE)
    ],
    "odd-index": lambda: [reply(b'{"data": [{"index": [], "embedding": [1]}]}', _TYPE)],
    "nan": lambda: [reply(b'{"data": [{"index": 0, "embedding": [NaN]}]}', _TYPE)],
    "utf-16": lambda: [reply('{"data": []}'.encode("utf-16"), _TYPE)],
    "charset": lambda: [reply(b"\xff\xfe\x00", "content-type: application/json; charset=idna")],
    "surrogates": lambda: [reply(b'{"data": "\\ud800", "error": "\\udfff"}', _TYPE)],
    "header-flood": lambda: itertools.chain(
        [_OK], itertools.repeat(b"x: " + b"y" * 9000 + b"\r\n")
    ),
    "header-drip": lambda: dripping(itertools.repeat(b"x: y\r\n"), _OK),
    "status-drip": lambda: dripping(itertools.repeat(b"1"), b"HTTP/1.1 "),
    "body-drip": lambda: dripping(itertools.repeat(b" "), reply(b"", length=10_000)),
    "informational": lambda: itertools.repeat(b"HTTP/1.1 103 Early Hints\r\n\r\n" * 99),
    "silence": lambda: dripping(itertools.repeat(b"")),
    "not-http": lambda: [b"\x16\x03\x01 hello"],
    "redirect": lambda: [
        b"HTTP/1.1 307 Go\r\nlocation: //localhost:%d/taken\r\ncontent-length: 0\r\n\r\n"
    ],
}


class HostileServer(socketserver.ThreadingTCPServer):
    """``seen`` has the head of every request that came."""

    daemon_threads = True
    allow_reuse_address = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.port: int = self.server_address[1]
        self.seen: list[str] = []
        self.made: dict[str, bytes] = {}
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def pieces(self, fault: str) -> Iterable[bytes]:
        if fault not in FAULTS:
            return [b"HTTP/1.1 404 No\r\ncontent-length: 0\r\n\r\n"]
        if fault not in self.made:
            pieces = FAULTS[fault]()
            if not isinstance(pieces, list):
                return pieces
            (whole,) = pieces
            if fault == "redirect":
                whole = whole % self.port
            self.made[fault] = whole
        return [self.made[fault]]


class _Handler(socketserver.BaseRequestHandler):
    server: HostileServer

    def handle(self) -> None:
        sock: socket.socket = self.request
        head = b""
        while b"\r\n\r\n" not in head and (some := sock.recv(65536)):
            head += some
        head, _, body = head.partition(b"\r\n\r\n")
        told = re.search(rb"content-length: (\d+)", head, re.IGNORECASE)
        missing = int(told[1]) - len(body) if told else 0
        while missing > 0 and (some := sock.recv(65536)):
            missing -= len(some)
        self.server.seen.append(head.decode("latin-1"))
        fault = head.split(b" ", 2)[1].decode().split("/")[1].partition("?")[0]
        ends = time.monotonic() + _LONGEST
        with contextlib.suppress(OSError):
            for piece in self.server.pieces(fault):
                sock.sendall(piece)
                if time.monotonic() > ends:
                    return
