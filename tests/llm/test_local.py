"""The local server's process: how it starts, what goes wrong, and that it never outlives us."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import ClassVar

import pytest

from veridical.core.messages import ChatRequest
from veridical.errors import ModelError, UsageError
from veridical.llm import local
from veridical.llm.endpoints import Endpoint, find_endpoint
from veridical.llm.local import LocalClient, LocalModel, LocalServer, read_local
from veridical.weights import download
from veridical.weights.checkers import Adapter

#: In place of the engine: serves nothing, says what it was given, and fails as it is told.
ENGINE = """
    import os
    class _Bag:
        def __setattr__(self, name, value): self.__dict__[name] = value
    class CommonParams(_Bag):
        def __init__(self):
            for name in ("model", "cpuparams", "cpuparams_batch", "sampling"):
                setattr(self, name, _Bag())
    class CommonAdapterLoraInfo(_Bag):
        pass
    class Server:
        def __init__(self, params):
            print("the engine says hello", flush=True)
            content = open(params.model.path, "rb").read()
            if b"refuse" in content:
                raise RuntimeError("Failed to load the model")
            if b"abort" in content:
                os.write(2, b"GGML_ASSERT(n > 0) failed\\n")
                os.abort()
            assert params.hostnames == ["127.0.0.1"] and params.n_ctx == 2 * 512
            assert not params.ui and not params.endpoint_slots and params.cors_origins == ""
            assert params.sampling.top_k == 0 and params.sampling.min_p == 0.0
            adapters = getattr(params, "lora_adapters", [])
            assert all(a.path == "some adapter" and a.scale == 1.0 for a in adapters)
            self.listening_address = f"http://127.0.0.1:{9 + len(adapters)}"
"""


@pytest.fixture
def engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "engine"
    folder.mkdir()
    (folder / "xllamacpp.py").write_text(textwrap.dedent(ENGINE))
    monkeypatch.syspath_prepend(str(folder))
    paths = [str(folder), *filter(None, [os.environ.get("PYTHONPATH")])]
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(paths))


def model(tmp_path: Path, content: bytes = b"GGUF") -> LocalModel:
    path = tmp_path / "some.gguf"
    path.write_bytes(content)
    return LocalModel("some", path, context=512, parallel=2, threads=1)


def gone(pid: int, within: float = 30.0) -> bool:
    end = time.monotonic() + within
    while time.monotonic() < end:
        try:
            os.kill(pid, 0)
            state = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
            if state == "Z":
                return True
        except (ProcessLookupError, FileNotFoundError):
            return True
        time.sleep(0.05)
    return False


def test_it_serves_until_it_is_closed(engine: None, tmp_path: Path) -> None:
    server = LocalServer(model(tmp_path))
    assert server.url == "http://127.0.0.1:9/v1" and server.running
    server.close()
    assert not server.running
    server.close()


def test_an_adapter_is_loaded_over_the_model(engine: None, tmp_path: Path) -> None:
    adapter = Adapter(Path("some adapter"), "", 0.0, 1.0)
    with LocalServer(replace(model(tmp_path), adapter=adapter)) as server:
        assert server.url == "http://127.0.0.1:10/v1"


@pytest.mark.parametrize(
    ("content", "words"),
    [(b"GGUF refuse", "Failed to load the model"), (b"GGUF abort", r"code -6.*GGML_ASSERT")],
)
def test_what_cannot_be_served_is_told(
    engine: None, tmp_path: Path, content: bytes, words: str
) -> None:
    with pytest.raises(ModelError, match=words):
        LocalServer(model(tmp_path, content))


@pytest.mark.skipif(sys.platform == "win32", reason="there is no kill -9")
def test_it_does_not_outlive_a_killed_parent(engine: None, tmp_path: Path) -> None:
    made = model(tmp_path)
    script = f"""
        import time
        from pathlib import Path
        from veridical.llm.local import LocalModel, LocalServer
        server = LocalServer(LocalModel("some", Path({str(made.path)!r}), 512, 2, 1))
        print(server._process.pid, flush=True)
        time.sleep(600)
    """
    parent = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(script)], stdout=subprocess.PIPE, text=True
    )
    try:
        assert parent.stdout is not None
        child = int(parent.stdout.readline())
        parent.send_signal(signal.SIGKILL)
        assert gone(child)
    finally:
        parent.kill()
        parent.wait()


def test_what_a_spec_may_say(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "tiny-model.gguf"
    path.write_bytes(b"GGUF")
    found = read_local(f"local:{path}?context=8192&parallel=2&threads=3")
    assert found == LocalModel("tiny-model", path, 8192, 2, 3)
    assert read_local(find_endpoint(f"local:{path}").base_url).path == path
    assert 1 <= read_local(f"local:{path}").threads <= (os.cpu_count() or 1)
    for query, words in (
        ("contxt=1", "did you mean 'context'"),
        ("context=0", "positive number"),
        ("parallel=two", "positive number"),
        ("threads=-1", "positive number"),
        ("threads=99999999999", "positive number"),
    ):
        with pytest.raises(UsageError, match=words):
            read_local(f"local:{path}?{query}")
    with pytest.raises(UsageError, match="cannot read the model"):
        read_local("local:/no/such.gguf")
    path.write_bytes(b"PK\x03\x04")
    with pytest.raises(UsageError, match="not a GGUF file"):
        read_local(f"local:{path}")
    monkeypatch.setattr(download, "find", lambda _: None)
    monkeypatch.setattr(download, "_at_terminal", lambda: False)
    for spec, name in (("local:", "smollm2"), ("local:qwen-1.5b?threads=2", r"qwen-1\.5b")):
        with pytest.raises(ModelError, match=f"veridical models get {name}$"):
            read_local(spec)
    with pytest.raises(UsageError, match=r"did you mean 'qwen-1\.5b'.*PATH\.gguf, .*qwen-0\.5b"):
        read_local("local:qwen-1.5")
    path.write_bytes(b"GGUF")
    monkeypatch.setattr(download, "find", lambda _: path)
    assert read_local("local:qwen-0.5b").follows and not found.follows
    assert read_local("local:qwen-0.5b?threads=2") == LocalModel("qwen-0.5b", path, 4096, 5, 2)
    assert read_local("local:").name == "smollm2"
    monkeypatch.chdir(tmp_path)
    (tmp_path / "some-model").write_bytes(b"GGUF")
    assert read_local("local:some-model").name == "some-model"


class Started:
    """In the place of the server: remembers its threads."""

    threads: ClassVar[list[int]] = []
    url, pid, running = "http://127.0.0.1:9/v1", 1, True

    def __init__(self, given: LocalModel) -> None:
        self.model = given
        self.threads.append(given.threads)

    def close(self) -> None:
        self.running = False


class Answering:
    """In the place of its client."""

    def __init__(self, endpoint: Endpoint) -> None:
        self.open = True

    async def chat(self, request: ChatRequest, ordinals: Sequence[int]) -> list[str]:
        await asyncio.sleep(0.01)
        assert self.open
        return ["said" for _ in ordinals]

    async def close(self) -> None:
        self.open = False


@pytest.mark.parametrize(("spec", "started"), [("", [1, 2, 1]), ("?threads=1", [1])])
async def test_threads_follow_what_is_free(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, spec: str, started: list[int]
) -> None:
    """Two looks running must find the same; calls that are under way are finished first."""
    found = iter([2, 1, 2, 2, 2, 1, 1, 1])
    monkeypatch.setattr(local, "check_installed", lambda: None)
    monkeypatch.setattr(local, "free_cores", lambda: 1)
    monkeypatch.setattr(local, "LocalServer", Started)
    monkeypatch.setattr("veridical.llm.client.LlmClient", Answering)
    monkeypatch.setattr(local.FreeCores, "look", lambda *_: next(found))
    monkeypatch.setattr(local, "_LOOK", 0.0)
    monkeypatch.setattr(Started, "threads", [])
    path = model(tmp_path).path
    client = LocalClient(find_endpoint(f"local:{path}{spec}"))
    request = ChatRequest(({"role": "user", "content": "x"},))
    for _ in range(3):
        replies = await asyncio.gather(*(client.chat(request) for _ in range(3)))
        assert replies == [["said"]] * 3
    assert Started.threads == started
    await client.close()


@pytest.mark.local
def test_keys_depend_on_what_is_in_the_file(tmp_path: Path) -> None:
    pytest.importorskip("xllamacpp")
    one = model(tmp_path, b"GGUF one").identity
    assert model(tmp_path, b"GGUF two").identity != one == model(tmp_path, b"GGUF one").identity


def test_without_the_extra_the_user_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(local.util, "find_spec", lambda _: None)
    endpoint = find_endpoint(f"local:{model(tmp_path).path}")
    for make in (lambda: LocalServer(model(tmp_path)), lambda: LocalClient(endpoint)):
        with pytest.raises(ModelError, match=r"pip install xllamacpp"):
            make()


@pytest.mark.local
def test_what_is_sent_along_tells_replies_apart(tmp_path: Path) -> None:
    pytest.importorskip("xllamacpp")
    path = tmp_path / "m.gguf"
    path.write_bytes(b"GGUF" + b"\0" * 64)
    plain, cut = (
        LocalClient(Endpoint("local", f"local:{path}", "m", extra_body=body)).identity
        for body in ({}, {"min_p": 0.0})
    )
    assert plain != cut and cut.startswith(plain)
