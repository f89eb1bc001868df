"""Commands of ``veridical``, each in a process of its own that is forked from one which waits.

The process that waits has imported what most commands do, which takes longer than their work. A
test of how the interpreter starts, of signals or of missing packages starts a process anew.
"""

from __future__ import annotations

import atexit
import gc
import json
import os
import runpy
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from functools import cache
from pathlib import Path

#: None of them starts a thread, which a fork would lose.
IMPORTED = (
    *("veridical.cli.app", "veridical.cli.check", "veridical.report.html", "scipy.stats"),
    *("veridical.ensembles.scorers.default_score", "veridical.scorers.grounding.support"),
    *("veridical.engine.clients", "veridical.llm.llms", "rich.progress", "veridical_lab"),
    *("veridical_lab.bench.runner", "veridical_lab.bench.report.view"),
)


def run_command(
    *arguments: str | Path,
    cwd: Path | None = None,
    stdin: str | None = None,
    env: Mapping[str, str] | None = None,
) -> subprocess.CompletedProcess[str]:
    """Run ``python -m veridical`` with these arguments, and ``env`` added to the environment."""
    return _run(["veridical", *map(str, arguments)], cwd, stdin, env)


def run_script(script: Path, cwd: Path) -> subprocess.CompletedProcess[str]:
    """Run a file of Python in a folder."""
    return _run([str(script)], cwd)


def _run(
    words: list[str],
    cwd: Path | None,
    stdin: str | None = None,
    env: Mapping[str, str] | None = None,
) -> subprocess.CompletedProcess[str]:
    server = _server()
    assert server.stdin is not None and server.stdout is not None
    with tempfile.TemporaryDirectory() as folder:
        streams = [Path(folder, name) for name in ("stdin", "stdout", "stderr")]
        for stream in streams:
            stream.touch()
        streams[0].write_text(stdin or "", "utf-8")
        order = {
            "arguments": words,
            "cwd": str(cwd or Path.cwd()),
            "env": {**os.environ, **(env or {})},
            "streams": list(map(str, streams)),
        }
        server.stdin.write(json.dumps(order) + "\n")
        server.stdin.flush()
        code = int(server.stdout.readline())
        told = [stream.read_bytes().decode("utf-8") for stream in streams[1:]]
    return subprocess.CompletedProcess(words, code, *(t.replace("\r\n", "\n") for t in told))


@cache
def _server() -> subprocess.Popen[str]:
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    server = subprocess.Popen([sys.executable, __file__], **pipes)  # type: ignore[call-overload]
    atexit.register(server.communicate)  # it ends when there are no more orders
    return server  # type: ignore[no-any-return]


def _serve() -> None:
    """Fork a process for each order, one after the other; return in each of those."""
    for module in IMPORTED:
        __import__(module)
    gc.freeze()  # or each process would copy what it only looks at
    orders = os.fdopen(os.dup(0), encoding="utf-8")
    for line in orders:
        order = json.loads(line)
        child = os.fork()
        if not child:
            return _become(order)
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        os.write(1, f"{code}\n".encode())
    os._exit(0)


def _become(order: dict[str, object]) -> None:
    """Run what an order names, as ``python -m`` or ``python FILE`` does."""
    os.chdir(str(order["cwd"]))
    os.environ.clear()
    os.environ.update(order["env"])  # type: ignore[call-overload]
    for number, path in enumerate(order["streams"]):  # type: ignore[arg-type,var-annotated]
        opened = os.open(path, os.O_RDONLY if number == 0 else os.O_WRONLY | os.O_APPEND)
        os.dup2(opened, number)
        os.close(opened)
    sys.argv = list(order["arguments"])  # type: ignore[call-overload]
    sys.path[0] = str(Path.cwd())
    if sys.argv[0] == "veridical":
        runpy.run_module("veridical", run_name="__main__", alter_sys=True)
    else:
        runpy.run_path(sys.argv[0], run_name="__main__")


if __name__ == "__main__":
    _serve()
