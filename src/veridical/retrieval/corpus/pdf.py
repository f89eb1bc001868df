"""The text of a PDF file, by pypdf (extra ``[corpus]``)."""

from __future__ import annotations

import io
import logging

from veridical.retrieval.corpus.files import Unreadable, fit

_MAGIC = b"%PDF-"
_WITHIN = 1024  # bytes in which readers look for it


def read_pdf(data: bytes, longest: int) -> tuple[str, str, tuple[int, ...]]:
    """Title, text, and where in the text each page begins.

    Args:
        data: the file.
        longest: code points after which no further page is read.

    Raises:
        Unreadable: it is no PDF, broken, or locked, or holds no text.
    """
    if _MAGIC not in data[:_WITHIN]:
        raise Unreadable("no PDF: it does not begin like one")
    try:
        import pypdf
    except ImportError:
        raise Unreadable("PDF files need a package: pip install pypdf") from None
    logging.getLogger("pypdf").setLevel(logging.CRITICAL)
    try:
        reader = pypdf.PdfReader(io.BytesIO(data), strict=False)
        if reader.is_encrypted and not reader.decrypt(""):
            raise Unreadable("it is locked by a password")
        title = reader.metadata.title if reader.metadata is not None else None
        starts: list[int] = []
        parts: list[str] = []
        at = 0
        for page in reader.pages:
            starts.append(at)
            # a sentence may go on on the next page
            part = fit(page.extract_text()).strip() + "\n"
            parts.append(part)
            at += len(part)
            if at > longest:
                break
        text = "".join(parts)
    except Unreadable:
        raise
    except Exception as e:  # of a broken file anything may come
        raise Unreadable(f"broken PDF: {type(e).__name__}: {e}"[:200]) from None
    if not text.strip():
        raise Unreadable("there is no text in it; a scan has to be recognised (OCR) first")
    return (title if isinstance(title, str) else ""), text, tuple(starts)
