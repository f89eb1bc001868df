"""Images that rows name: read with the row, so that nothing later opens a file or an address."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from veridical.core.images import MOST_BYTES, content_of, url_of
from veridical.io.problems import RowProblem
from veridical.text.display import shown

_GIVE = "give a data:image/...;base64, URL"


def with_images(
    fields: dict[str, Any], columns: dict[str, str], folder: Path | None
) -> dict[str, Any]:
    """The fields of a record with each image as a ``data:`` URL.

    A response that is an object with ``image`` becomes its text and, as ``response_image``, its
    image.

    Args:
        columns: record field -> the column it came from; gets the place of the response's image.
        folder: of the input file, in or below which images may be named; None: none may.

    Raises:
        RowProblem: an image is no such URL and no such file, is too large, or of another type, or
            stands beside more than a text; it names the column and place.
    """
    response = fields.get("response")
    if isinstance(response, dict) and "image" in response:
        if not response.keys() <= {"text", "image"}:
            what = f"has more than 'text' and 'image': {shown(response)}"
            raise RowProblem(what, columns["response"])
        fields["response"] = "" if response.get("text") is None else response["text"]
        if (image := response.get("image")) is not None:
            columns["response_image"] = f"{columns['response']}.image"
            fields["response_image"] = _inlined(image, columns["response_image"], folder)
        elif response.get("text") is None:
            raise RowProblem("needs 'text' or 'image'", columns["response"])
    samples = fields.get("samples")
    if isinstance(samples, list):
        fields["samples"] = [
            {**s, "image": _inlined(s["image"], f"{columns['samples']}[{i}].image", folder)}
            if isinstance(s, dict) and s.get("image") is not None
            else s
            for i, s in enumerate(samples)
        ]
    return fields


def _inlined(image: Any, where: str, folder: Path | None) -> str:
    if not isinstance(image, str):
        raise RowProblem(f"must be text, got {shown(image)}", where)
    try:
        if image[:5].lower() == "data:":
            content_of(image)
            return image
        return url_of(_read(image, folder))
    except ValueError as e:
        raise RowProblem(str(e), where) from None


def _read(name: str, folder: Path | None) -> bytes:
    """The bytes of an image file in or below ``folder``.

    Raises:
        ValueError: there is none, or it may not be named.
    """
    if "://" in name:
        raise ValueError(f"is an address, and none is fetched: {_GIVE}")
    if folder is None:
        raise ValueError(f"names a file, and the rows are from no file beside it: {_GIVE}")
    try:
        root, path = folder.resolve(), (folder / name).resolve()
        if not path.is_relative_to(root):
            raise ValueError("leads outside the folder of the input")
        if not path.is_file():
            raise ValueError("there is no such file beside the input")
        with path.open("rb") as file:
            return file.read(MOST_BYTES + 1)
    except (OSError, RuntimeError) as e:
        raise ValueError(f"cannot be read: {getattr(e, 'strerror', None) or e}") from None
