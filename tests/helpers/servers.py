"""Real servers in processes of their own, for tests."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import httpx


@dataclass
class Running:
    """A server under way: its address, and what it has printed."""

    process: subprocess.Popen[str]
    url: str = ""
    errors: list[str] = field(default_factory=list)

    def stop(self, number: int = signal.SIGTERM, seconds: float = 40) -> int:
        """Send a signal; the exit code."""
        self.process.send_signal(number)
        return self.process.wait(seconds)


@contextmanager
def running(
    arguments: Sequence[str],
    *,
    cwd: Path,
    env: Mapping[str, str] | None = None,
    seconds: float = 60,
    ready: bool = False,
) -> Iterator[Running]:
    """``python -m veridical ARGUMENTS``, or a script that ends in ``.py`` with arguments.

    Args:
        ready: wait until ``/readyz`` says so.
    """
    script = [] if arguments[0].endswith(".py") else ["-m", "veridical"]
    process = subprocess.Popen(
        [sys.executable, *script, *arguments],
        cwd=cwd,
        env={**os.environ, **(env or {})},
        stderr=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        text=True,
    )
    server = Running(process)
    found = threading.Event()

    def read() -> None:
        assert process.stderr is not None
        for line in process.stderr:
            server.errors.append(line)
            match = re.match(r"listening on (http://\S+)", line)
            if match:
                server.url = match[1]
                found.set()
        found.set()

    reader = threading.Thread(target=read, daemon=True)
    reader.start()
    try:
        found.wait(seconds)
        assert server.url, "".join(server.errors)
        if ready:
            end = time.monotonic() + seconds
            while httpx.get(f"{server.url}/readyz").status_code != 200:
                assert time.monotonic() < end, "".join(server.errors)
                time.sleep(0.1)
        yield server
    finally:
        if process.poll() is None:
            process.kill()
        process.wait()
        reader.join(5)
