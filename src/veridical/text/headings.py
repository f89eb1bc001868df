"""Headings and labels of a text, which state nothing themselves."""

from __future__ import annotations

import re

from veridical.text.fact_words import NEGATIONS
from veridical.text.statements import is_sentence

_MARKED = re.compile(r"\s{0,9}#{1,6}\s")
_BOLD = re.compile(r"\s{0,9}(?:\*\*|__)[^*_\n]{1,200}(?:\*\*|__)\s*")
_UNDERLINED = re.compile(r"\s{0,9}([^\n]{1,200})\n[ \t]{0,3}(?:={3,80}|-{3,80})\s*")
_LISTED = re.compile(r"\s{0,9}(?:[-*+•‣▪◦●–—|>]|\(?(?:\d{1,3}|[A-Za-z])[.)])\s")
_LONGEST_WORDS = 12
_STOPS = (".", "!", "?", "。", "！", "？", ";", "…")


def is_heading(text: str, before: str, after: str) -> bool:
    """Return True if a sentence is a heading.

    Examples: "# Prices", "Prices:", "Prices" underlined, or "**Prices**" within a text.

    It has no verb, digit, stop or negation.

    Args:
        before: the text before it; bold text without any may be the answer.
        after: the text after it; without any, it is not a heading.

    >>> is_heading("# Prices", "", "Entry is free."), is_heading("Entry is free:", "", "Yes.")
    (True, False)
    """
    underlined = _UNDERLINED.fullmatch(text)
    text = f"# {underlined[1]}" if underlined else text
    bare = text.strip().strip("#*_: \t：")
    words = bare.split()
    if not words or len(words) > _LONGEST_WORDS or not any(map(str.isalnum, after)):
        return False
    if any(map(str.isdigit, bare)) or any(w.lower().strip(",") in NEGATIONS for w in words):
        return False
    if bare.endswith(_STOPS) or _LISTED.match(text) or is_sentence(bare):
        return False
    if _MARKED.match(text) or text.rstrip("*_ ").endswith((":", "：")):
        return True
    return _BOLD.fullmatch(text) is not None and any(map(str.isalnum, before))
