"""Tokenizer in the manner of spaCy's English one, without a model.

Scripts without spaces are split by character.

A text is split at white space. The tokens of a piece depend on nothing outside it, so pieces are
cached (in plain dictionaries, which are faster than ``lru_cache``). Tokens of a piece join back
into it exactly, which gives exact offsets.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable
from itertools import accumulate

from veridical.text.fact_words import AUXILIARIES, FUNCTION_WORDS
from veridical.text.memo import kept
from veridical.text.spans import Span

_FUNCTION_WORDS = (FUNCTION_WORDS | AUXILIARIES) - {"born", "despite", "currently"}
#: Maximum characters of a cached piece; longer ones are rare.
_MEMO_LENGTH = 40
_MEMO_SIZE = 1 << 16  # pieces per generation
#: Maximum look-back of suffix patterns, which keeps stripping linear in the piece.
_TAIL = 16
#: Minimum characters of a core that is not an abbreviation, and an address only by its scheme.
#: Comparing it with their forms after each stripped character would not be linear.
_LONG = 500

_LETTER = r"[^\W\d_]"
_LOWER = r"a-zß-öø-ÿа-яёα-ω"
_UPPER = r"A-ZÀ-ÖØ-ÞА-ЯЁΑ-Ω"
_QUOTES = "'\"”“`‘´’‚„»«「」『』（）〔〕【】《》〈〉⟦⟧"
_PUNCTUATION = "…,:;!?¿؟¡()\\[\\]{}<>_#*&。？！，、；：～·।॥،۔؛٪։፡።፣፤፥፧" + _QUOTES
_CURRENCY = "$£€¥฿₽﷼₠-₿"
_SYMBOLS = "¦©®°℀-⅏←-⯿\U0001f000-\U0001faff"

_PREFIX = re.compile(rf"\.\.+|''|(?:US|[CA])\$|\+(?!\d)|[§%=—–{_PUNCTUATION}{_CURRENCY}{_SYMBOLS}]")
_UNIT = (
    "[kcdm]?m[²³]?|ha|[µn]m|yd|in|ft|k?g|[mµ]g|t|lb|oz|m/s|km/?h|mph|h?Pa|mbar|[mM]b|MB|"
    "[kK][bB]|[gG][bB]|[tT][bB]|[TGMK%]"
)
_SUFFIX = re.compile(
    rf"(?:['’][sS]|\.\.+|''|[—–{_PUNCTUATION}{_SYMBOLS}]"
    rf"|(?<=\d)(?:\+|(?:US|[CA])?[{_CURRENCY}]|{_UNIT})"
    rf"|(?<=°[FfCcKk])\.|(?<=[\d%²\-+§{_PUNCTUATION}])\."
    rf"|(?<=[^\W\d_{_UPPER}])\.|(?<=[{_UPPER}][{_UPPER}])\.)\Z"
)
_INFIX = re.compile(
    rf"\.\.+|[…{_SYMBOLS}]|(?<=\d)[+\-*^](?=[\d-])"
    rf"|(?<=[{_LOWER}{_QUOTES}])\.(?=[{_UPPER}{_QUOTES}])"
    rf"|(?<={_LETTER}),(?={_LETTER})"
    rf"|(?<=[^\W_])(?:---|--|——|[-–—~:<>=/])(?={_LETTER})"
)
_WEB = re.compile(r"(?:https?://|ftp://|www\.)\S")
_ADDRESS = re.compile(
    rf"{_WEB.pattern}+|[\w.+-]+@[\w-]+(?:\.[\w-]+)+"
    r"|(?:[\w-]+\.)+(?:com|org|net|edu|gov|mil|int|info|io|ai|dev|co|uk|de|fr|eu|ca|au|jp|cn|in)"
    r"(?:/\S*)?"
)

_KEPT = frozenset(
    re.findall(
        r"\S+",
        """
    Adm. Ala. Apr. Ariz. Ark. Aug. Bros. Calif. Co. Colo. Conn. Corp. D.C. Dec. Del. Dr. E.g. Feb.
    Fla. Ga. Gen. Gov. I.e. Ill. Inc. Ind. Jan. Jr. Jul. Jun. Kan. Ky. La. Ltd. Mar. Mass. Md.
    Messrs. Mich. Minn. Miss. Mo. Mont. Mr. Mrs. Ms. Mt. Neb. Nev. Nov. Oct. Okla. Ore. Pa. Ph.D.
    Prof. Rep. Rev. Sen. Sep. Sept. St. Tenn. Va. Wash. Wis. a.m. p.m. co. e.g. i.e. v.s. vs. and/or
    w/o C++
    """,
    )
)
_INITIALS = re.compile(r"[a-zäöü]\.|(?:[A-Za-z]\.){2,}")
_CLITIC = re.compile(
    r"((?:ai|are|ca|could|dare|did|does|do|had|has|have|is|may|might|must|need|ought|sha|should"
    r"|was|were|wo|would)(?=n['’]?t))(n['’]?t)(['’]?ve)?"
    r"|((?:i|you|he|she|it|we|they|this|that|these|those|there|who|what|when|where|why|how"
    r"|could|might|must|should|would))(['’](?:d|ll|re|ve|m|s))(['’]ve)?"
    r"|(can)(not)()|(gon)(na)()|(got)(ta)()",
    re.IGNORECASE,
)
#: Most pieces of most texts: a word or figure that no rule splits, with marks before and after.
_PLAIN = re.compile(
    r"([(\"]*)([A-Za-z]+[b-su-z]|\d+(?:–\d+)?)((?<=[a-z])['’]s)?([)\",;:!?]*)"
    r"((?<=[a-z0-9)\",;:!?])\.)?"
)
_CLOCK = re.compile(r"(1[0-2]|[1-9])([ap](?:m|\.m\.))")

#: The pieces of ``str.split``.
_PIECE = re.compile(r"\S+")

#: Scripts written without spaces: a character with its combining marks is a token.
_SPACELESS = re.compile(
    "[\u2e80-\u2fdf\u3005-\u3007\u3021-\u3029\u3031-\u3035\u3038-\u303b\u3041-\u3096\u309d-\u309f"
    "\u30a1-\u30fa\u30fc-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uff66-\uff9d"
    "\U0001b000-\U0001b16f\U00020000-\U000323af"
    "\u0e01-\u0e30\u0e32\u0e33\u0e40-\u0e46\u0e81-\u0eb0\u0eb2\u0eb3\u0ebd-\u0ec6\u0edc-\u0edf"
    "\u1000-\u102a\u103f\u1050-\u1055\u105a-\u105d\u1061\u1065\u1066\u106e-\u1070\u1075-\u1081"
    "\u1780-\u17b3\u17d7]"
    "[\u3099\u309a\u0e31\u0e34-\u0e3a\u0e47-\u0e4e\u0eb1\u0eb4-\u0ebc\u0ec8-\u0ece\u102b-\u103e"
    "\u1056-\u1059\u105e-\u1060\u1062-\u1064\u1067-\u106d\u1071-\u1074\u1082-\u108d\u17b4-\u17d3"
    "\u17dd\ufe00-\ufe0f\U000e0100-\U000e01ef]*"
)


def words(text: str) -> list[str]:
    """Return the tokens of ``text`` in order, cased, with punctuation, without white space.

    Never raises.

    >>> words("He can't pay Smith's $5m (1820–76).")
    ['He', 'ca', "n't", 'pay', 'Smith', "'s", '$', '5', 'm', '(', '1820–76', ')', '.']
    """
    tokens: list[str] = []
    for piece in map(_tokens, text.split()):
        tokens += piece  # faster than chain, as most pieces are one token
    return tokens


@kept
def words_of(text: str) -> tuple[str, ...]:
    """Return :func:`words` of a text, cached."""
    return tuple(words(text))


def lower_words(text: str) -> list[str]:
    """Return :func:`words` in lower case."""
    tokens: list[str] = []
    for piece in map(_lower_tokens, text.split()):
        tokens += piece
    return tokens


def word_spans(text: str) -> list[Span]:
    """Return :func:`words` with code-point offsets: ``text[start:end]`` is each token."""
    spans = []
    at = 0
    for piece in text.split():
        at = text.index(piece, at)
        for token in _tokens(piece):
            spans.append(Span(at, at + len(token), token))
            at += len(token)
    return spans


class WordPlaces:
    """Places of single tokens of :func:`words`, computed on demand.

    Only the pieces with the requested tokens are parsed.
    """

    def __init__(self, text: str) -> None:
        self._pieces = text.split()
        #: Tokens before each piece; the lower-case ones are as many, and already cached.
        self._before = [0, *accumulate(map(len, map(_lower_tokens, self._pieces)))]
        #: Characters before each piece, without white space if each gap is one blank.
        self._at = [0, *accumulate(map(len, self._pieces))]
        self._gap = 1
        if len(text) != self._at[-1] + len(self._pieces) - 1:
            self._at = [m.start() for m in _PIECE.finditer(text)]
            self._gap = 0

    def __getitem__(self, token: int) -> tuple[int, int]:
        """Return start and end of a token by its index, from 0."""
        piece = bisect_right(self._before, token) - 1
        tokens = _tokens(self._pieces[piece])
        place = token - self._before[piece]
        start = self._at[piece] + self._gap * piece + sum(map(len, tokens[:place]))
        return start, start + len(tokens[place])


def lettered_spans(text: str) -> list[Span]:
    """Return the spans of :func:`word_spans` with a letter or a figure."""
    return [span for span in word_spans(text) if any(map(str.isalnum, span.text))]


def content_spans(text: str) -> list[Span]:
    """Return the spans of :func:`lettered_spans` that are not English function words."""
    return [span for span in lettered_spans(text) if span.text.lower() not in _FUNCTION_WORDS]


def _split(piece: str) -> tuple[str, ...]:
    """Return the tokens of a piece without white space; they join back into it."""
    plain = _PLAIN.fullmatch(piece)
    if plain:
        before, word, clitic, after, stop = plain.groups("")
        if not (before or clitic or after or stop):
            return (word,)
        if not stop or after or clitic or word + stop not in _KEPT:
            return tuple(filter(None, (*before, word, clitic, *after, stop)))
    if piece.isascii() or not _SPACELESS.search(piece):
        return tuple(_spaced(piece))
    tokens: list[str] = []
    at = 0
    for character in _SPACELESS.finditer(piece):
        tokens += _spaced(piece[at : character.start()])
        tokens.append(character.group())
        at = character.end()
    tokens += _spaced(piece[at:])
    return tuple(tokens)


def _spaced(piece: str) -> list[str]:
    """Strip prefixes and suffixes until the core is a known form; then split it at infixes."""
    start, end = 0, len(piece)
    before: list[str] = []
    after: list[str] = []
    while start < end:
        known = _known(piece, start, end)
        if known:
            break
        prefix = _PREFIX.match(piece, start, end)
        if prefix:
            before.append(prefix.group())
            start = prefix.end()
            continue
        suffix = _SUFFIX.search(piece[max(start, end - _TAIL) : end])
        if not suffix:
            known = _cut(piece[start:end])
            break
        after.append(suffix.group())
        end -= len(suffix.group())
    else:
        known = []
    return before + known + after[::-1]


def _known(piece: str, start: int, end: int) -> list[str]:
    """Return the tokens of a core with a fixed form; empty for other cores."""
    if end - start > _LONG:
        # with letters at both ends nothing is stripped: the whole is copied once
        ends = piece[start : start + _TAIL] + piece[end - _TAIL : end]
        address = _WEB.match(piece, start, end) and "." in piece[start : start + _LONG]
        whole = address or (ends.isalpha() and piece[start:end].isalpha())
        return [piece[start:end]] if whole else []
    core = piece[start:end] if start or end < len(piece) else piece
    if core.isalpha() and (len(core) > 9 or core[-1:] not in "TtAa"):
        return [core]
    if core in _KEPT:
        return [core]
    if "." in core and (_INITIALS.fullmatch(core) or _ADDRESS.fullmatch(core)):
        return [core]
    parts = _CLITIC.fullmatch(core) or _CLOCK.fullmatch(core)
    return [g for g in parts.groups() if g] if parts else []


def _cut(core: str) -> list[str]:
    tokens = []
    at = 0
    for infix in _INFIX.finditer(core):
        tokens += [core[at : infix.start()], infix.group()]
        at = infix.end()
    tokens.append(core[at:])
    return [t for t in tokens if t]


class _Memo(dict[str, tuple[str, ...]]):
    """Cache of split pieces in two generations.

    The previous generation is kept, so that words in steady use are never dropped.
    """

    def __init__(self, split: Callable[[str], tuple[str, ...]]) -> None:
        self._split = split
        self._old: dict[str, tuple[str, ...]] = {}

    def __missing__(self, piece: str) -> tuple[str, ...]:
        tokens = self._old.get(piece)
        if tokens is None:
            tokens = self._split(piece)
        if len(piece) <= _MEMO_LENGTH:
            if len(self) >= _MEMO_SIZE:
                self._old = dict(self)
                self.clear()
            self[piece] = tokens
        return tokens


_tokens = _Memo(_split).__getitem__
_lower_tokens = _Memo(lambda piece: tuple([t.lower() for t in _split(piece)])).__getitem__
