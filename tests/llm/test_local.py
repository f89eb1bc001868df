"""The local server's process: how it starts, what goes wrong, and that it never outlives us."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import time
from dataclasses import replace
from pathlib import Path

import pytest

from veridical.errors import ModelError, UsageError
from veridical.llm import download, local
from veridical.llm.checkers import Adapter
from veridical.llm.endpoints import Endpoint, find_endpoint
from veridical.llm.local import LocalClient, LocalModel, LocalServer, read_local

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
    assert read_local("local:qwen-0.5b?threads=2") == LocalModel("qwen-0.5b", path, 4096, 5, 2)
    assert read_local("local:").name == "smollm2"
    monkeypatch.chdir(tmp_path)
    (tmp_path / "some-model").write_bytes(b"GGUF")
    assert read_local("local:some-model").name == "some-model"


@pytest.mark.parametrize(
    ("busy", "free"), [([0, 0, 0, 0], 4), ([100, 55, 0, 0], 2), ([100] * 4, 1), ([30, 0, 0, 0], 4)]
)
def test_free_cores_leaves_alone_those_that_are_busy_now(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, busy: list[int], free: int
) -> None:
    """In a look of 100 ticks; a core that is not ours (cpu4) does not count."""
    stat = tmp_path / "stat"

    def write(used: list[int], ticks: int) -> None:
        cores = [*used, ticks]
        lines = [f"cpu{i} {5000 + n} 0 0 {ticks - n} 0 0 0 0 0 0\n" for i, n in enumerate(cores)]
        stat.write_text(f"cpu  {sum(cores)} 0 0 9 0 0 0 0 0 0\n{''.join(lines)}intr 7 0\n")

    write([0] * 4, 0)
    monkeypatch.setattr(local, "_STAT", stat)
    monkeypatch.setattr(local.time, "sleep", lambda _: write(busy, 100))
    monkeypatch.setattr(local.time, "process_time", lambda: 0.0)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(4)), raising=False)
    assert local.free_cores() == free


def test_free_cores_by_the_load_where_the_kernel_tells_no_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(local, "_STAT", tmp_path / "none")
    monkeypatch.setattr(os, "cpu_count", lambda: 8)
    for load, expected in ((0.0, 8), (2.6, 5), (7.9, 1), (50.0, 1)):
        monkeypatch.setattr(os, "getloadavg", lambda load=load: (load, 0, 0), raising=False)
        assert local.free_cores() == expected


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
        with pytest.raises(ModelError, match=r"veridical\[local\]"):
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
