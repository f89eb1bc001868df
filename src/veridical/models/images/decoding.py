"""From the bytes of an image file to its points. The bytes are foreign and may be hostile."""

from __future__ import annotations

import importlib.util
import io
from typing import TYPE_CHECKING, Any

from veridical.core.images import TYPES
from veridical.errors import ModelError

if TYPE_CHECKING:
    from PIL.Image import Image

    from veridical.core.images import Picture

#: Points of an image, at most: 75 MB once decoded.
MOST_POINTS = 25_000_000


def need_pillow() -> None:
    """
    Raises:
        ModelError: Pillow is not installed.
    """
    if importlib.util.find_spec("PIL") is None:
        raise ModelError("images are read and drawn by Pillow: pip install pillow")


def decoded(picture: Picture) -> Image:
    """The image, upright, in RGB; what is transparent lies on white.

    Raises:
        ModelError: it is not what it says, is broken or cut off, has more than one frame or more
            than :data:`MOST_POINTS` points.
    """
    need_pillow()
    from PIL import Image, ImageFile, ImageOps

    if ImageFile.LOAD_TRUNCATED_IMAGES:
        raise ModelError("PIL.ImageFile.LOAD_TRUNCATED_IMAGES is set: broken images would pass")
    try:
        content = picture.content()
    except ValueError as e:
        raise ModelError(str(e)) from None
    try:
        with Image.open(io.BytesIO(content), formats=[t.upper() for t in TYPES]) as image:
            width, height = image.size
            if width * height > MOST_POINTS:
                raise ModelError(
                    f"has {width} x {height} points; {MOST_POINTS:,} at most are decoded"
                )
            if getattr(image, "n_frames", 1) > 1:
                raise ModelError(f"has {image.n_frames} frames: give one image")
            return _opaque(ImageOps.exif_transpose(image))
    except ModelError:
        raise
    except Image.DecompressionBombError:
        raise ModelError(f"has more than {MOST_POINTS:,} points") from None
    except Exception as e:  # the library has many ways to fail, all about the bytes given
        raise ModelError(f"is a broken image: {str(e) or type(e).__name__}") from None


def _opaque(image: Any) -> Image:
    from PIL import Image

    if image.mode not in ("RGBA", "LA", "PA") and "transparency" not in image.info:
        rgb: Image.Image = image.convert("RGB")
        return rgb
    layered = image.convert("RGBA")
    ground = Image.new("RGBA", layered.size, "white")
    return Image.alpha_composite(ground, layered).convert("RGB")
