"""Layout marks without meaning: emphasis, inline code, bullets, headings, fences."""

from __future__ import annotations

import re

from veridical.text.memo import kept

_FENCE = re.compile(r"^[ \t]{0,8}(?:`{3,}|~{3,})[ \t]*[\w+.-]{0,20}[ \t]*$", re.MULTILINE)
_LEAD = re.compile(r"^[ \t]{0,20}(?:(?:>[ \t]?){1,5}|\#{1,6}[ \t]+|[-*+•‣▪◦●][ \t]+)", re.MULTILINE)
_STRONG = re.compile(r"(\*{2,3}|__)(?=\S)([^*\n]{1,2000}?)(?<=\S)\1")
_EMPHASIS = re.compile(r"(?<![\w*\\])(?:\*(?=[^\s*])([^*\n]{1,500}?)(?<=[^\s*])\*"
                       r"|_(?=[^\s_])([^_\n]{1,500}?)(?<=[^\s_])_)(?![\w*])")  # fmt: skip
_CODE = re.compile(r"(`{1,2})(?=[^`\n])([^`\n]{1,500}?)\1(?!`)")
_LINK = re.compile(r"\[([^\[\]\n]{1,500})\]\((?:https?://|mailto:|/|#)[^()\s]{0,500}\)")
_STRUCK = re.compile(r"~~[^~\n]{1,500}~~")


def unfenced(text: str) -> str:
    """Remove the lines that fence code from ``text``."""
    if "```" in text or "~~~" in text:
        return _FENCE.sub("", text).strip("\n")
    return text


@kept
def undecorated(text: str) -> str:
    """Remove Markdown marks from ``text``, as in its rendered form.

    Code is unchanged, and struck-out text is removed.

    >>> undecorated("- **Price:** `$5` for *each* x * y * z")
    'Price: $5 for each x * y * z'
    """
    text = unfenced(text)
    if not any(mark in text for mark in "*_`#>-+•‣▪◦●~]"):
        return text
    text = _LEAD.sub("", text)
    if "](" in text:
        text = _LINK.sub(r"\1", text)
    if "~~" in text:
        text = _STRUCK.sub("", text)
    if "**" in text or "__" in text:
        text = _STRONG.sub(r"\2", text)
    if "*" in text or "_" in text:
        text = _EMPHASIS.sub(lambda m: m[1] or m[2], text)
    return _CODE.sub(r"\2", text) if "`" in text else text
