"""Web and e-mail addresses and telephone numbers, normalised for comparison."""

from __future__ import annotations

import re
from collections.abc import Iterator

from veridical.text.citations import find_links
from veridical.text.memo import kept

_MAIL = re.compile(r"(?<![\w.+-])[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,5}")
_HOST = re.compile(
    r"(?<![\w@./-])(?:www\.)?(?:[a-z0-9-]{1,63}\.){1,4}"
    r"(?:com|org|net|edu|gov|info|io|ai|dev|app|co|example|eu|de|fr|uk|es|it|nl|ch|at)"
    r"(?:/[\w./?=&%#~+-]{0,300})?(?![\w@])",
    re.IGNORECASE,
)
_PHONE = re.compile(
    r"(?<![\w.,-])(?:\+\d{1,3}[ -])?(?:\(?\d{2,5}\)?[ -]){1,4}\d{3,6}(?![\w-]|[.,]\d)"
)
_DIGITS = re.compile(r"\D+")
_YEARS = re.compile(r"(?:1[5-9]|20)\d\d\s?-\s?(?:1[5-9]|20)\d\d")
#: Words that only point to an address.
_POINTER = re.compile(
    r"(?:(?:for )?(?:more|further|other|additional)(?: (?:information|details|info|help))?|"
    r"see|visit|read|find|go|go to|check|check out|click|here|at|on|under|source|link|website|"
    r"web|url|page|the|our|this|please|details|it|can be found|is|also|learn|out|online|to|info|"
    r"information|official|about it|via|contact|write|email|e-mail|mail|call|phone|us|them|"
    r"reach|or|and|"
    r"[\s:.,;()<>\[\]!-])+",
    re.IGNORECASE,
)


@kept
def identifiers(text: str) -> frozenset[str]:
    """Return the addresses and numbers of ``text`` in normalised form.

    >>> sorted(identifiers("See https://www.shop.example/a/ or call 555-0142."))
    ['5550142', 'shop.example/a']
    """
    return frozenset(key for _, _, key in _found(text))


def _found(text: str) -> Iterator[tuple[int, int, str]]:
    at = 0
    for start, end, key in sorted((*_addresses(text), *_phones(text))):
        if start >= at:
            at = end
            yield start, end, key


def _addresses(text: str) -> Iterator[tuple[int, int, str]]:
    if "." not in text:
        return
    if "://" in text:
        for link in find_links(text):
            yield link.start, link.end, _address(link.url.split("://", 1)[1])
    if "@" in text:
        for m in _MAIL.finditer(text):
            yield *m.span(), m[0].lower()
    for m in _HOST.finditer(text):
        yield *m.span(), _address(m[0])


def _address(address: str) -> str:
    return address.lower().removeprefix("www.").rstrip("/.,;:!?)'\"")


def _phones(text: str) -> Iterator[tuple[int, int, str]]:
    for m in _PHONE.finditer(text):
        if not _YEARS.fullmatch(m[0]) and ("-" in m[0] or m[0][0] in "+(0"):
            digits = _DIGITS.sub("", m[0])
            if len(digits) >= _FEWEST_DIGITS:
                yield *m.span(), digits


_FEWEST_DIGITS = 7


def only_points(text: str) -> bool:
    """Return True if ``text`` has an address and otherwise only words pointing to it.

    >>> only_points("More at https://shop.example/a"), only_points("Dogs bite: shop.example")
    (True, False)
    """
    rest, at = [], 0
    for start, end, _ in _found(text):
        rest.append(text[at:start])
        at = end
    if not rest:
        return False
    rest.append(text[at:])
    bare = " ".join(rest).strip()
    return not bare or _POINTER.fullmatch(bare) is not None
