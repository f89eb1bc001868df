"""Conversion of a short answer and its question to one statement.

An NLI model can judge the statement. The rules are for English and documented in
:mod:`veridical.text.statement_rules`; if none applies, question and answer are joined.
"""

from __future__ import annotations

import re
from typing import Literal, NamedTuple

from veridical.text.sentences import split_sentences
from veridical.text.statement_clauses import Template
from veridical.text.statement_rules import ANSWER, AskedQuestion, ShortReply
from veridical.text.statement_words import (
    AUXILIARIES,
    BASES,
    CLAUSE_OPENERS,
    CLEAR,
    DETERMINERS,
    MODALS,
    NEGATED,
    NO,
    NUMBERS,
    PREPOSITIONS,
    PRONOUNS,
    RELATIVES,
    SUBJECT_PRONOUNS,
    YES,
    is_adverb,
    is_clearly_finite,
    is_finite,
)

LONGEST = 20
"""Words: an answer of more is judged as it is."""
SIMPLE = 8
"""Words: a longer question is joined with its answer for an NLI model."""
_FEW = 4  # words
_MAX_JOINED_WORDS = 8  # a longer answer without a rule is probably a sentence
_MAX_QUESTION_WORDS = 80  # a longer one is a text with a question in it
_FOLLOWS = re.compile(r"^(\w+)\b[\s,.;:!–—-]*")  # "Yes, ..."
_PAUSES = (",", ".", ";", ":", "!", "–", "—")
_JOINS = re.compile(
    r"(?:(?P<but>but|and|so|however,?|although|though|yet|only)|because|since|as|if|unless|when|"
    r"provided|while) ",
    re.IGNORECASE,
)
_MAX_VERDICT_QUESTION_WORDS = 14  # of a question converted to a verdict
_MAX_REASON_WORDS = 40  # of a sentence judged with the verdict
_MAX_SKIPPED_ADVERBS = 12  # before a verb
#: "Unfortunately not."
_SADLY_NOT = re.compile(
    r"(?:unfortunately|sadly|i['’]?m afraid|i am afraid|sorry|absolutely|certainly|definitely|"
    r"of course|obviously|probably|apparently),? not\b",
    re.IGNORECASE,
)
_CONTRACTED = re.compile(
    r"(?:\b(?:he|she|it|they|we|i|you|there|that|who)['’](?:s|re|ve|ll|d|m)|n['’]t)\b",
    re.IGNORECASE,
)


_PERSONAL = re.compile(
    r"\w+ you (?:ever |really |also |please )?(?:know|like|love|think|enjoy|remember|prefer|want|"
    r"watch|listen|heard|seen|familiar|interested|aware|sure|a fan|tell|explain|help|give|describe|"
    r"list|write|show|recommend|suggest|summari[sz]e|name|provide)\b"
)
#: "Lenz, who beat Ostrau": a comma closes it.
_APPOSITION = re.compile(r", (?:who|which|whose|where|though|although|the|an?)\b[^,]*$")


class Statement(NamedTuple):
    """A text that is judged instead of an answer.

    Attributes:
        start, end: place of the answer's own words in ``text``, in code points, end exclusive; both
            0 without any (``Yes.``).
        how: ``answer``, the answer itself; ``converted`` by a rule; or question and answer
            ``joined``.
    """

    text: str
    start: int
    end: int
    how: Literal["answer", "converted", "joined"]


def statement(question: str | None, answer: str) -> Statement:
    """Return the statement that ``answer`` makes, given its ``question``.

    An answer is returned unchanged if it is a complete sentence (a subject and a finite verb). The
    same holds for one of more than :data:`LONGEST` words or without a question. In a question of
    several sentences the last interrogative one counts.

    >>> statement("Where did Ann Lee found Lumo?", "Leeds").text
    'Ann Lee founded Lumo in Leeds.'
    >>> statement("Does the sauce contain milk?", "No.").text
    'The sauce does not contain milk.'
    """
    words = answer.split()
    asked = _asked(question) if question and question.strip() else ""
    if not asked or not any(map(str.isalnum, answer)) or len(words) > LONGEST:
        return Statement(answer, 0, len(answer), "answer")
    return (
        _verdict(asked, answer)
        or _whole(asked, answer)
        or _converted(asked, answer)
        or _joined(asked, answer)
    )


def to_judge(question: str | None, answer: str) -> Statement:
    """Return :func:`statement`, but joined for a long question.

    A question is long above :data:`SIMPLE` words if the answer is in the text.

    A converted long question is often bad English, and asks about several things at once.

    The sentence after yes or no is judged with the verdict, or alone if the verdict is unclear.
    Without the question, a model reads "No," as a negation of the sentence.

    >>> to_judge("Is entry free?", "No, adults pay 5 euros.").text
    'Entry is not free, and adults pay 5 euros.'
    """
    asked = _asked(question or "")
    if asked and (verdict := _verdict_and_reason(asked, answer)):
        return verdict
    stated = statement(question, answer)
    if stated.how != "converted" or stated.start == stated.end or len(asked.split()) <= SIMPLE:
        return stated
    return _joined(asked, answer)


def answers_yes_or_no(question: str | None, sentence: str) -> bool:
    """Return True if a reply such as ``Yes, it is.`` is the verdict on a question.

    Questions about the answerer ("Do you know ...?", "Can you tell me ...?") do not count.

    >>> answers_yes_or_no("Is it in Rome?", "No."), answers_yes_or_no("Where is it?", "Sure!")
    (True, False)
    """
    asking = AskedQuestion.of(_asked(question)) if question and question.strip() else None
    if asking is None or NEGATED.get(asking.low[0], asking.low[0]) not in AUXILIARIES:
        return False
    if _PERSONAL.match(" ".join(asking.low)):
        return False
    words = re.findall(r"\w+", sentence.lower())
    return bool(words) and (words[0] in PRONOUNS or not (YES | NO | {"course"}).isdisjoint(words))


def verdict_word(question: str | None, sentence: str) -> str | None:
    """Return ``Yes`` or ``No`` if a short sentence is only a verdict on the question.

    >>> verdict_word("Is it in Rome?", "Of course!"), verdict_word("Is it in Rome?", "It is.")
    ('Yes', None)
    """
    words = set(re.findall(r"\w+", sentence.lower()))
    if len(words) > _FEW or (YES | NO | {"course"}).isdisjoint(words):
        return None
    if not answers_yes_or_no(question, sentence):
        return None
    return "Yes" if NO.isdisjoint(words) and "not" not in words else "No"


def _asked(question: str) -> str:
    """Return the last interrogative sentence, else the last one, stripped."""
    sentences = [s.text for s in split_sentences(question)]
    asking = [s for s in sentences if s.rstrip(" \"'”’)").endswith(("?", "？"))]
    return " ".join((asking or sentences or [""])[-1].split())


def _joined(asked: str, answer: str) -> Statement:
    """Join question and short answer; shorter if the question is not in English.

    Nothing shows then if a longer answer is a sentence.
    """
    most = _MAX_JOINED_WORDS if AskedQuestion.of(asked) else _FEW
    if len(asked.split()) > _MAX_QUESTION_WORDS or len(answer.split()) > most:
        return Statement(answer, 0, len(answer), "answer")
    text = f"{asked} {answer}"
    return Statement(text, len(text) - len(answer), len(text), "joined")


def _whole(asked: str, answer: str) -> Statement | None:
    """Return the answer if it is a sentence, or repeats so much of the question that it must be."""
    if is_sentence(answer) or _after_yes(answer) or _restates(asked, answer):
        return Statement(answer, 0, len(answer), "answer")
    return None


def _after_yes(answer: str) -> bool:
    """Return True if a sentence follows yes or no, which no rule could move to the front."""
    match = _FOLLOWS.match(answer.strip())
    said = match is not None and match.group(1).lower() in YES | NO
    return said and match is not None and is_sentence(answer.strip()[match.end() :])


def _restates(asked: str, text: str) -> bool:
    """Return True if half of the longer words of a text of seven words or more are in the
    question.
    """
    words = [_bare(x) for x in text.split()]
    long = {x for x in words if len(x) > 3}
    return len(words) > 6 and 2 * len(long & {_bare(x) for x in asked.split()}) >= len(long)


def is_sentence(text: str) -> bool:
    """Return True if an English text has a subject and a finite verb, or gives an order.

    The test is by its words; in doubt the text is a sentence.

    >>> is_sentence("It was Leeds."), is_sentence("Leeds, where it was founded")
    (True, False)
    """
    words = text.split()
    low = [_bare(x) for x in words]
    if _CONTRACTED.search(text):
        return True
    ordered = low[1:2] and (low[1] in DETERMINERS | NUMBERS or (low[0] in CLEAR and len(low) > 3))
    if ordered and len(low) > 2 and low[0] in BASES:
        return True  # "Take the tram"
    dependent = False  # in a dependent clause
    for i, word in enumerate(low):
        before = low[i - 1] if i else ""
        if i and words[i - 1].endswith((",", ";", ":")):
            dependent = False
        if word in CLAUSE_OPENERS or (word in RELATIVES and i):
            dependent = True
        elif (
            i
            and words[i][:1].islower()
            and (
                _may_be_finite(word, low, i, words[i - 1].endswith(","))
                or _after_name(words, low, i)
            )
        ):
            if dependent:
                dependent = word in AUXILIARIES  # "who has led": one more belongs to it
            elif word in MODALS or before not in PREPOSITIONS | {"to", "and", "or", "but", "not"}:
                return True
    return False


def _after_name(words: list[str], low: list[str], i: int) -> bool:
    """Return True for a past tense after a name: "Ann Lee collaborated with her"."""
    following = low[i + 1] if i + 1 < len(low) else ""
    named = (
        words[i - 1][:1].isupper()
        and words[i - 1][-1:].isalpha()
        and low[i - 1] not in (PREPOSITIONS | DETERMINERS)
    )
    return (
        named
        and low[i].endswith("ed")
        and len(low[i]) > 4 - (following != "")
        and (following not in ("by", ""))
    )


def _may_be_finite(word: str, low: list[str], i: int, comma: bool) -> bool:
    nearest = (low[j] for j in range(i - 1, max(i - _MAX_SKIPPED_ADVERBS, 0) - 1, -1))
    before = next((x for x in nearest if not is_adverb(x)), low[i - 1])
    following = low[i + 1] if i + 1 < len(low) else ""
    if word in AUXILIARIES | {"cannot"}:
        return word != "may" or following.isalpha()
    if before in DETERMINERS or before.endswith("'s"):
        return False
    if is_clearly_finite(word):
        reduced = following in ("by", "in", "at", "from", "of", "as", "on") and word.endswith("ed")
        return before in PRONOUNS or before.endswith("s") or not reduced
    if before in SUBJECT_PRONOUNS or (low[i] in CLEAR and comma):
        return True
    if len(low) < 4:
        return False
    plural = before.endswith("s") or before in ("people", "men", "women", "children")
    return (is_finite(word) and not word.endswith("ing")) or (word in BASES and plural)


def _bare(word: str) -> str:
    return word.strip(".,;:!?\"'“”‘’()").lower()


def _verdict(asked: str, answer: str) -> Statement | None:
    """Convert yes or no, and the text after it."""
    answer = _SADLY_NOT.sub("No", answer.strip(), count=1)
    match = _FOLLOWS.match(answer.strip())
    word = match.group(1).lower() if match else ""
    if match is None or word not in YES | NO:
        return None
    remainder = answer.strip()[match.end() :].rstrip(" .!")
    after = answer.strip()[match.end(1) : match.end(1) + 1]
    if remainder and after not in tuple(",.;:!–—"):
        return None  # "No rings", "Yes Minister"
    question = AskedQuestion.of(asked)
    if question is None:
        return None
    template = question.verdict(word in YES)
    if template is None or (is_sentence(remainder) and not _refers(remainder)):
        return None
    text = _capital(" ".join(template)).rstrip(" .,")
    if not remainder:
        return Statement(f"{text}.", 0, 0, "converted")
    text += ". " if after == "." else ", "
    return Statement(f"{text}{remainder}.", len(text), len(text) + len(remainder), "converted")


def _verdict_and_reason(asked: str, answer: str) -> Statement | None:
    """Return yes or no with the sentence after it; None unless there are both."""
    text = answer.strip()
    match = _FOLLOWS.match(text)
    word = match.group(1).lower() if match else ""
    if (
        match is None
        or word not in YES | NO
        or text[match.end(1) : match.end(1) + 1] not in _PAUSES
    ):
        return None
    reason = text[match.end() :].rstrip(" .!")
    said = _JOINS.match(reason)
    if not is_sentence(reason[said.end() :] if said else reason) or _refers(reason):
        return None
    question = (
        AskedQuestion.of(asked) if len(asked.split()) <= _MAX_VERDICT_QUESTION_WORDS else None
    )
    template = question.verdict(word in YES) if question else None
    if template is None or len(reason.split()) > _MAX_REASON_WORDS:
        own = _capital(reason[said.end() :] if said and said["but"] else reason)
        return Statement(f"{own}.", 0, len(own), "answer")
    first = _capital(" ".join(template)).rstrip(" .,")
    joint = ", " if said else ", and "
    own = reason if reason.split()[0][1:].lower() != reason.split()[0][1:] else _small(reason)
    start = len(first) + len(joint)
    return Statement(f"{first}{joint}{own}.", start, start + len(own), "converted")


def _small(text: str) -> str:
    """Return a sentence as a clause, in lower case if its first word is probably not a name."""
    first = text.split(None, 1)[0].lower()
    common = first in PRONOUNS | DETERMINERS | PREPOSITIONS | CLAUSE_OPENERS and first != "i"
    return text[:1].lower() + text[1:] if common else text


def _refers(text: str) -> bool:
    """Return True if a sentence is incomplete without the question: "it does", "they are not"."""
    words = [_bare(x) for x in text.split()]
    return len(words) < 5 and all(
        x in PRONOUNS | AUXILIARIES | NEGATED.keys() | {"not"} for x in words
    )


def _converted(asked: str, answer: str) -> Statement | None:
    if len(asked.split()) > _MAX_QUESTION_WORDS:
        return None
    core = answer.strip().rstrip(".!").strip()
    question = AskedQuestion.of(asked)
    if question is None or not core:
        return None
    template = question.answered(ShortReply.of(core))
    if template is None:
        return None
    return _filled(template, core)


def _filled(template: Template, core: str) -> Statement | None:
    place = template.index(ANSWER)
    before = _capital(" ".join(template[:place]))
    after = " ".join(template[place + 1 :])
    start = len(before) + 1 if before else 0
    text = f"{before} {core}" if before else core
    if after:
        apposition = not before and _APPOSITION.search(core)
        text += f", {after}" if apposition else f" {after}"
    text = text.rstrip(" ,")
    end = start + len(core)
    if len(text) < end:
        return None
    return Statement(text if text.endswith(".") else f"{text}.", start, end, "converted")


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
