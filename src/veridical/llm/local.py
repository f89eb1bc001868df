"""Local language models, served by llama.cpp (the ``[local]`` extra)."""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import hashlib
import json
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from importlib import metadata, util
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from veridical.core.model_names import ModelName
from veridical.errors import ModelError, UsageError, unknown_name
from veridical.llm.endpoints import Endpoint
from veridical.llm.free_cores import FreeCores, free_cores
from veridical.weights import checkers, download

if TYPE_CHECKING:
    from veridical.core.messages import ChatRequest, LlmError, Reply
    from veridical.llm.client import LlmClient

#: Options of ``local:PATH?...`` with their defaults. ``threads`` 0: the idle cores.
OPTIONS = {"context": 4096, "parallel": 5, "threads": 0}
_LONGEST_START = 600.0  # seconds: a large model may be read from a slow disk
_PATIENCE = 900.0  # seconds per call: on a busy machine a retry would not be faster
_LOOK = 15.0  # seconds between checks for idle cores
_SHOWN = 500  # characters of llama.cpp's last messages


@dataclass(frozen=True)
class LocalModel:
    """GGUF file and its server settings.

    Attributes:
        name: the model's name in requests.
        path: the file.
        context: maximum tokens of one request, prompt and answer together.
        parallel: requests, or samples of one request, decoded concurrently.
        threads: CPU threads.
        adapter: LoRA adapter of a checker, loaded over the file.
        follows: whether ``threads`` follows the number of idle cores.
    """

    name: str
    path: Path
    context: int
    parallel: int
    threads: int
    adapter: checkers.Adapter | None = None
    follows: bool = False

    @property
    def identity(self) -> str:
        """Return all that a reply depends on apart from the request: file content and engine.

        Includes a checker's calibration, so that its scores are not reused for another checker.
        """
        digest = hashlib.sha256()
        with self.path.open("rb") as f:
            while chunk := f.read(1 << 22):
                digest.update(chunk)
        if self.adapter is not None:
            checker = self.adapter
            digest.update(f"{checker.sha256} {checker.intercept} {checker.slope}".encode())
        return (
            f"local:{digest.hexdigest()}:{self.context}:xllamacpp-{metadata.version('xllamacpp')}"
        )


def read_local(spec: str) -> LocalModel:
    """Parse ``local``, ``local:NAME`` or ``local:PATH.gguf``, with options.

    Options are as in ``?context=8192&parallel=2&threads=4``. Names are those of
    :data:`.download.WEIGHTS` and :data:`.checkers.CHECKERS`; ``local`` alone is
    SmolLM2-135M-Instruct.

    Raises:
        UsageError: the name or file does not exist, the file is not GGUF, or an option is unknown
            or not a positive number.
        ModelError: the named model is not downloaded.
    """
    model = ModelName.parse(spec)
    name = model.place_of("local")
    options = dict(OPTIONS)
    for key, value in model.options.items():
        if key not in OPTIONS:
            raise unknown_name("option of a local LLM", key, OPTIONS)
        if not (value.isascii() and value.isdigit() and 0 < int(value) < 1 << 24):
            raise UsageError(f"{spec}: {key} must be a positive number, not {value!r}")
        options[key] = int(value)
    follows = not options["threads"]
    options["threads"] = options["threads"] or free_cores()
    adapter = None
    weights = download.SMOLLM2 if name == "" else download.WEIGHTS.get(name)
    if weights is not None:
        name, path = weights.name, download.need(weights)
    elif name in checkers.CHECKERS:
        adapter = checkers.need(checkers.CHECKERS[name])
        path = download.need(checkers.CHECKERS[name].base)
    else:
        path = Path(name).expanduser()
        if path.name == name and path.suffix != ".gguf" and not path.exists():
            known = [*download.WEIGHTS, *checkers.CHECKERS, "PATH.gguf"]
            raise unknown_name("local model", name, known)
        check_gguf(path)
        name = path.stem
    sizes = options["context"], options["parallel"], options["threads"]
    return LocalModel(name, path, *sizes, adapter, follows)


def check_gguf(path: Path) -> None:
    """Check that ``path`` is a GGUF file.

    Raises:
        UsageError: it is not.
    """
    try:
        with path.open("rb") as f:
            magic = f.read(4)
    except OSError as e:
        raise UsageError(f"cannot read the model {path}: {e.strerror or e}") from None
    if magic != b"GGUF":
        raise UsageError(f"{path} is not a GGUF file")


def check_installed() -> None:
    """Check that the ``[local]`` extra is installed.

    Raises:
        ModelError: it is not.
    """
    if util.find_spec("xllamacpp") is None:
        raise ModelError(
            "a local LLM requires xllamacpp: pip install xllamacpp (or use the address of "
            "a running server)"
        )


class LocalServer:
    """Server process for one GGUF file, on a free port of 127.0.0.1.

    A separate process, so that a broken model file or exhausted memory cannot end this one. It ends
    with :meth:`close`, and with this process however that ends.

    Attributes:
        url: base address for an OpenAI-compatible client, such as ``http://127.0.0.1:4711/v1``.

    Raises:
        ModelError: the ``[local]`` extra is not installed, or the server did not start.
    """

    def __init__(self, model: LocalModel) -> None:
        check_installed()
        self.model = model
        self._said: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115  (closed by close)
        settings = {
            "model": str(model.path),
            "name": model.name,
            "parallel": model.parallel,
            "context": model.context,
            "threads": model.threads,
            "adapter": None if model.adapter is None else str(model.adapter.path),
        }
        self._process = subprocess.Popen(
            [sys.executable, "-m", "veridical.llm.local_server", json.dumps(settings)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._said,
            start_new_session=True,  # Ctrl-C is handled here: calls in flight may finish
        )
        atexit.register(self.close)
        try:
            answer = self._hear()
            if "url" not in answer:
                raise ModelError(f"{model.path} could not be served: {self._trouble(answer)}")
        except BaseException:
            self.close()
            raise
        self.url = f"{answer['url']}/v1"

    def _hear(self) -> dict[str, Any]:
        """Read the line that the process prints once it serves or fails; {} if it ends without
        one.
        """
        out = self._process.stdout
        assert out is not None
        late = threading.Timer(_LONGEST_START, self._process.kill)
        late.start()
        try:
            line = out.readline()
        finally:
            late.cancel()
        with contextlib.suppress(ValueError):
            answer = json.loads(line)
            if isinstance(answer, dict):
                return answer
        return {}

    def _trouble(self, answer: Mapping[str, Any]) -> str:
        """Describe the failure, from the process's answer and llama.cpp's output."""
        self._process.wait(10)
        self._said.seek(0)
        printed = " ".join(self._said.read().decode("utf-8", "replace").split())
        printed = "".join(c if c.isprintable() else "?" for c in printed[-_SHOWN:])
        error = answer.get("error", f"the process ended with code {self._process.returncode}")
        return f"{error} ({printed})" if printed else str(error)

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def running(self) -> bool:
        return self._process.poll() is None

    def close(self) -> None:
        """Stop the process. Repeated calls have no effect."""
        atexit.unregister(self.close)
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                with contextlib.suppress(OSError):
                    pipe.close()
        try:
            self._process.wait(5)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._said.close()

    def __enter__(self) -> LocalServer:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class LocalClient:
    """Client of an endpoint whose ``base_url`` is ``local:...``.

    The server is started with the first call. It is restarted if it has ended, or if the number of
    idle cores has differed from its threads for some time.

    Attributes:
        identity: all that a reply depends on apart from the request: the model and the options that
            are sent.
        most_calls: the number of requests that the server decodes concurrently.
        shares_prefixes: the server caches common prompt prefixes.
        accounts_attempts: as in the client of that server.

    Raises:
        UsageError, ModelError: as :func:`read_local` and :class:`LocalServer` do.
    """

    accounts_attempts = True
    shares_prefixes = True

    def __init__(self, endpoint: Endpoint) -> None:
        check_installed()
        self.model = read_local(endpoint.base_url)
        self._endpoint = endpoint
        self.most_calls = min(endpoint.max_concurrency, self.model.parallel)
        self._running: tuple[LocalServer, LlmClient] | None = None
        self._starting = asyncio.Lock()
        self._under_way = 0
        self._idle = asyncio.Event()
        self._idle.set()
        self._free = FreeCores()
        self._looked = 0.0
        self._wanted = self.model.threads

    @cached_property
    def identity(self) -> str:
        options = self._endpoint.extra_body
        sent = f":{json.dumps(options, sort_keys=True)}" if options else ""
        return f"{self.model.identity}{sent}"

    async def chat(
        self, request: ChatRequest, ordinals: Sequence[int] = (0,)
    ) -> list[Reply | LlmError]:
        """Return one reply or error per ordinal, in order."""
        size = self.model.parallel  # the server draws at most this many samples at once
        parts = [ordinals[i : i + size] for i in range(0, len(ordinals), size)]
        client = await self._client()
        try:
            outcomes = await asyncio.gather(*(client.chat(request, part) for part in parts))
        finally:
            self._under_way -= 1
            if not self._under_way:
                self._idle.set()
        return [outcome for part in outcomes for outcome in part]

    async def _client(self) -> LlmClient:
        """Return a client of the server for one more call, which counts as in flight."""
        async with self._starting:
            if self._other_threads():
                await self._idle.wait()
                await self.close()
            if self._running is not None and not self._running[0].running:
                await self.close()
            if self._running is None:
                from veridical.llm.client import LlmClient

                server = await asyncio.to_thread(LocalServer, self.model)
                self._free = FreeCores()
                self._running = server, LlmClient(_reached(self._endpoint, server))
            self._under_way += 1
            self._idle.clear()
            return self._running[1]

    def _other_threads(self) -> bool:
        """Return True if the server should be restarted with another number of threads.

        That is so if two checks in a row found the same other number of idle cores; it is stored in
        the model.
        """
        now = time.monotonic()
        if self._running is None or not self.model.follows or now - self._looked < _LOOK:
            return False
        self._looked = now
        free = self._free.look(self._running[0].pid)
        before, self._wanted = self._wanted, self.model.threads if free is None else free
        if self._wanted == self.model.threads or self._wanted != before:
            return False
        self.model = replace(self.model, threads=self._wanted)
        return True

    async def close(self) -> None:
        """Stop the server."""
        if self._running is not None:
            server, client = self._running
            self._running = None
            await client.close()
            await asyncio.to_thread(server.close)


def _reached(endpoint: Endpoint, server: LocalServer) -> Endpoint:
    """Return ``endpoint`` with the address of ``server``."""
    known = {"n": True, "logprobs": True, "schema": True, "echo": False}
    return replace(
        endpoint,
        base_url=server.url,
        model=server.model.name,
        max_concurrency=min(endpoint.max_concurrency, server.model.parallel),
        timeout=max(endpoint.timeout, _PATIENCE),
        supports={**known, **endpoint.supports},
    )
