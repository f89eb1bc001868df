"""Images named by rows, read with the row.

Later steps therefore open no file or address.
"""

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
    """Return the fields of a record with each image as a ``data:`` URL.

    A response that is an object with ``image`` becomes its text and, as ``response_image``, its
    image.

    Args:
        columns: record field -> its column; the location of the response's image is added.
        folder: folder of the input file, in or below which images may be named; None forbids it.

    Raises:
        RowProblem: an image is not such a URL or file, is too large, has another type, or is
            combined with more than a text. The error names column and location.
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
    """Return the bytes of an image file in or below ``folder``.

    Raises:
        ValueError: the file does not exist, or may not be named.
    """
    if "://" in name:
        raise ValueError(f"is an address, and addresses are not fetched; {_GIVE}")
    if folder is None:
        raise ValueError(f"names a file, but the rows do not come from a file next to it; {_GIVE}")
    try:
        root, path = folder.resolve(), (folder / name).resolve()
        if not path.is_relative_to(root):
            raise ValueError("leads outside the folder of the input")
        if not path.is_file():
            raise ValueError("there is no such file next to the input")
        with path.open("rb") as file:
            return file.read(MOST_BYTES + 1)
    except (OSError, RuntimeError) as e:
        raise ValueError(f"cannot be read: {getattr(e, 'strerror', None) or e}") from None
