"""Equivalence of short answers in normal form, without a model.

Short answers are compared as in open question answering. The normal form follows Rajpurkar et al.
2016. An answer that contains the gold one is accepted, as in EfficientQA (Min et al. 2021). Numbers
are parsed ("nine" is 9), and words of the question are ignored.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from difflib import SequenceMatcher
from typing import NamedTuple

from veridical.text.fact_words import AUXILIARIES, FUNCTION_WORDS, NEGATIONS
from veridical.text.facts import Facts
from veridical.text.normal_form import contains, tokens
from veridical.text.values.compare import findings
from veridical.text.values.places import outer_values, placed
from veridical.text.values.sources import source_values
from veridical.text.values.value import Value

_MAX_SHORT_WORDS = 5  # counted words; longer texts are statements
_NEGATION_SCOPE_WORDS = 6
_WORDS_OF_ONE = {"one": "1"}
_LONGEST_FRAME = 200  # words
_STEM_CHARACTERS = 5  # compared of words that differ in their endings
_MIN_SAME_ORDER_SHARE = 0.6  # twice the words in the same order / words of both
_FREE = FUNCTION_WORDS | AUXILIARIES | NEGATIONS
_TURN = re.compile(r"[,;:.!?]|\b(?:but|until|before|only|just|than|because)\b")
_GENITIVE = re.compile(r"['’]s\b")
_OR = re.compile(r"\bor\b")
_PLAIN_WORDS = FUNCTION_WORDS | AUXILIARIES | NEGATIONS | {"answer", "correct", "yes", "no", "am"}


class ShortMatch(NamedTuple):
    """Degree to which a short answer is found.

    Attributes:
        share: from 0, nothing of it, to 1, all of it.
        denied: True if it is negated, or one of several ("Paris or London").
        exact: True if the notation decides: numbers, dates, options, lists.
        absent: True if a name or figure of it is missing in the long text.
    """

    share: float
    denied: bool = False
    exact: bool = False
    absent: bool = False


def short_match(question: str, answer: str, gold: str) -> ShortMatch | None:
    """Match the short answer ``gold`` in ``answer``, or a short ``answer`` in a long gold.

    If the notation of both decides, they are equal or not (see
    :func:`~veridical.text.values.answers.same_answer`). Otherwise the share is 1 if the longer text
    has all words of the shorter one. All its dates and figures, in any notation, are enough too.
    Fewer give the F1 of their words (for two short texts) or 0, as with figures of which none is
    shared. Words of the question count only if nothing else is left. The result is None if neither
    text is short. It is also None if a short answer without name or figure is not found in a long
    gold, which may use other words.
    """
    from veridical.text.values.answers import same_answer

    same = same_answer(question, answer, gold)
    if same is not None:
        denied = same and _negated(answer, canonical(gold)) and not _negates(gold)
        return ShortMatch(float(same), denied, True)
    wanted_words, words = canonical(gold), canonical(answer)
    if not words or not wanted_words or min(len(words), len(wanted_words)) > _MAX_SHORT_WORDS:
        return None
    asked = set(canonical(question))
    core, wanted = _core(words, asked), _core(wanted_words, asked)
    both_short = max(len(words), len(wanted_words)) <= _MAX_SHORT_WORDS
    gold_is_small = len(wanted_words) <= _MAX_SHORT_WORDS
    if both_short and not contains(words, wanted) and contains(wanted_words, core):
        gold_is_small = not _names_something(answer)  # "Shelley" for "Mary Shelley"
    if gold_is_small:
        long_text, short_text, large, small = answer, gold, words, wanted
    else:
        long_text, short_text, large, small = gold, answer, wanted_words, core
    if contains(large, small) or _same_figures(short_text, long_text):
        denied = _negated(long_text, small) and not _negates(short_text)
        either = not _OR.search(f"{question} {short_text}".lower())
        return ShortMatch(1.0, denied or (either and _OR.search(long_text.lower()) is not None))
    if both_short:
        if figures_differ(question, answer, gold):
            return ShortMatch(0.0, absent=True)
        shared = sum((Counter(core) & Counter(wanted)).values())
        return ShortMatch(2 * shared / (len(core) + len(wanted)))
    return ShortMatch(0.0, absent=True) if _absent(short_text, f"{long_text}\n{question}") else None


def _absent(text: str, where: str) -> bool:
    """Return True if ``where`` lacks a figure or a name of ``text``."""
    words = canonical(where)
    names = Facts(text).find([(0, len(text))])[0]
    if any(
        not contains(words, canonical(text[f.start : f.end])) for f in names if f.kind == "name"
    ):
        return True
    return bool(_missing(text, [where]))


def _missing(text: str, others: list[str]) -> list[Value]:
    """Return the values of ``text`` that none of ``others`` has."""
    read = source_values(tuple(others))
    return [v for v in outer_values(text) if not read.equals(v, text)]


def _names_something(text: str) -> bool:
    """Return True if it has a figure or a name, which cannot be paraphrased."""
    return bool(Facts(text).find([(0, len(text))])[0])


def canonical(text: str) -> list[str]:
    """Return the words of ``text`` in normal form, with amounts in digits of their base unit."""
    pieces: list[str] = []
    at = 0
    for value in outer_values(text):
        if value.amount is None or value.kind in ("ordinal", "time") or value.dates:
            continue
        amount = str(value.amount).replace("/", "over").replace("-", "minus")
        pieces += [text[at : value.start], f" {amount}{value.dimension} "]
        at = value.end
    text = _GENITIVE.sub("", "".join([*pieces, text[at:]]))
    words = tokens(text.replace("-", " ") if not any(c.isdigit() for c in text) else text)
    return [_WORDS_OF_ONE.get(w, w) for w in words]


def _core(words: Iterable[str], asked: set[str]) -> list[str]:
    """Return the content words that are not in the question.

    If all are in it, return all content words, and without any all words.
    """
    words = list(words)
    content = [w for w in words if w not in _PLAIN_WORDS]
    return [w for w in content if w not in asked] or content or words


def _same_figures(short: str, long: str) -> bool:
    """Return True if a text of only dates and figures has all of them in ``long``."""
    values = outer_values(short)
    if not values or _missing(short, [long]):
        return False
    at = 0
    rest: list[str] = []
    for value in values:
        rest.append(short[at : value.start])
        at = value.end
    plain = tokens(" ".join([*rest, short[at:]]))
    return all(word in _PLAIN_WORDS for word in plain)


def _negates(text: str) -> bool:
    facts = Facts(text)
    return facts.negation(0, len(facts.tokens)) is not None


def _negated(text: str, words: list[str]) -> bool:
    """Return True if a negation in ``text`` applies to ``words``: close, and without a contrast."""
    facts = Facts(text)
    wanted = set(words)
    for i, token in enumerate(facts.tokens):
        if facts.negation(i, i + 1) is None:
            continue
        for j in range(i + 1, min(i + 1 + _NEGATION_SCOPE_WORDS, len(facts.tokens))):
            between = text[facts.spans[i][1] : facts.spans[j][0]].lower()
            if _TURN.search(between):
                break
            if facts.tokens[j] in wanted or canonical(facts.tokens[j])[:1] == words[:1]:
                return token != "no" or bool(between.strip()) or j == i + 1
    return False


def changed(answer: str, gold: str) -> bool:
    """Return True if ``answer`` is ``gold`` with content words exchanged or moved.

    Most words are in the same order, and the difference is more than added, omitted or inflected
    words: "Saturn is the largest planet" for "Jupiter is the largest planet", "B beat A" for "A
    beat B". A negation in only one counts; words moved from one end to the other do not ("In 1903
    she won"). Long texts do not count.
    """
    a, b = canonical(answer), canonical(gold)
    if not a or not b or max(len(a), len(b)) > _LONGEST_FRAME:
        return False
    matcher = SequenceMatcher(None, a, b, autojunk=False)
    if matcher.ratio() < _MIN_SAME_ORDER_SHARE:
        return False
    if _negates(answer) != _negates(gold):
        return True
    new: Counter[str] = Counter()
    gone: Counter[str] = Counter()
    for op, i, j, k, m in matcher.get_opcodes():
        if op != "equal":
            new.update(_stems(a[i:j]))
            gone.update(_stems(b[k:m]))
    if new == gone:
        return bool(new) and not _moved_whole(_stems(a), _stems(b))
    return bool(new - gone and gone - new)


def _stems(words: list[str]) -> list[str]:
    return [w[:_STEM_CHARACTERS] for w in words if w not in _FREE]


def _moved_whole(a: list[str], b: list[str]) -> bool:
    """Return True if one is the other with its end moved to the front: "in 1903"."""
    return len(a) > 2 and any(a == b[i:] + b[:i] for i in range(1, len(b)))


def figures_differ(question: str, answer: str, gold: str) -> bool:
    """Return True if ``gold`` has another figure in place of one of ``answer``.

    It is also True if no figure of either is in the other or in the question.
    """
    spans = placed(answer).sentences()
    if any(
        f.status == "wrong" for span in spans for f in findings(answer, span, question, (gold,))
    ):
        return True
    return _none_found(answer, [gold, question]) and _none_found(gold, [answer, question])


def _none_found(text: str, others: list[str]) -> bool:
    values = outer_values(text)
    return bool(values) and len(_missing(text, others)) == len(values)
