"""Families of hostile texts: each is a function of a size in characters."""

from __future__ import annotations

import random
from collections.abc import Callable
from itertools import cycle, islice

Family = Callable[[int], str]

#: Repeated to the length asked for.
_REPEATED = {
    # one character
    "letter": "a",
    "capital": "A",
    "digit": "7",
    "zero": "0",
    "space": " ",
    "newline": "\n",
    "tab": "\t",
    "carriage return": "\r",
    "line separator": "\u2028",
    "no-break space": "\u00a0",
    "period": ".",
    "comma": ",",
    "colon": ":",
    "semicolon": ";",
    "exclamation": "!",
    "question": "?",
    "hyphen": "-",
    "dash": "—",
    "underscore": "_",
    "quote": '"',
    "apostrophe": "'",
    "opening quote": "“",
    "closing quote": "”",
    "guillemet": "«",
    "backtick": "`",
    "open bracket": "(",
    "close bracket": ")",
    "open square": "[",
    "close square": "]",
    "open brace": "{",
    "less": "<",
    "greater": ">",
    "ampersand": "&",
    "backslash": "\\",
    "slash": "/",
    "dollar": "$",
    "percent": "%",
    "hash": "#",
    "star": "*",
    "bar": "|",
    "equals": "=",
    "at": "@",
    "plus": "+",
    "caret": "^",
    "tilde": "~",
    "emoji": "😀",
    "combining mark": "\u0301",
    "zero-width joiner": "\u200d",
    "variation selector": "\ufe0f",
    "right-to-left mark": "\u200f",
    "replacement": "\ufffd",
    "han": "中",
    "kana": "か",
    "thai": "ก",
    "thai mark": "\u0e34",
    "arabic": "ع",
    "hangul": "한",
    "cyrillic": "ж",
    "arabic digit": "٣",
    "raised digit": "²",
    "fraction": "½",
    "ligature": "ﬁ",
    "longest compatibility form": "ﷺ",
    "han stop": "。",
    "minus": "−",
    # patterns
    "emoji joined": "👩\u200d👩\u200d👧\ufe0f",
    "letters with marks": "a\u0301\u0323",
    "a.": "a.",
    "A.": "A.",
    "a. ": "a. ",
    "A. B. ": "A. B. ",
    "a, ": "a, ",
    "a b": "a ",
    "a-": "A-",
    "a'": "a'",
    "a_": "a_",
    "1,": "1,",
    "1.": "1.",
    "1 ": "1 ",
    "1-": "1-",
    "1/2 ": "1/2 ",
    "1,000 ": "1,000 ",
    "1,000": "000,",
    "thin thousands": "000\u202f",
    "spaced thousands": "000 ",
    "111 ": "111 ",
    "11,": "11,",
    "years": "1990s ",
    "dates": "3 May 1990, ",
    "$1": "$1",
    "-1": "-1",
    "1e": "1e5",
    "1 %": "1 % ",
    "([": "([",
    "()": "()",
    "(a": "(a",
    "(a) ": "(Aaaa a.) ",
    "a)": "a)",
    "{a": '{"a":',
    "[[": "[[1],",
    "json list": '[{"a": 1, "b": "x"}, ',
    "json strings": '"a", ',
    "quoted": '"a" ',
    "opened": '"a ',
    "curly": "“a ",
    "single quotes": "'a ",
    "not ": "not ",
    "n't ": "don't ",
    "and ": "and ",
    "who and": "who was and ",
    "as an ai": "as an ai i ",
    "i do not": "i do not have the a ",
    "there is no": "there is no information ",
    "based on": "based on the provided ",
    "one hundred": "one hundred and ",
    "twenty": "twenty-five thousand ",
    "minus words": "minus ",
    "negative": "negative x ",
    "answer": "the answer ",
    "answer is": "the answer is ",
    "answer colon": "Answer: ",
    "answer number": "Answer: 7\n",
    "answer spaces": "answer   :\n",
    "correct": "Correct, ",
    "score": "Score: 5. ",
    "yes no": "yes or no ",
    "option": "option ",
    "option B": "option B ",
    "not B": "is not (B) ",
    "#### ": "#### ",
    "boxed": "\\boxed{",
    "frac": "\\frac{1}{",
    "frac spaces": "\\frac ",
    "Mr. ": "Mr. ",
    "Mr. Wu": "Mr. Wu ",
    "names": "Ann Lee ",
    "name chain": "Ann de la ",
    "St.": "St. ",
    "U.S.": "U.S. ",
    "hyphens": "well-known-",
    "url": "http://a.b/c?d=e&f ",
    "url chain": "www.a.b.",
    "long url": "http://a.b/",
    "mail": "a.b@c.de ",
    "mail chain": "a@b.c",
    "dots": "a.b.c",
    "Aa.": "Aa.",
    "fence": "```\n",
    "code": "`a` ",
    "table": "| a | b |\n",
    "items": "- a\n",
    "numbered": "1. a\n",
    "numbered line": "1. a 2. b ",
    "blank lines": "a\n\n",
    "lines of spaces": "\n ",
    "spaces and a": "     a",
    "headings": "# a\n",
    "quote lines": "> a\n",
    "lead-in": "a:\n",
    "crlf": "a\r\n",
    "Q:": "Q: a\nA: b\n",
    "brackets numbers": "a [1][2]\n",
    "brackets numbered": "[1]",
    "tags": "<p>a",
    "tags opened": "<a ",
    "tags nested": "<div>",
    "tags closed": "</div>",
    "hidden": "<script>",
    "svg": "<svg></p>",
    "comment": "<!--",
    "declaration": "<![",
    "entity": "&amp;",
    "entity cut": "&#",
    "attribute": "<a b='",
    "meta": "<meta charset",
    "special token": "<|im_end|>",
    "escapes": "\\x41",
    "bytes": "<0x41>",
    "byte-level": "Ġthe",
    "lost": "a\ufffd",
    "base64": "QUJD+/09==",
    "sentences": "He left at 5. ",
    "short sentences": "A b. ",
    "questions": "Was he? ",
    "ellipses": "Well... ",
    "commas": "red, green, ",
    "subject": "Ann was born in Rome, who was ",
    "participles": "born in Rome, ",
    "clauses": "Ann sang and Bob was, which had, ",
    "list of names": "is a singer, actor, ",
    "chinese": "他在1990年出生于北京，后来搬到上海。",
    "chinese unstopped": "他在年出生于北京后来搬到上海",
    "chinese quotes": "“他说，",
    "japanese": "彼は北京で生まれた。",
    "thai prose": "เขาเกิดที่กรุงเทพ ",
    "arabic prose": "ولد في القاهرة. ",
    "rtl mixed": "abc \u200fולד 123 ",
    "hindi": "वह दिल्ली में पैदा हुआ। ",
    "korean": "그는 서울에서 태어났다. ",
    "unstopped": "he went to the market and bought some bread for the long way home ",
    "upper": "HE WENT TO THE MARKET ",
    "csv": "a;b\tc,d\n",
    "python": "def f(x):\n    return x\n",
    "nul-like": "\x1f",
    "paths": "C:\\a\\b ",
    "ratios": "3:4:5 ",
    "versions": "1.2.3.4.",
    "roman": "IV. ",
    "initials": "J. R. R. T. ",
}


def repeated(piece: str) -> Family:
    """Make texts of one piece, again and again."""
    return lambda n: (piece * (n // len(piece) + 1))[:n]


def _nested(n: int) -> str:
    return "([{" * (n // 6) + "}])" * (n // 6)


def _quoted_end(n: int) -> str:
    return "“" * (n // 2) + "a" * (n - n // 2 - 1) + "”"


def _distinct_words(n: int) -> str:
    """Words none of which comes twice."""
    words: list[str] = []
    size = i = 0
    while size < n:
        words.append(f"w{i:x}".translate(_LETTERS))
        size += len(words[-1]) + 1
        i += 1
    return " ".join(words)[:n]


_LETTERS = str.maketrans("0123456789", "ghijklmnop")


def _distinct_names(n: int) -> str:
    return _distinct_words(n).title()


def _distinct_sentences(n: int) -> str:
    words = _distinct_words(n).split()
    return " ".join(w.title() + "." if i % 5 == 4 else w for i, w in enumerate(words))[:n]


def _distinct_numbers(n: int) -> str:
    return " ".join(str(7 * i + 1000) for i in range(n // 5))[:n]


def _negated_numbers(n: int) -> str:
    sentences = (f"The town of Ab{i:x} did not have {i} people. " for i in range(n // 30 + 1))
    return "".join(sentences)[:n]


def _word_then_spaces(n: int) -> str:
    return "a" + " " * (n - 2) + "b"


def _lines_then_word(n: int) -> str:
    return "a" + "\n" * (n - 2) + "b"


def half(left: str, right: str) -> Family:
    """Make texts of one piece in the first half and another in the second."""
    return lambda n: (left * (n // 2 // len(left)) + right * (n // 2 // len(right)))[:n]


def _mixture(seed: int) -> Family:
    """Random pieces of all families, long and short runs by turns."""

    def make(n: int) -> str:
        rng = random.Random(seed)
        pieces = list(_REPEATED.values())
        found: list[str] = []
        size = 0
        while size < n:
            piece = rng.choice(pieces) * rng.choice((1, 1, 2, 3, 50))
            found.append(piece)
            size += len(piece)
        return "".join(found)[:n]

    return make


def _characters(seed: int) -> Family:
    """Random characters of a few, so that every order of them occurs."""

    def make(n: int) -> str:
        rng = random.Random(seed)
        kinds = "".join(dict.fromkeys(islice(cycle("".join(_REPEATED.values())), 3000)))
        few = "".join(rng.sample(kinds, 6))
        return "".join(rng.choices(few, k=n))

    return make


FAMILIES: dict[str, Family] = {
    **{name: repeated(piece) for name, piece in _REPEATED.items()},
    "nested": _nested,
    "quotes at last closed": _quoted_end,
    "distinct words": _distinct_words,
    "distinct names": _distinct_names,
    "distinct sentences": _distinct_sentences,
    "distinct numbers": _distinct_numbers,
    "negated numbers": _negated_numbers,
    "word, spaces, word": _word_then_spaces,
    "word, newlines, word": _lines_then_word,
    "opened, then closed": half("(", ")"),
    "letters, then digits": half("a", "1"),
    "spaces, then stops": half(" ", "."),
    "stops, then spaces": half(".", " "),
    "digits, then spaces": half("1", " "),
    "fences, then words": half("`", "a "),
    **{f"mixture {seed}": _mixture(seed) for seed in range(6)},
    **{f"characters {seed}": _characters(seed) for seed in range(12)},
}


def _filled(head: str, piece: str, tail: str = "") -> Family:
    return lambda n: (head + piece * (n // len(piece) + 1))[: n - len(tail)] + tail


#: Structured texts, and figures and frames without end.
STRUCTURES: dict[str, Family] = {
    "json open": repeated("["),
    "json objects": repeated('{"a":'),
    "json leaves": lambda n: "[" + "1," * (n // 2 - 1) + "1]",
    "json rows": lambda n: "[" + ",".join(['{"a":1,"b":"x y"}'] * (n // 18)) + "]",
    "table rows": _filled("| a | b |\n|---|---|\n", "| 1 | 2 |\n"),
    "html tables": repeated("<table><tr><td>"),
    "xml nested": half("<a>", "</a>"),
    "xml rows": lambda n: "<r>" + "<a>1</a>" * (n // 8) + "</r>",
    "yaml list": repeated("- a: 1\n  b: 2\n"),
    "digits": _filled("The total is ", "1"),
    "thousands": _filled("The total is 1", ",000"),
    "product": _filled("The total is 9", " * 99"),
    "exponent": _filled("The total is 1e", "9"),
    "dates": repeated("2020-01-02 "),
    "frames": repeated("sorry, "),
    "refusals": repeated("I cannot say more than that "),
    "zero width": repeated("a\u200b"),
    "links": repeated("[a]("),
}
