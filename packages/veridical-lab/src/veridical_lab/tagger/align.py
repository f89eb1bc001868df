"""Alignment of an LLM's triplets with the words of a response."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from typing import NamedTuple

from veridical.claims.claim import Triplet
from veridical.claims.triplets import FUNCTION_WORDS, Places, key_of
from veridical.core.records import Record
from veridical.text.words import word_spans
from veridical_lab.tagger.features import LONGEST, PRONOUNS, Range, Words

NO_PLACE = "no sentence holds enough of its words"
NO_TAIL = "the tail's words do not stand together in the sentence"
NO_HEAD = "the head is not in the sentence, and no pronoun replaces it"
NO_RELATION = "no word of the relation is in the sentence"
TOO_LONG = f"the sentence has more than {LONGEST} words"
_SHARE = 0.6  # Minimum share of the tail's content words in a word range.
_SLACK = 2  # Maximum number of other words in a stretch for each word of the tail.


class Tagged(NamedTuple):
    """A triplet in a sentence: its tail, and the words of its head and relation, by index."""

    sentence: int
    tail: Range
    head: frozenset[int]
    relation: frozenset[int]


def align(record: Record, triplets: Sequence[Triplet]) -> tuple[list[Tagged], Counter[str]]:
    """Return the triplets aligned with the response's words, and counts of failures by reason.

    A triplet is sought in the sentence that shares most of its words
    (:class:`~veridical.claims.triplets.Places`). Its tail is the shortest word range with most of
    the tail's content words. Its head is the nearest words of the head, or a pronoun that begins
    the clause if the head was carried over. Its relation is the relation's words that are not in
    tail or head.
    """
    places = Places(record)
    words = [word_spans(s.text) for s in record.sentences]
    keys = [[key_of(w.text) for w in s] for s in words]
    found: list[Tagged] = []
    missing: Counter[str] = Counter()
    for triplet in triplets:
        place = places.locate(triplet)
        if place is None:
            missing[NO_PLACE] += 1
            continue
        one = _in_sentence(place.sentence, words[place.sentence], keys[place.sentence], triplet)
        if isinstance(one, str):
            missing[one] += 1
        else:
            found.append(one)
    return found, missing


def _in_sentence(
    sentence: int, words: Words, keys: Sequence[str], triplet: Triplet
) -> Tagged | str:
    if len(words) > LONGEST:
        return TOO_LONG
    head_keys, relation_keys, tail_keys = (_keys(part) for part in triplet)
    tail = _stretch(keys, tail_keys)
    if tail is None:
        return NO_TAIL
    taken = set(range(*tail))
    head = _stretch(keys, head_keys, without=taken, near=tail[0])
    if head is None:
        pronouns = [
            i for i in range(tail[0]) if words[i].text.lower() in PRONOUNS and i not in taken
        ]
        if not pronouns:
            return NO_HEAD
        head = (pronouns[0], pronouns[0] + 1)
    taken |= set(range(*head))
    relation = _nearest(keys, relation_keys, taken, tail[0])
    if not relation:
        return NO_RELATION
    return Tagged(sentence, tail, frozenset(range(*head)), relation)


def _keys(text: str) -> list[str]:
    return [key_of(w.text) for w in word_spans(text) if any(map(str.isalnum, w.text))]


def _stretch(
    keys: Sequence[str],
    wanted: Sequence[str],
    without: AbstractSet[int] = frozenset(),
    near: int | None = None,
) -> Range | None:
    """Return the word range with most of the ``wanted`` keys.

    Of the ranges with all or nearly all content words, it has the fewest other words; ties go to
    the range nearest to ``near``.
    """
    content = {k for k in wanted if k not in FUNCTION_WORDS} or set(wanted)
    if not content:
        return None
    spots = [i for i, k in enumerate(keys) if k in content and i not in without]
    best: tuple[float, int, int] | None = None
    chosen: Range | None = None
    for a, first in enumerate(spots):
        held: set[str] = set()
        for last in spots[a:]:
            if not without.isdisjoint(range(first, last + 1)):
                break
            held.add(keys[last])
            length = last - first + 1
            if len(held) < _SHARE * len(content) or length > (1 + _SLACK) * len(held) + 2:
                continue
            far = 0 if near is None else abs(near - first)
            rank = (-len(held) / len(content), length, far)
            if best is None or rank < best:
                best, chosen = rank, (first, last + 1)
    if chosen is None:
        return None
    first, end = chosen
    every = set(wanted)
    while first and keys[first - 1] in every and first - 1 not in without:
        first -= 1
    while end < len(keys) and keys[end] in every and end not in without:
        end += 1
    return first, end


def _nearest(
    keys: Sequence[str], wanted: Sequence[str], taken: set[int], tail: int
) -> frozenset[int]:
    """Return the position of each ``wanted`` key nearest to the ``tail``, preferring those before
    it.
    """
    chosen = set()
    for key in set(wanted):
        places = [i for i, k in enumerate(keys) if k == key and i not in taken]
        if places:
            chosen.add(min(places, key=lambda i: (i > tail, abs(tail - i))))
    return frozenset(chosen)
