"""Text of PDF files, by pypdf (extra ``[corpus]``)."""

from __future__ import annotations

import io
import logging

from veridical.retrieval.corpus.files import Unreadable, fit

_MAGIC = b"%PDF-"
_SIGNATURE_SEARCH_BYTES = 1024


def read_pdf(data: bytes, longest: int) -> tuple[str, str, tuple[int, ...]]:
    """Return the title, the text, and the start of each page in the text.

    Args:
        data: content of the file.
        longest: maximum code points, after which no further page is read.

    Raises:
        Unreadable: it is not a PDF, is broken or locked, or has no text.
    """
    if _MAGIC not in data[:_SIGNATURE_SEARCH_BYTES]:
        raise Unreadable("not a PDF: the signature is missing")
    try:
        import pypdf
    except ImportError:
        raise Unreadable("PDF files require pypdf; run: pip install pypdf") from None
    logging.getLogger("pypdf").setLevel(logging.CRITICAL)
    try:
        reader = pypdf.PdfReader(io.BytesIO(data), strict=False)
        if reader.is_encrypted and not reader.decrypt(""):
            raise Unreadable("it is protected by a password")
        title = reader.metadata.title if reader.metadata is not None else None
        starts: list[int] = []
        parts: list[str] = []
        at = 0
        for page in reader.pages:
            starts.append(at)
            # a sentence may continue on the next page
            part = fit(page.extract_text()).strip() + "\n"
            parts.append(part)
            at += len(part)
            if at > longest:
                break
        text = "".join(parts)
    except Unreadable:
        raise
    except Exception as e:  # a broken file may raise any error
        raise Unreadable(f"broken PDF: {type(e).__name__}: {e}"[:200]) from None
    if not text.strip():
        raise Unreadable("it has no text; run OCR on scanned pages first")
    return (title if isinstance(title, str) else ""), text, tuple(starts)
