"""Words for numbers, scales, months and signs, in lower case."""

from __future__ import annotations

from fractions import Fraction


def _counted(words: str, start: int, step: int = 1) -> dict[str, int]:
    return {w: step * i for i, w in enumerate(words.split(), start)}


SMALL = _counted(
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen "
    "sixteen seventeen eighteen nineteen",
    start=0,
)
TENS = _counted("twenty thirty forty fifty sixty seventy eighty ninety", start=2, step=10)
#: Words that multiply the number before them, in several languages.
SCALES: dict[str, int] = {
    word: 10**power
    for power, words in {
        2: "hundred",
        3: "thousand thousands tausend mille mil mila duizend",
        6: "million millions mn mio millionen millones milhões milioni miljoen",
        9: "billion billions bn milliarde milliarden mrd milliard milliards miljard miliardi",
        12: "trillion trillions tn",
        5: "lakh lakhs lac",
        7: "crore crores",
    }.items()
    for word in words.split()
}
#: Attached to figures: "12k", "$5m". A small "m" without a currency is a metre.
SHORT_SCALES = {"k": 10**3, "m": 10**6, "b": 10**9, "t": 10**12}
#: East Asian myriads, attached to figures.
MYRIADS = {
    "千": 10**3,
    "万": 10**4,
    "萬": 10**4,
    "만": 10**4,
    "億": 10**8,
    "亿": 10**8,
    "억": 10**8,
}
ORDINALS = {
    **_counted(
        "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth "
        "thirteenth fourteenth fifteenth sixteenth seventeenth eighteenth nineteenth",
        start=1,
    ),
    **_counted(
        "twentieth thirtieth fortieth fiftieth sixtieth seventieth eightieth ninetieth", 2, 10
    ),
    "hundredth": 100,
}
#: Denominators: "two thirds", "a quarter".
PARTS: dict[str, Fraction] = {
    **{name: Fraction(1, n) for name, n in ORDINALS.items() if n > 2},
    **{f"{name}s": Fraction(1, n) for name, n in ORDINALS.items() if n > 2},
    "half": Fraction(1, 2),
    "halves": Fraction(1, 2),
    "quarter": Fraction(1, 4),
    "quarters": Fraction(1, 4),
}
TIMES = {"once": 1, "twice": 2, "thrice": 3}
CLOCK = {"noon": 720, "midday": 720, "midnight": 0}
VULGAR = {
    "½": (1, 2), "¼": (1, 4), "¾": (3, 4), "⅓": (1, 3), "⅔": (2, 3), "⅕": (1, 5), "⅖": (2, 5),
    "⅗": (3, 5), "⅘": (4, 5), "⅙": (1, 6), "⅚": (5, 6), "⅛": (1, 8), "⅜": (3, 8), "⅝": (5, 8),
    "⅞": (7, 8), "⅐": (1, 7), "⅑": (1, 9), "⅒": (1, 10),
}  # fmt: skip
SPELT = (
    frozenset(SMALL)
    | frozenset(TENS)
    | frozenset(ORDINALS)
    | frozenset(TIMES)
    | frozenset(CLOCK)
    | frozenset(["half", "quarter", "dozen", "dozens", "hundred", "thousand", "million", "billion"])
)

_MONTHS = (
    "january jan januar janvier enero gennaio januari janeiro jänner",
    "february feb februar février febrero febbraio februari fevereiro",
    "march mar märz mars marzo maart março",
    "april apr avril abril aprile",
    "may mai mayo maggio mei maio",
    "june jun juni juin junio giugno junho",
    "july jul juli juillet julio luglio julho",
    "august aug août agosto augustus",
    "september sep sept septembre septiembre settembre setembro",
    "october oct oktober okt octobre octubre ottobre outubro",
    "november nov novembre noviembre novembro",
    "december dec dezember dez décembre diciembre dicembre dezembro",
)
MONTHS = {name: i for i, names in enumerate(_MONTHS, start=1) for name in names.split()}
