"""Decoding of untrusted image files to pixels."""

from __future__ import annotations

import importlib.util
import io
from typing import TYPE_CHECKING, Any

from veridical.core.images import TYPES
from veridical.errors import ModelError

if TYPE_CHECKING:
    from PIL.Image import Image

    from veridical.core.images import Picture

#: Maximum pixels of an image: 75 MB once decoded.
MOST_POINTS = 25_000_000


def need_pillow() -> None:
    """Check that Pillow is installed.

    Raises:
        ModelError: Pillow is not installed.
    """
    if importlib.util.find_spec("PIL") is None:
        raise ModelError("images require Pillow; run: pip install pillow")


def decoded(picture: Picture) -> Image:
    """Decode the image, upright, in RGB, with transparency on white.

    Raises:
        ModelError: it has another format, is broken or truncated, has several frames, or more than
            :data:`MOST_POINTS` pixels.
    """
    need_pillow()
    from PIL import Image, ImageFile, ImageOps

    if ImageFile.LOAD_TRUNCATED_IMAGES:
        raise ModelError(
            "PIL.ImageFile.LOAD_TRUNCATED_IMAGES is set, so broken images would pass; unset it"
        )
    try:
        content = picture.content()
    except ValueError as e:
        raise ModelError(str(e)) from None
    try:
        with Image.open(io.BytesIO(content), formats=[t.upper() for t in TYPES]) as image:
            width, height = image.size
            if width * height > MOST_POINTS:
                raise ModelError(
                    f"has {width} x {height} pixels, over the limit of {MOST_POINTS:,}"
                )
            if getattr(image, "n_frames", 1) > 1:
                raise ModelError(f"has {image.n_frames} frames; use a single image")
            return _opaque(ImageOps.exif_transpose(image))
    except ModelError:
        raise
    except Image.DecompressionBombError:
        raise ModelError(f"has more than {MOST_POINTS:,} pixels") from None
    except Exception as e:  # the library raises many kinds of errors, all caused by the bytes
        raise ModelError(f"is a broken image: {str(e) or type(e).__name__}") from None


def _opaque(image: Any) -> Image:
    from PIL import Image

    if image.mode not in ("RGBA", "LA", "PA") and "transparency" not in image.info:
        rgb: Image.Image = image.convert("RGB")
        return rgb
    layered = image.convert("RGBA")
    ground = Image.new("RGBA", layered.size, "white")
    return Image.alpha_composite(ground, layered).convert("RGB")
