"""Question analysis: the requested kind of value and the content words."""

from __future__ import annotations

import re
from typing import Literal, NamedTuple

from veridical.text.fact_words import CURRENCIES, FUNCTION_WORDS, MONTHS, NUMBER_WORDS
from veridical.text.sentences import split_sentences
from veridical.text.statement_words import (
    AUXILIARIES,
    DAYS,
    DETERMINERS,
    NEGATED,
    PREPOSITIONS,
    PRONOUNS,
    SEASONS,
)


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


Kind = Literal["yes_no", "time", "amount", "person", "place", "reason", "manner", "other"]

_MAX_QUESTION_CHARACTERS = 400  # from the end of a longer one
_MAX_SENTENCE_CHARACTERS = 2_000  # searched for values
_STEM_LETTERS = 5  # compared of a word
_ASKING: tuple[tuple[Kind, re.Pattern[str]], ...] = (
    (
        "time",
        re.compile(
            r"\b(?:when|how (?:long|often|soon|early|late|old)|(?:what|which) (?:time|day|date|"
            r"year|"
            r"month|week|hour|weekday)\w*|since when|until when|by when|wann|wie lange|quand|"
            r"combien de temps|cuándo|cuánto tiempo|quando|wanneer|hoe lang|kiedy)\b"
        ),
    ),
    (
        "amount",
        re.compile(
            r"\b(?:how (?:much|many|far|tall|high|big|large|deep|heavy|wide|fast|expensive)|"
            r"(?:what|which) (?:\w+ ){0,3}(?:price|cost|fee|number|amount|percentage|share|rate|"
            r"sum|size|weight|length|height|distance|temperature|limit|dose|population|charge)s?|"
            r"wie ?viele?|wie (?:hoch|groß|weit|teuer)|combien|cuánt[oa]s?|quant[oaie]s?|hoeveel|"
            r"ile)\b"
        ),
    ),
    ("person", re.compile(r"\b(?:who|whom|whose|wer|wem|wen|qui|quién|chi|quem|wie is|kto)\b")),
    (
        "place",
        re.compile(
            r"\b(?:where|(?:what|which) (?:\w+ ){0,2}(?:city|town|country|place|street|address|"
            r"room|state|region|floor)|wo|wohin|où|dónde|dove|onde|waar|gdzie)\b"
        ),
    ),
    ("reason", re.compile(r"\b(?:why|how come|warum|weshalb|pourquoi|por qué|perché|waarom)\b")),
    ("manner", re.compile(r"\b(?:how|wie|comment|cómo|come|como|hoe|jak)\b")),
    ("other", re.compile(r"\b(?:what|which|was|welche\w*|que|quel\w*|qué|cuál|che|quale|qual)\b")),
)
_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)?")
_CLOCK = re.compile(
    r"\b\d{1,2}(?::\d\d| ?[ap]\.?m\b|h\d\d)|\b(?:noon|midnight|1[5-9]\d\d|20\d\d)\b"
)
_DIGIT = re.compile(r"\d")
_REASON = re.compile(
    r"\b(?:because|since|due to|so that|in order to|as a result|therefore|reason|owing to|thanks to"
    r"|weil|denn|parce|porque|perché|omdat)\b"
)
_MANNER = re.compile(r"\b(?:by|via|through|using|with|under|on|first|then|must|can|need)\b")
_TIMES = (
    frozenset(MONTHS)
    | DAYS
    | SEASONS
    | _set(
        "day days week weeks month months year years hour hours minute minutes daily weekly "
        "monthly yearly annually today tomorrow yesterday evening morning night afternoon "
        "weekend weekends weekdays century"
    )
)
_EMPTY = (
    FUNCTION_WORDS
    | AUXILIARIES
    | DETERMINERS
    | PREPOSITIONS
    | PRONOUNS
    | _set(
        "when where who what which how why long much many please tell me i'm i'd it's what's "
        "there does did not no yes get got one ones them us mine ours still also ever if "
        "happens happen about was wie ist der die das ein eine und oder kann ich quel est le "
        "la les un une et ou je puis que el los las una es y o puedo il lo gli e ho posso os "
        "as uma é de het een en is"
    )
)


class QuestionContent(NamedTuple):
    """The content of a question.

    Attributes:
        question: the interrogative sentence.
        kind: the kind of its answer.
        stems: prefixes of its content words, in order.
    """

    question: str
    kind: Kind
    stems: tuple[str, ...]


def asked(question: str) -> QuestionContent | None:
    """Analyse a question; return None if it has no content words.

    >>> found = asked("When does the shop open?")
    >>> found.kind, found.stems
    ('time', ('shop', 'open'))
    """
    text = " ".join(question[-4 * _MAX_QUESTION_CHARACTERS :].split())
    sentences = [s.text for s in split_sentences(text)]
    asking = [s for s in sentences if s.rstrip(" \"'”’)").endswith(("?", "？"))] or sentences[-1:]
    if not asking:
        return None
    said = asking[-1][-_MAX_QUESTION_CHARACTERS:]
    stems = content_stems(said)
    if not stems:
        stems = content_stems(text[-_MAX_QUESTION_CHARACTERS:])
    return QuestionContent(said, _kind(said.lower()), stems) if stems else None


def content_stems(text: str) -> tuple[str, ...]:
    """Return prefixes of the distinct content words of a text, in order."""
    words = (w.lower() for w in _WORD.findall(text))
    return tuple(dict.fromkeys(w[:_STEM_LETTERS] for w in words if w not in _EMPTY and len(w) > 1))


def holds_value(kind: Kind, sentence: str) -> bool:
    """Return True if a sentence has a value of the requested kind.

    >>> holds_value("time", "It opens at 9 am."), holds_value("time", "It is blue.")
    (True, False)
    """
    sentence = sentence[:_MAX_SENTENCE_CHARACTERS]
    low = sentence.lower()
    words = set(_WORD.findall(low))
    if kind == "time":
        return bool(_CLOCK.search(low) or words & _TIMES)
    if kind == "amount":
        return bool(
            _DIGIT.search(low) or words & (NUMBER_WORDS.keys() | CURRENCIES.keys() | {"free", "no"})
        )
    if kind in ("person", "place"):
        names = [w for w in _WORD.findall(sentence)[1:] if w[0].isupper() and len(w) > 1]
        roles = bool(words & {"in", "at", "on", "next", "under", "near", "behind"})
        return bool(names) or (kind == "place" and roles)
    if kind == "reason":
        return bool(_REASON.search(low))
    if kind == "manner":
        return bool(_MANNER.search(low))
    return True


def _kind(low: str) -> Kind:
    first = _WORD.search(low)
    word = first.group() if first else ""
    if NEGATED.get(word, word) in AUXILIARIES:
        return "yes_no"
    found = [(m.start(), i, kind) for i, (kind, p) in enumerate(_ASKING) if (m := p.search(low))]
    if found:
        return min(found)[2]
    words = _WORD.findall(low)
    return "yes_no" if AUXILIARIES & set(words) else "other"
