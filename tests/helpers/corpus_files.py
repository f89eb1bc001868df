"""Files for the tests of corpora."""

from __future__ import annotations

import zlib


def pdf(*pages: str, title: str = "", packed: bool = False) -> bytes:
    """A PDF file (1.4) with these texts, a line each, in Helvetica."""
    objects: list[bytes] = [b"<< /Type /Catalog /Pages 2 0 R >>", b""]
    kids = []
    for page in pages:
        lines = page.split("\n")
        shown = " T* ".join(f"({_escaped(line)}) Tj" for line in lines)
        content = f"BT /F1 12 Tf 72 720 Td 14 TL {shown} ET".encode("latin-1")
        extra = b""
        if packed:
            content, extra = zlib.compress(content), b" /Filter /FlateDecode"
        objects.append(stream(content, extra))
        objects.append(
            b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents %d 0 R "
            b"/Resources << /Font << /F1 << /Type /Font /Subtype /Type1 /BaseFont /Helvetica "
            b">> >> >> >>" % len(objects)
        )
        kids.append(len(objects))
    listed = b" ".join(b"%d 0 R" % k for k in kids)
    objects[1] = b"<< /Type /Pages /Kids [%s] /Count %d >>" % (listed, len(kids))
    objects.append(b"<< /Title (%s) >>" % _escaped(title).encode("latin-1"))
    return assembled(objects, len(objects))


def stream(content: bytes, extra: bytes = b"") -> bytes:
    return b"<< /Length %d%s >>\nstream\n%s\nendstream" % (len(content), extra, content)


def assembled(objects: list[bytes], info: int) -> bytes:
    out = bytearray(b"%PDF-1.4\n")
    places = []
    for i, body in enumerate(objects, 1):
        places.append(len(out))
        out += b"%d 0 obj\n%s\nendobj\n" % (i, body)
    start = len(out)
    out += b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1)
    out += b"".join(b"%010d 00000 n \n" % place for place in places)
    out += b"trailer\n<< /Size %d /Root 1 0 R /Info %d 0 R >>\n" % (len(objects) + 1, info)
    out += b"startxref\n%d\n%%%%EOF\n" % start
    return bytes(out)


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace("(", "\\(").replace(")", "\\)")
