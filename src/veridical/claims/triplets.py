"""Triplets as statements, and where in a response a triplet or statement comes from.

Places are found by alignment: the sentence that shares most of the claim's words, rare words
counting more, and in it the shortest stretch that holds all the words they share. Offsets are
exact, as they are those of words that stand there.
"""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from veridical.text.words import word_spans

if TYPE_CHECKING:
    from veridical.claims.claim import Triplet
    from veridical.core.records import Record


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


def _counted(words: str) -> dict[str, str]:
    return {word: str(n) for n, word in enumerate(words.split(), start=1)}


_DENIED = frozenset({"no", "false", "not", "not true"})
_AFFIRMED = frozenset({"yes", "true"})
#: English words that say nothing of a statement's content.
FUNCTION_WORDS = _set(
    "a about also am an and are as at be been being but by can could did do does for from had has "
    "have he her him his how i if in into is it its just me my of on or our she so such than that "
    "the their them then there these they this to too us very was we were what when which who will "
    "with would you your 's ’s"
)
_NUMBERS = _counted("one two three four five six seven eight nine ten")
_STEM = 5  # characters by which words are compared: "location" meets "located"
#: How much the head, relation and tail tell about the sentence that is meant: the head is often
#: carried over from an earlier one, the tail is what it adds.
_WEIGHTS = (0.6, 0.8, 1.2)
_FUNCTION_WEIGHT = 0.05
#: Exponent of an element's number of words: long ones tell more, but not in proportion.
_LENGTH = 0.3
#: Sentences that a word is looked up in, and places in one: it tells nothing where it is in more.
_MOST_SENTENCES = 300
_MOST_PLACES = 500
_SHARE = 0.3  # of a claim's weight that its sentence must hold at least
_ITEM = re.compile(r"\s*(?:[-*+•‣▪◦●–—~]|\(?(?:\d{1,3}|[A-Za-z])[.)])\s")
_LED = 0.9  # how much words of the lead-in count for its items
_CLOSING = {")": "(", "]": "[", "”": "“", "»": "«", '"': '"'}


def statement(triplet: Triplet) -> str:
    """The triplet as a sentence that a checker reads: its parts in order, joined by spaces.

    White space is squeezed. A tail that answers by yes or no is put into words instead: published
    triplets hold (snakes, have odor, no).

    >>> statement(("Optus Stadium", "located in", "Perth"))
    'Optus Stadium located in Perth.'
    >>> statement(("snakes", "have odor", "No"))
    'It is not true that snakes have odor.'
    """
    head, relation, tail = (" ".join(part.split()) for part in triplet)
    answer = tail.lower().rstrip(".")
    if answer in _DENIED:
        text = f"It is not true that {head} {relation}"
    elif answer in _AFFIRMED:
        text = f"{head} {relation}"
    else:
        text = f"{head} {relation} {tail}"
    text = text.strip()
    return text if text[-1:] in ".!?" else text + "."


class ClaimPlace(NamedTuple):
    """Where a claim comes from: ``response[start:end]``, in the sentence of that index.

    ``parts`` are the runs of its words in there, in order.
    """

    start: int
    end: int
    sentence: int
    parts: tuple[tuple[int, int], ...]


class _Word(NamedTuple):
    start: int
    end: int
    key: str


class Places:
    """Finds the places of many claims in one response, which is read once."""

    def __init__(self, record: Record) -> None:
        self._response = record.response
        self._sentences = [list(_words(s.text, s.start)) for s in record.sentences]
        self._held = [{w.key for w in words} for words in self._sentences]
        self._where: dict[str, list[int]] = defaultdict(list)
        for i, held in enumerate(self._held):
            for key in held:
                self._where[key].append(i)
        self._places: dict[int, dict[str, list[int]]] = {}
        #: Items of lists -> the sentence that leads in ("They played:").
        self._led_by: dict[int, int] = {}
        lead = None
        for i, sentence in enumerate(record.sentences):
            if lead is not None and (lead == i - 1 or _ITEM.match(sentence.text)):
                self._led_by[i] = lead
            if sentence.text.rstrip().endswith((":", "：")):
                lead = i

    def locate(
        self, claim: Triplet | str, among: Collection[int] | None = None
    ) -> ClaimPlace | None:
        """The claim's place, or ``None`` where no sentence holds enough of its words.

        An item of a list is read together with the line that leads in.

        Args:
            claim: a triplet or a statement.
            among: indices of the sentences that it may come from; default: all.
        """
        elements = [_keys(e) for e in ((claim,) if isinstance(claim, str) else claim)]
        scores, total = self._scores(elements)
        # an answer of a few words leaves the rest of its claim to the question
        ends = [keys - FUNCTION_WORDS for keys in elements[::2]]
        enough = [
            i
            for i, score in scores.items()
            if (among is None or i in among)
            and (score >= _SHARE * total or any(keys and keys <= self._held[i] for keys in ends))
        ]
        if not enough:
            return None
        best = max(enough, key=lambda i: (round(scores[i], 9), -i))
        return self._within(best, set().union(*elements))

    def _scores(self, elements: Sequence[set[str]]) -> tuple[dict[int, float], float]:
        """How much of the claim each sentence holds that holds any; and how much all of it is."""
        held = [self._shares(keys) for keys in elements]
        scores = dict.fromkeys((i for shares in held for i in shares), 0.0)
        led = {i: self._led_by[i] for i in scores if i in self._led_by}
        total = 0.0
        for keys, shares, weight in zip(elements, held, _WEIGHTS[-len(held) :], strict=True):
            # an element that many sentences hold does not tell which of them is meant
            weight *= math.log((len(self._sentences) + 1) / max(1.0, sum(shares.values())))
            weight *= len(keys - FUNCTION_WORDS) ** _LENGTH or _FUNCTION_WEIGHT
            total += weight
            for i, share in shares.items():
                scores[i] += weight * share
            for i, lead in led.items():
                scores[i] += weight * max(0.0, _LED * shares.get(lead, 0.0) - shares.get(i, 0.0))
        return scores, total

    def _shares(self, keys: set[str]) -> dict[int, float]:
        """The share of an element that each sentence holds, in (0, 1], where it holds any: rare
        words count more, function words only where there is nothing else."""
        n = len(self._sentences)
        telling = keys - FUNCTION_WORDS or keys
        rarity = {k: math.log((n + 1) / max(1, len(self._where.get(k, ())))) for k in telling}
        total = sum(rarity.values())
        shares: dict[int, float] = defaultdict(float)
        for key, weight in rarity.items():
            for i in self._where.get(key, ())[:_MOST_SENTENCES]:
                shares[i] += weight / total
        return shares

    def _within(self, sentence: int, keys: set[str]) -> ClaimPlace:
        """The shortest stretch of the sentence that holds all the words it shares with the claim,
        with those that follow on; function words only beside the others, where there are others."""
        words = self._sentences[sentence]
        places = self._places.get(sentence)
        if places is None:
            places = self._places[sentence] = {}
            for i, word in enumerate(words):
                places.setdefault(word.key, []).append(i)
        shared = sorted(i for key in keys for i in places.get(key, ())[:_MOST_PLACES])
        content = [i for i in shared if words[i].key not in FUNCTION_WORDS] or shared
        first, last = _shortest([words[i].key for i in content])
        while first and content[first - 1] == content[first] - 1:
            first -= 1
        while last + 1 < len(content) and content[last + 1] == content[last] + 1:
            last += 1
        telling = set(content[first : last + 1])
        runs: list[list[int]] = []
        for i in shared:
            if content[first] <= i <= content[last]:
                if runs and runs[-1][-1] == i - 1:
                    runs[-1].append(i)
                else:
                    runs.append([i])
        parts = tuple(
            self._closed(words[run[0]].start, words[run[-1]].end)
            for run in runs
            if not telling.isdisjoint(run)
        )
        return ClaimPlace(parts[0][0], parts[-1][1], sentence, parts)

    def _closed(self, start: int, end: int) -> tuple[int, int]:
        """The stretch with the closing bracket or quote right after it, if one is opened in it."""
        opening = _CLOSING.get(self._response[end : end + 1])
        if opening and opening in self._response[start:end]:
            closing = self._response[end]
            inside = self._response[start:end]
            if opening == closing:
                return start, end + inside.count(opening) % 2
            return start, end + (inside.count(opening) > inside.count(closing))
        return start, end


def content(text: str) -> Counter[str]:
    """How often ``text`` has each word that tells something, by the form it is compared in."""
    return Counter(w.key for w in _words(text) if w.key not in FUNCTION_WORDS)


def _words(text: str, offset: int = 0) -> Iterator[_Word]:
    """Words with a letter or digit, each with the form by which it is compared."""
    for start, end, word in word_spans(text):
        if any(map(str.isalnum, word)):
            yield _Word(offset + start, offset + end, key_of(word))


def _keys(text: str) -> set[str]:
    return {w.key for w in _words(text)}


def key_of(word: str) -> str:
    """The form by which a word is compared: "location" meets "located", and "3" "three"."""
    low = word.casefold()
    if low.isdecimal() or low in FUNCTION_WORDS:
        return low
    low = _NUMBERS.get(low, low).replace(",", "")
    if len(low) == 4 and low.endswith("s") and not low.endswith("ss"):
        low = low[:-1]  # "cars" meets "car"
    return low[:_STEM]


def _shortest(keys: Sequence[str]) -> tuple[int, int]:
    """First and last index of the shortest stretch that holds every key; the first of equals."""
    missing = len(set(keys))
    inside: Counter[str] = Counter()
    best = (0, len(keys) - 1)
    left = 0
    for right, key in enumerate(keys):
        missing -= not inside[key]
        inside[key] += 1
        while inside[keys[left]] > 1:
            inside[keys[left]] -= 1
            left += 1
        if not missing and right - left < best[1] - best[0]:
            best = (left, right)
    return best
