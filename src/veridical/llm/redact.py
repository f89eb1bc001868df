"""Removal of keys from servers' messages, in any encoding."""

from __future__ import annotations

import base64
from functools import lru_cache

#: Length of consecutive letters and digits that reveals a key, and the length used to search for
#: them.
SHOWN = 8
_GRAM = 4
_WINDOW = 3 * SHOWN
_SHOWN, _LOOKED_AT = 300, 4096  # characters of an excerpt, and of its source
_WORD = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+/=%~")


def redact(text: str, key: str | None) -> str:
    """Replace ``key`` in ``text`` by ``[key]``.

    Also replaces parts of it of :data:`SHOWN` letters and digits, and either with other characters
    inserted: plain, in capitals, reversed, in base64, hexadecimal, or escaped for URLs, HTML or
    JSON. Other words that look like it are replaced too.

    Takes time linear in the text.
    """
    if not key:
        return text
    text = text.replace(key, "[key]")
    grams, least = _grams(key)
    if not grams:
        return text
    places = [i for i, c in enumerate(text) if c.isalnum()]
    plain = "".join(text[i] for i in places).lower()
    if len(plain) != len(places):  # a letter whose lower-case form has two characters
        plain = "".join(text[i].lower()[:1] for i in places)
    hits = [i for i in range(len(plain) - _GRAM + 1) if plain[i : i + _GRAM] in grams]
    spans: list[tuple[int, int]] = []
    first = 0
    for last, hit in enumerate(hits):
        while hit - hits[first] > _WINDOW - _GRAM:
            first += 1
        if last - first + 1 >= least:
            spans.append((places[hits[first]], places[hit + _GRAM - 1] + 1))
    return _without(text, spans)


def excerpt(text: str, key: str | None) -> str:
    """Return the start of a server's message on one printable line, without the key."""
    flat = " ".join(redact(text[:_LOOKED_AT], key).split())[:_SHOWN]
    return "".join(c if c.isprintable() else "?" for c in flat)


@lru_cache(maxsize=64)
def _grams(key: str) -> tuple[frozenset[str], int]:
    """Return the n-grams of a key, and the number of them that reveals it.

    Empty for a key so short that it could be any word.
    """
    plain = "".join(c for c in key if c.isalnum()).lower()
    if len(plain) < _GRAM + 2:
        return frozenset(), 0
    grams: set[str] = set()
    for form in _forms(key):
        small = "".join(c for c in form if c.isalnum()).lower()
        grams.update(small[i : i + _GRAM] for i in range(len(small) - _GRAM + 1))
    return frozenset(grams), min(SHOWN, len(plain)) - _GRAM + 1


def _forms(key: str) -> list[str]:
    """Return the encodings of the key in which servers may write it, without separators."""
    raw = key.encode()
    forms = [key, key[::-1], raw.hex(), raw[::-1].hex()]
    for text in (raw, raw[::-1]):
        for offset in range(3):  # offsets in a longer text that is encoded with it
            packed = base64.b64encode(b"\0" * offset + text).decode()
            begun = (offset * 8 + 5) // 6
            forms.append(packed[begun : (offset + len(text)) * 8 // 6])
    forms.append("".join(f"u{ord(c):04x}" for c in key))
    forms.append("".join(f"x{ord(c):02x}" for c in key))
    forms.append("".join(str(ord(c)) for c in key))
    return forms


def _without(text: str, spans: list[tuple[int, int]]) -> str:
    """Replace each span of ``text`` and the word around it; spans are in order."""
    parts: list[str] = []
    done = 0
    for start, end in spans:
        if end <= done:  # within a word that is replaced already
            continue
        while start > done and text[start - 1] in _WORD:
            start -= 1
        while end < len(text) and text[end] in _WORD:
            end += 1
        if start <= done and parts:  # continues the previous one
            done = max(done, end)
            continue
        parts += [text[done:start], "[key]"]
        done = max(done, end)
    return "".join([*parts, text[done:]])
