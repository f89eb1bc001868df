"""Statements that contradict a sentence in its own words.

The rule is for English and precise: nearly all content words must be shared, and exactly one
negation or antonym must differ. Conditions, exceptions, quantities of unclear scope and several
such words are left to a model.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from veridical.text.fact_words import ARTICLES
from veridical.text.memo import kept


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


_TOKEN = re.compile(r"\d+(?:[.,:]\d+)*|[^\W\d_]+(?:['’-][^\W\d_]+)*|[,;:.()!?%€$£]")
#: An answer before a statement, which does not negate it: "No, it is free from milk."
_ANSWER = re.compile(r"^\W{0,3}(?:no|yes)[,;.!] ")
_LONGEST = 1_000  # characters
_PRONOUN = re.compile(r"\W{0,3}(?:it|he|she|they|this|these)(?= )", re.I)
_SUBJECT = re.compile(
    r"\W{0,3}(?:[Tt]he |[Aa]n? )?([A-Z][\w'’-]{0,30}(?: [A-Z][\w'’-]{0,30}){0,3})(?= [a-z])"
)
_PARTS = re.compile(r"[:;] ")
_LISTED = 2  # words
_MAX_SKIPPED_WORDS = 3  # content words of the sentence between shared ones

#: Stems of words with one meaning, and after the bar those with the opposite one.
_OPPOSITES = """
    open|closed shut
    opens open|closes close
    allow allowed allows permit permitted permits|forbidden forbids forbid prohibited prohibits
    allowed permitted|banned disallowed forbidden prohibited
    include included includes including|exclude excluded excludes excluding
    before|after
    more|less fewer
    above|below
    over|under
    increase increased increases rise rises rose risen grew grow grows grown|decrease decreased
    increase increased rose grew risen grown|fell fall falls fallen declined
    increase increased rose grew risen grown|dropped drops drop shrank reduced
    accept accepted accepts|reject rejected rejects refuse refused refuses decline declined declines
    approve approved approves|reject rejected rejects
    enable enabled enables|disable disabled disables
    valid|invalid
    possible|impossible
    legal|illegal
    safe|unsafe dangerous
    available|unavailable
    refundable|nonrefundable non-refundable
    required requires require mandatory compulsory obligatory needed necessary|optional voluntary
    required necessary needed|unnecessary
    minimum|maximum
    always|never
    inside|outside
    indoors|outdoors
    win won wins|lose lost loses
    pass passed passes|fail failed fails
    true|false
    same|different
    earlier|later
    higher|lower
    larger bigger|smaller
    longer|shorter
    faster quicker|slower
    cheaper|dearer pricier
    stronger|weaker
    warmer hotter|colder cooler
    temporary temporarily|permanent permanently
    paid|unpaid
    limited|unlimited
    known|unknown
    likely|unlikely
    able|unable
    with|without
    agree agreed agrees|disagree disagreed disagrees
    appear appeared appears|disappear disappeared disappears
    connected|disconnected
    complete completed|incomplete
    correct|incorrect
    covered|uncovered
    success successful successfully|unsuccessful unsuccessfully
    start starts started begin begins began|end ends ended finish finished finishes stop stopped
    add added adds|remove removed removes
    locked|unlocked
"""
_SYNONYMS = """
    allow allowed allows permit permitted permits
    forbid forbidden forbids prohibit prohibited prohibits ban banned disallowed
    require required requires need needed needs necessary mandatory compulsory obligatory
    begin begins began start starts started
    finish finishes finished end ends ended
"""
_NEGATIONS = _set(
    "not no never none nobody nothing cannot neither nor don't doesn't didn't isn't aren't "
    "wasn't weren't won't wouldn't can't couldn't shouldn't mustn't hasn't haven't hadn't "
    "needn't "
)
#: Words that make the scope of a negation, or the assertion, unclear.
_UNCLEAR = _set(
    "if unless except only provided when until whether either might perhaps possibly maybe "
    "some most many few several all every each both half partly entirely fully always often "
    "usually sometimes rarely hardly seldom but however although though while whereas instead "
    "rather otherwise because like as than yet almost nearly just even "
)
#: Phrases treated as one word, and their replacement.
_PHRASES = (
    (re.compile(r"\b(?:no|not) (?:longer|more) (?=than\b)"), "at-most "),
    (re.compile(r"\b(?:no|not) (?:less|fewer|shorter|earlier) than\b"), "at-least"),
    (re.compile(r"\bno later than\b"), "at-most"),
    (re.compile(r"\bat most\b|\bup to\b|\ba maximum of\b|\bat the most\b"), "at-most"),
    (re.compile(r"\bat least\b|\ba minimum of\b|\bat the least\b"), "at-least"),
    (re.compile(r"\bat-most than\b"), "at-most"),
    (re.compile(r"\bno longer\b|\bnot any ?(?:more|longer)\b"), "not"),
    (re.compile(r"\bcan not\b"), "cannot"),
    (re.compile(r"\bnot only\b|\bnot just\b|\bnot merely\b|\bnot necessarily\b"), "only"),
)
_EMPTY = ARTICLES | _set(
    "is are was were be been being am do does did has have had can could will would may must "
    "shall should ought to of in on at by for from into onto about it its this that these "
    "those they them their there he she his her we our us you your i my me which who whom "
    "whose what and or so such also still then now currently already any anyone one ones "
    "other own too very well please n't get gets got getting make made makes being 's s "
)
_SUFFIX = re.compile(r"(?:ies|ied|es|ed|ing|ly|s|e|d)$")
_CLAUSE_END = frozenset(",;:.()!?")


def _sides() -> dict[str, list[tuple[int, int]]]:
    """Return, for each word, its pairs of opposites and its side in each."""
    found: dict[str, list[tuple[int, int]]] = {}
    rows = [row for row in _OPPOSITES.strip().splitlines() if "|" in row]
    rows.append("at-least|at-most")
    for n, row in enumerate(rows):
        for side, words in enumerate(row.split("|")):
            for word in words.split():
                found.setdefault(word, []).append((n, side))
    return found


_SIDES = _sides()
_SAME = {word: line.split()[0] for line in _SYNONYMS.strip().splitlines() for word in line.split()}


class _Word(NamedTuple):
    text: str
    stem: str


class _Read(NamedTuple):
    """Content words of a text with their places among all words, and the rest."""

    words: tuple[str, ...]
    content: tuple[tuple[int, _Word], ...]


@kept
def _read(text: str) -> _Read:
    low = _ANSWER.sub("", text.lower().replace("’", "'"))
    for pattern, phrase in _PHRASES:
        low = pattern.sub(phrase, low)
    words = tuple(_TOKEN.findall(low))
    content = tuple(
        (i, _Word(word, _stem(word)))
        for i, word in enumerate(words)
        if word[0].isalnum() and word not in _EMPTY and word not in _NEGATIONS
    )
    return _Read(words, content)


def _stem(word: str) -> str:
    word = _SAME.get(word, word)
    if word in _SIDES or not word.isalpha() or len(word) < 4:
        return word
    bare = word.removesuffix("'s")
    once = _SUFFIX.sub("", bare) or bare
    return (_SUFFIX.sub("", once) or once) if len(once) > 4 else once  # "attended" matches "attend"


#: "Sale items may be exchanged but not refunded."
_BUT_NOT = re.compile(
    r"([^.;:\n]{3,200}? (?:may|can|could|will|must|should|is|are|was|were|has|have))"
    r"( been| be)? ([^.,;:\n]{3,60}?),? but not(?: be)? ([^.,;:\n]{3,60})\.?\s*"
)


def opposes(statement: str, sentence: str, before: str = "") -> bool:
    """Return True if ``statement`` negates what ``sentence`` states.

    Args:
        before: text before ``sentence``, which may name its initial pronoun.

    >>> opposes("Dogs are allowed on deck.", "Dogs are not allowed on deck.")
    True
    >>> opposes("Dogs are allowed on deck.", "Cats are not allowed on deck.")
    False
    """
    if (both := _BUT_NOT.fullmatch(sentence[:_LONGEST])) is not None:
        head, be, done, undone = both.groups("")
        return opposes(statement, f"{head}{be} {done}.", before) or opposes(
            statement, f"{head} not{be} {undone}.", before
        )
    whole = _compared(statement, sentence)
    if whole is None and before and (named := _PRONOUN.match(sentence)):
        whole = _compared(_without_subject(statement, before), sentence[named.end() :])
    if whole is not None:
        return whole == 1
    parts = _PARTS.split(statement[:_LONGEST])
    return len(parts) > 1 and any(_compared(part, sentence) == 1 for part in parts)


def _without_subject(statement: str, before: str) -> str:
    """Remove the words at the start of ``statement`` that are a name in ``before``."""
    subject = _SUBJECT.match(statement)
    if subject is None or subject[1].lower() not in before.lower():
        return statement
    return statement[subject.end() :]


def agrees(statement: str, sentence: str) -> bool:
    """Return True if ``statement`` states in the same words what ``sentence`` states.

    >>> agrees("Dogs are allowed.", "Dogs are allowed in May.")
    True
    """
    return _compared(statement, sentence) == 0


def _compared(statement: str, sentence: str) -> int | None:
    """Return 1 for opposite polarity, 0 for equal polarity, None if the words do not decide."""
    if len(statement) > _LONGEST or len(sentence) > _LONGEST:
        return None
    stated, source = _read(statement), _read(sentence)
    if (
        len(stated.content) < 2
        or statement.rstrip().endswith("?")
        or sentence.rstrip().endswith("?")
    ):
        return None
    if not _UNCLEAR.isdisjoint(stated.words):
        return None
    match = _match(stated, source)
    if match is None:
        return None
    places, turned = match
    first, last = min(places), max(places)
    begin = _clause_start(source.words, first)
    stop = _clause_end(source.words, last)
    inside = source.words[begin:stop]
    if not _UNCLEAR.isdisjoint(inside):
        return None
    denied = _denials(inside)
    more = [i for i, _ in source.content if begin <= i < stop and i not in places]
    if len(more) > _MAX_SKIPPED_WORDS or any(i + 1 in places for i in more):
        return None
    if (denied or turned) and not all(_is_listed(source.words, i) for i in more):
        return None  # a negation of a part does not negate the whole
    if turned and list(places) != sorted(places):
        return None  # "A before B" is "B after A"
    denials = _denials(stated.words) + denied
    return (denials + turned) % 2 if max(_denials(stated.words), denied) < 2 else None


def _match(stated: _Read, source: _Read) -> tuple[list[int], int] | None:
    """Locate the statement's content words in the sentence, in its order.

    Returns the places and the number of antonyms, or None if a word is missing.
    """
    by_stem: dict[str, list[int]] = {}
    for i, word in source.content:
        by_stem.setdefault(word.stem, []).append(i)
    places: list[int] = []
    turned = 0
    for _, word in stated.content:
        at = by_stem.get(word.stem)
        if at:
            places.append(at.pop(0) if len(at) > 1 else at[0])
            continue
        opposite = next((i for i, other in source.content if _are_opposite(word, other)), None)
        if opposite is None:
            return None
        if any(said_word.stem == source.words[opposite] for _, said_word in stated.content):
            return None  # both ends are stated
        places.append(opposite)
        turned += 1
    return (places, turned) if turned < 2 else None


def _are_opposite(word: _Word, other: _Word) -> bool:
    mine, theirs = _SIDES.get(word.text, ()), _SIDES.get(other.text, ())
    if any(n == m and side != their for n, side in mine for m, their in theirs):
        return True
    long, short = sorted((word.text, other.text), key=len, reverse=True)
    for prefix in ("un", "in", "im", "ir", "il", "non-", "non", "dis"):
        if long == prefix + short and len(short) > 4 and long not in _NO_OPPOSITES:
            return True
    return False


_NO_OPPOSITES = _set("indeed inform inside income intend intense increase inform instead ")


def _is_listed(words: tuple[str, ...], place: int) -> bool:
    """Return True if "and" or "or" joins a word with others."""
    near = words[max(0, place - _LISTED) : place + _LISTED + 1]
    return "and" in near or "or" in near


def _denials(words: tuple[str, ...]) -> int:
    return sum(1 for word in words if word in _NEGATIONS)


def _clause_start(words: tuple[str, ...], place: int) -> int:
    while place and words[place - 1] not in _CLAUSE_END:
        place -= 1
    return place


def _clause_end(words: tuple[str, ...], place: int) -> int:
    while place < len(words) and words[place] not in _CLAUSE_END:
        place += 1
    return place
