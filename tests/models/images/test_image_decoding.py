"""Hostile and odd images are refused with a reason, or decoded to the points they show."""

from __future__ import annotations

import base64
import io
import struct
import warnings
import zlib
from pathlib import Path

import numpy as np
import pytest
from image_files import encoded, noise, picture

from veridical.core.images import Picture, url_of
from veridical.errors import ModelError
from veridical.models.images import decoding
from veridical.models.images.decoding import decoded

Image = pytest.importorskip("PIL.Image")


def chunk(kind: bytes, body: bytes) -> bytes:
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))


def png_of(width: int, height: int) -> bytes:
    """A PNG file that says it is so large and holds next to nothing."""
    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    body = chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(b"\0" * 99)) + chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + body


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "WEBP", "GIF", "BMP"])
def test_known_types_are_decoded(kind: str) -> None:
    image = noise(40, 30)
    points = np.asarray(decoded(picture(image, kind)), np.float64)
    assert points.shape == (30, 40, 3)
    apart = np.abs(points - np.asarray(image, np.float64)).mean()
    assert apart == 0 if kind in ("PNG", "BMP") else apart < 12


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "WEBP", "GIF", "BMP"])
@pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
def test_what_is_cut_off_is_refused(kind: str, share: float) -> None:
    content = encoded(noise(64, 64), kind)
    with pytest.raises(ModelError, match=r"is a broken image|no .* image"):
        decoded(Picture(url_of(content[: int(len(content) * share)])))


@pytest.mark.parametrize(("width", "height"), [(10_000, 10_000), (2**30, 2**30), (60_000, 500)])
def test_a_decompression_bomb_is_refused_before_it_is_decoded(width: int, height: int) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises(ModelError, match=r"pixels|broken"):
            decoded(Picture(url_of(png_of(width, height))))


def test_a_bomb_of_texts_in_a_png_is_refused() -> None:
    content = encoded(noise(8, 8))
    text = chunk(b"zTXt", b"a\0\0" + zlib.compress(b"a" * (80 << 20)))
    with pytest.raises(ModelError, match="is a broken image"):
        decoded(Picture(url_of(content[:33] + text + content[33:])))


def test_several_frames_are_refused() -> None:
    file = io.BytesIO()
    noise(8, 8).save(file, "GIF", save_all=True, append_images=[noise(8, 8, 1)])
    with pytest.raises(ModelError, match="has 2 frames; use a single image"):
        decoded(Picture(url_of(file.getvalue())))


@pytest.mark.parametrize("content", [b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff" + b"\0" * 99, b"BM"])
def test_bytes_that_only_begin_as_an_image_are_refused(content: bytes) -> None:
    with pytest.raises(ModelError, match="is a broken image"):
        decoded(Picture(url_of(content)))


@pytest.mark.parametrize("seed", range(40))
def test_flipped_bytes_never_end_in_another_error(seed: int) -> None:
    random = np.random.default_rng(seed)
    kind = ["PNG", "JPEG", "WEBP", "GIF", "BMP"][seed % 5]
    content = bytearray(encoded(noise(32, 32), kind))
    for at in random.integers(12, len(content), 8):
        content[at] = random.integers(256)
    try:
        decoded(Picture(f"data:image/x;base64,{base64.b64encode(content).decode()}"))
    except ModelError as e:
        assert str(e)


@pytest.mark.parametrize("url", ["a.png", "https://host/a.png", "data:image/png;base64,AAAA"])
def test_only_data_urls_are_read(url: str) -> None:
    with pytest.raises(ModelError, match="is no"):
        decoded(Picture(url))


def test_what_is_transparent_lies_on_white() -> None:
    image = Image.new("RGBA", (2, 1), (0, 0, 0, 0))
    image.putpixel((1, 0), (10, 20, 30, 255))
    assert np.asarray(decoded(picture(image))).tolist() == [[[255] * 3, [10, 20, 30]]]
    grey = Image.new("L", (1, 1), 7)
    assert np.asarray(decoded(picture(grey))).tolist() == [[[7, 7, 7]]]
    palette = Image.new("P", (1, 1), 0)
    palette.putpalette([1, 2, 3])
    assert np.asarray(decoded(picture(palette))).tolist() == [[[1, 2, 3]]]
    file = io.BytesIO()
    palette.save(file, "PNG", transparency=0)
    assert np.asarray(decoded(Picture(url_of(file.getvalue())))).tolist() == [[[255] * 3]]


def test_a_camera_held_upright_is_seen_upright() -> None:
    file = io.BytesIO()
    image = Image.new("RGB", (40, 20), "white")
    exif = Image.Exif()
    exif[0x0112] = 6  # turn a quarter to the right
    image.save(file, "JPEG", exif=exif)
    assert decoded(Picture(url_of(file.getvalue()))).size == (20, 40)


def test_without_pillow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(decoding.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(ModelError, match=r"pip install pillow"):
        decoding.need_pillow()


def test_broken_images_are_not_let_pass_by_a_setting_of_the_library(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from PIL import ImageFile

    monkeypatch.setattr(ImageFile, "LOAD_TRUNCATED_IMAGES", True)
    with pytest.raises(ModelError, match="LOAD_TRUNCATED_IMAGES"):
        decoded(picture(noise(8, 8)))


def test_nothing_is_opened_but_the_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.png").write_bytes(encoded(noise(8, 8)))
    with pytest.raises(ModelError, match="no data:image"):
        decoded(Picture("a.png"))
