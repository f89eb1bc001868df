"""Recognition of a text's language from its common words and letters.

The result is None rather than wrong: for texts of a few words, names, figures, code and mixed
languages. Texts in a script other than Latin get the script's name.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache

from veridical.text.language_words import ENGLISH, LETTERS, LOANWORDS, PARTICLES, WORDS
from veridical.text.scripts import script_shares

ENGLISH_CODE = "en"
#: Code for an unidentified language in Latin script that is not English.
OTHER_LATIN = "other"

_WORD = re.compile(r"(?<![\w-])[^\W\d_]+(?:'[^\W\d_]+)*(?![\w-])")
#: Code between backticks; signs inside an address, a file name or an identifier.
_QUOTED_CODE = re.compile(r"`[^`\n]{0,200}`")
_CODE = re.compile(r"\w[._/\\@=]\w|://")
_LEAST_WORDS = 3
#: Characters examined at each end of a long text.
_LOOKED_AT = 4000
#: Weight of an English word shared with another language, such as "in" or "die".
_SHARED = 0.4
#: Weight of a word with a letter that English lacks.
_LETTER = 0.9
#: Maximum occurrences of a word that count.
_MOST_REPEATS = 3
#: Minimum common words of a language, in total and per word of the text.
_LEAST_SCORE = 1.3
_LEAST_SHARE = 0.16
#: English needs fewer, as English texts and those without a language are both judged.
_LEAST_ENGLISH = 0.8
_LEAST_ENGLISH_SHARE = 0.1
#: Minimum ratio of the leading side's evidence to the other's.
_LEAD = 2.0
_FIRST = frozenset([
    "der", "die", "das", "den", "dem", "des", "ein", "eine", "de", "het", "een", "il", "lo", "la",
    "gli", "le", "les", "el", "los", "las", "un", "une", "uno", "una", "os", "det", "en", "et",
])  # fmt: skip
_ARTICLES = frozenset({"der", "den", "das", "des"})
_BEFORE_ARTICLES = frozenset({"van", "von"})
_APOSTROPHE = str.maketrans("’", "'")


def _languages_by_word() -> dict[str, tuple[str, ...]]:
    found: dict[str, list[str]] = {}
    for language, words in WORDS.items():
        for word in dict.fromkeys(words.split()):
            found.setdefault(word, []).append(language)
    return {word: tuple(languages) for word, languages in found.items()}


_BY_WORD = _languages_by_word()
_ENGLISH = {w: _SHARED if w in _BY_WORD else 1.0 for w in ENGLISH.split()}
_LOANWORDS = frozenset(LOANWORDS.split())
_PARTICLES = frozenset(PARTICLES.split())
_BY_LETTER = {
    letter: tuple(language for language, letters in LETTERS.items() if letter in letters)
    for letter in sorted(set("".join(LETTERS.values())))
}


@lru_cache(maxsize=1 << 12)
def language_of(text: str) -> str | None:
    """Return the language of ``text``, or None if it is uncertain.

    Returns:
        An ISO 639-1 code of a language in Latin script; :data:`OTHER_LATIN`; or the name of the
        most frequent Unicode script (``Han``, ``Cyrillic``).

    >>> language_of("Die Brücke wurde 1932 gebaut."), language_of("The bridge opened in 1932.")
    ('de', 'en')
    >>> language_of("Anna Keller, 42"), language_of("Мост был построен.")
    (None, 'Cyrillic')
    """
    if len(text) > 2 * _LOOKED_AT:
        text = f"{text[:_LOOKED_AT]} {text[-_LOOKED_AT:]}"
    script = _other_script(text)
    if script is not None:
        return script
    pieces = _QUOTED_CODE.sub(" . ", text).translate(_APOSTROPHE).split()
    words = _WORD.findall(" ".join("." if _CODE.search(p) else p for p in pieces))
    if len(words) < _LEAST_WORDS:
        return None
    english, others, unnamed = _evidence(words)
    language, score = max(others.items(), key=lambda item: item[1], default=(OTHER_LATIN, 0.0))
    if unnamed > score:
        language, score = OTHER_LATIN, unnamed
    if _enough(score, len(words), _LEAST_SCORE, _LEAST_SHARE) and score >= _LEAD * english:
        return language
    enough = _enough(english, len(words), _LEAST_ENGLISH, _LEAST_ENGLISH_SHARE)
    return ENGLISH_CODE if enough and english >= score else None


def known_language(texts: Sequence[str]) -> str | None:
    """Return the language of the first text with one, else that of all texts together."""
    for text in texts:
        language = language_of(text)
        if language is not None:
            return language
    return language_of(" ".join(texts)) if len(texts) > 1 else None


def _other_script(text: str) -> str | None:
    shares = script_shares(text)
    if not shares or shares.get("Latin", 0.0) >= 0.5:
        return None
    return max(shares, key=shares.__getitem__)


def _enough(score: float, words: int, least: float, share: float) -> bool:
    return score >= least and score >= share * words


def _evidence(words: Sequence[str]) -> tuple[float, dict[str, float], float]:
    """Return the evidence for English, for each other language, and for an unidentified one."""
    english = 0.0
    others: dict[str, float] = {}
    unnamed = 0.0
    seen: Counter[str] = Counter()
    for i, word in enumerate(words):
        lower = word.lower()
        seen[lower] += 1
        if seen[lower] > _MOST_REPEATS:
            continue
        capital = word != lower
        if capital and (i or word.isupper()):  # a name, a German noun, a title
            english += 0.5 * _ENGLISH.get(lower, 0.0)
            continue
        english += _ENGLISH.get(lower, 0.0)
        if lower in _PARTICLES and _beside_name(words, i):
            continue
        shared = lower in _ENGLISH or len(lower) == 1 or _begins_name(words, i)
        weight = _SHARED if shared else 1.0
        languages: Sequence[str] = _BY_WORD.get(lower, ())
        if not languages and not lower.isascii() and lower not in _LOANWORDS:
            letters = [_BY_LETTER[c] for c in lower if c in _BY_LETTER]
            languages = [x for x in letters[0] if all(x in y for y in letters)] if letters else ()
            weight = _LETTER
            if seen[lower] > 1:
                continue
            unnamed += weight * (bool(letters) and not languages)
        unnamed += weight * bool(languages) / 2
        for language in languages:
            others[language] = others.get(language, 0.0) + weight
    return english, others, unnamed


def _begins_name(words: Sequence[str], i: int) -> bool:
    """Return True if the text may begin with a name of several words ("Dan Frost")."""
    capital = i == 0 and words[0][0].isupper()
    return capital and words[0].lower() not in _FIRST and any(w[0].isupper() for w in words[1:2])


def _beside_name(words: Sequence[str], i: int) -> bool:
    """Return True if a word next to ``words[i]`` is a name: capitalised and not the first.

    After a German article any noun may follow, so it does not count.
    """
    if i == 0:
        return False
    article = words[i].lower() in _ARTICLES
    after = not article and any(w[0].isupper() for w in words[i + 1 : i + 2])
    before = i > 1 and (words[i - 1][0].isupper() or words[i - 1].lower() in _BEFORE_ARTICLES)
    return after or before
