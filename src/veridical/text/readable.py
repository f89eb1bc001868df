"""Cleaning of texts for models: traces of pages, scans and markup.

All patterns are bounded, so that time is linear in the text.
"""

from __future__ import annotations

import re
import unicodedata
from html import unescape

from veridical.text.memo import kept


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


_ENTITY = re.compile(r"&(?:\#\d{1,7}|\#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,30});")
_UNSEEN = re.compile("\u00ad[ \t]{0,9}\r?\n?[ \t]{0,9}|[\u200b\u2060\ufeff\u0305\u0332-\u0338]")
_HYPHENATED = re.compile(
    r"(?<![\w-])(?P<first>[^\W\d_]{1,30})[-‐][ \t]{0,9}\r?\n[ \t]{0,40}(?P<rest>[^\W\d_A-Z]{1,30})"
)
#: First parts of words that are hyphenated within a line as well.
_COMPOUNDS = _set(
    "self well long short high low non ex full part half all cross so real year day week "
    "month one two three four five six seven eight nine ten first second third hard soft open "
    "close old new late early mid quasi semi multi follow check built state user web cost "
)
_LINE = re.compile(r"(?<=[^\s.:;!?|>])[ \t]{0,40}\r?\n[ \t]{0,40}(?=[^\W\d_A-Z]|\d+(?![.)\d]))")
_PAGE = re.compile("[\f\v\x1c-\x1e\x85\u2028\u2029]")
_SPACED = re.compile(r"(?<!\S)[^\W_](?: [^\W_])+(?![^\s.,;:!?])")
_SPACED_RUN = re.compile(r"(?<!\S)[^\W\d_](?: [^\W\d_]){3,}(?![^\s.,;:!?])")
_SPACED_WORD = re.compile(r"(?<!\S)[^\W\d_](?: [^\W\d_]){2,}(?![^\s.,;:!?])")
_CAPITALS = re.compile(r"[^\Wa-z\d_]{2,40}(?:[ ,'-]{1,3}[^\Wa-z_]{1,40}){3,60}")
_WIDE_GAP = re.compile(r"(?<=\S) {2,20}(?=\S)")
_TAG = re.compile(
    r"</?(?:(?P<block>p|br|div|h[1-6]|details|summary)|b|i|em|strong|u|span|font|small|mark|abbr|q|cite)"
    r"(?: [^<>]{0,300})?/?>",
    re.IGNORECASE,
)
_COMMENT = re.compile(r"<!--|-->")
_ESCAPED = re.compile(r"\\(?=[\"'])|(?:(?<=[.!?])|(?:^))(?:\\[nr])+(?![a-z])")
_ZERO = re.compile(r"(?<![\w.])(?:0(?=[a-wyz][a-z]{2,30}\b)|\d{1,6}O{1,3}(?![\w]))")
_HALF_DAY = re.compile(r"(?<=\d )([AaPp])\.? ([Mm])\b")
_LEADER = re.compile(r"[ \t]{0,9}(?:\.{4,}|(?:\. ){3,})[ \t]{0,9}")
#: Variants of other characters: ligatures, full width, kinds of space, letters of mathematics.
#: Superscripts and fractions are not, as they change the meaning.
_DISGUISED = re.compile(
    "[\u00a0\u2000-\u200a\u202f\u205f\u3000\ufb00-\ufb06\uff01-\uff5e\U0001d400-\U0001d7ff]"
)
_GUILLEMET = re.compile("[«‹][ \u00a0\u202f]?|[ \u00a0\u202f]?[»›]")
_DIGIT = re.compile(r"[^\x00-\x7f]", re.UNICODE)


@kept
def readable(text: str) -> str:
    """Repair ``text`` for a model's input.

    Words divided by lines or scans are joined, entities, disguised letters and other digits become
    plain characters, and lines within a sentence are joined.

    >>> readable("The mu-\\nseum opens at&nbsp;１０ am and is o\\u00adpen daily.")
    'The museum opens at 10 am and is open daily.'
    """
    if "&" in text:
        text = _ENTITY.sub(lambda m: unescape(m[0]), text)
    if not text.isascii():
        text = _UNSEEN.sub("", text)
        text = _GUILLEMET.sub('"', text)
        text = _DISGUISED.sub(lambda m: unicodedata.normalize("NFKC", m[0]), text)
        text = _DIGIT.sub(_plain_digit, text)
        text = _PAGE.sub("\n", text)
    elif "\f" in text or "\v" in text:
        text = _PAGE.sub("\n", text)
    if "<" in text:
        text = _COMMENT.sub("", text)
        text = _TAG.sub(_tag, text)
    if "\\" in text:
        text = _ESCAPED.sub("", text)
    if "\n" in text:
        text = _joined_lines(text)
    if "...." in text or ". . ." in text:
        text = _LEADER.sub(": ", text)
    text = _unspaced(text)
    if "0" in text or "O" in text:
        text = _ZERO.sub(lambda m: "o" if m[0] == "0" else m[0].replace("O", "0"), text)
    text = _HALF_DAY.sub(r"\1\2", text)
    return _CAPITALS.sub(_lowered, text)


def _lowered(match: re.Match[str]) -> str:
    """Lower-case a sentence in capitals, as models are trained on few of them."""
    run = match[0]
    return run.capitalize() if run == run.upper() and run != run.lower() else run


def _plain_digit(match: re.Match[str]) -> str:
    value = unicodedata.decimal(match[0], None)
    return match[0] if value is None else str(value)


def _tag(match: re.Match[str]) -> str:
    return " " if match["block"] else ""


def _joined_lines(text: str) -> str:
    hyphenated = _HYPHENATED.search(text)
    if hyphenated:
        low = text.lower()

        def join(m: re.Match[str]) -> str:
            first, rest = m["first"], m["rest"]
            whole = f"{first}-{rest}".lower()
            kept_so = first.lower() in _COMPOUNDS or (len(text) < 50_000 and whole in low)
            return f"{first}-{rest}" if kept_so else f"{first}{rest}"

        # twice, as a word may extend over three lines
        text = _HYPHENATED.sub(join, _HYPHENATED.sub(join, text))
    return _LINE.sub(" ", text)


def _unspaced(text: str) -> str:
    """Remove the spaces between the letters of "O P E N"."""
    if not _SPACED_WORD.search(text):
        return text
    if "  " not in text:
        return _SPACED_RUN.sub(_closed, text)
    lines = []
    for line in text.split("\n"):
        if "  " in line and _SPACED_WORD.search(line):
            pieces = _WIDE_GAP.split(line)
            line = " ".join(_SPACED.sub(_closed, p) for p in pieces)
        else:
            line = _SPACED_RUN.sub(_closed, line)
        lines.append(line)
    return "\n".join(lines)


def _closed(match: re.Match[str]) -> str:
    word = match[0].replace(" ", "")
    return match[0] if word.upper() in _ALPHABET and len(word) > 2 else word


_ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
