"""Parsing of a model's replies with passages or terms.

Its words are untrusted text.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

#: ``marked``: in the requested form.
#: ``whole``: without its headings, so the reply is the passage.
#: ``unusable``: the requested parts cannot be separated, or the reply is empty.
Form = Literal["marked", "whole", "unusable"]

_HEADING = r"^[ \t>*#]*(?:{})\b[ \t]*[:#*]*[ \t]*"
_TAGS = re.compile(r"</?(?:formatting|example)>")
_FIRST = "DESCRIPTION[ \\t]*1"
_SECOND = "DESCRIPTION[ \\t]*2"
_SHOWN = re.compile(r"^(?:the passage here|the actual description here)\W*$", re.IGNORECASE)
# Bounded runs, so that a long line of marks costs no more than its length.
_BULLET = r"^[*•\-–]{0,3}[ \t]{0,8}(?:\d{1,3}[.)][ \t]{1,8})?"
_TERM = re.compile(_BULLET + r"[\"“'*]{0,4}(.{1,80}?)[\"”'*]{0,4}[.:][ \t*]{1,8}(\S.*)$")


@dataclass(frozen=True)
class ReadReply:
    """The texts of a reply; none where it is unusable."""

    texts: tuple[str, ...]
    form: Form


def passage(reply: str, *, forced: bool) -> ReadReply:
    """Extract the passage of a reply.

    Args:
        forced: a list of errors was requested before it. That list is not part of the passage. A
            reply with it and without a heading of the passage is unusable.
    """
    text = _plain(reply)
    parts = _after(text, "PASSAGE")
    if parts is not None:
        body = parts if not forced else _before(parts, "ERRORS")
        return _read((body,), "marked")
    if forced and _after(text, "ERRORS") is not None:
        return ReadReply((), "unusable")
    return _read((text,), "whole")


def descriptions(reply: str) -> ReadReply:
    """Extract the two passages of a reply; unusable unless both exist and differ."""
    text = _plain(reply)
    second = _after(text, _SECOND)
    first = _after(text, _FIRST)
    if first is None or second is None:
        return ReadReply((), "unusable")
    texts = (_before(first, _SECOND), _before(second, _FIRST))
    if texts[0] == texts[1]:
        return ReadReply((), "unusable")
    return _read(texts, "marked")


def terms(reply: str) -> ReadReply:
    """Extract the lines ``Term. Definition`` of a reply as one text.

    A reply without such a line is kept whole.
    """
    lines = [line for line in _plain(reply).splitlines() if _TERM.match(line.strip())]
    if lines:
        return _read(("\n".join(line.strip() for line in lines),), "marked")
    return _read((_plain(reply),), "whole")


def term_names(text: str) -> list[str]:
    """Return the terms of lines ``Term. Definition``, in order, each once."""
    found = (_TERM.match(line.strip()) for line in text.splitlines())
    return list(dict.fromkeys(m[1].strip() for m in found if m is not None))


def found_terms(extracted: Sequence[str], expected: Sequence[str]) -> tuple[float, float, float]:
    """Compute precision, recall and F1 of extracted terms, ignoring case and spaces.

    A value is 0 if its denominator is.
    """
    got, wanted = ({" ".join(t.casefold().split()) for t in s} for s in (extracted, expected))
    hits = len(got & wanted)
    precision = hits / len(got) if got else 0.0
    recall = hits / len(wanted) if wanted else 0.0
    return precision, recall, 2 * precision * recall / (precision + recall) if hits else 0.0


def _plain(reply: str) -> str:
    return _TAGS.sub("", reply).strip()


def _after(text: str, name: str) -> str | None:
    """Return the text after the last heading of this name, or None."""
    found = list(re.finditer(_HEADING.format(name), text, re.MULTILINE))
    return None if not found else text[found[-1].end() :].strip()


def _before(text: str, name: str) -> str:
    """Return the text before the first heading of this name."""
    found = re.search(_HEADING.format(name), text, re.MULTILINE)
    return text if found is None else text[: found.start()].strip()


def _read(texts: tuple[str, ...], form: Form) -> ReadReply:
    """Unusable where a text is empty, or is the line of the template that stands for it."""
    if any(not t.strip() or _SHOWN.match(t.strip()) for t in texts):
        return ReadReply((), "unusable")
    return ReadReply(texts, form)
