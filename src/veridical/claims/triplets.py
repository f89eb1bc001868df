"""Triplets as statements, and places of claims in the response.

Places are found by alignment. The sentence shares most of the claim's words, where rare words count
more. The place is its shortest stretch with all shared words. Offsets are exact, as they are those
of words in the response.
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
#: English function words.
FUNCTION_WORDS = _set(
    "a about also am an and are as at be been being but by can could did do does for from had has "
    "have he her him his how i if in into is it its just me my of on or our she so such than that "
    "the their them then there these they this to too us very was we were what when which who will "
    "with would you your 's ’s"
)
_NUMBERS = _counted("one two three four five six seven eight nine ten")
_STEM_CHARACTERS = 5  # compared of a word: "location" matches "located"
#: Weights of head, relation and tail in finding the sentence: the head is often carried over from
#: an earlier one, the tail is new.
_WEIGHTS = (0.6, 0.8, 1.2)
_FUNCTION_WEIGHT = 0.05
#: Exponent of an element's number of words: long ones weigh more, but not in proportion.
_LENGTH = 0.3
#: Maximum sentences with a word, and places in one; more frequent words are ignored.
_MOST_SENTENCES = 300
_MOST_PLACES = 500
_MIN_SHARE = 0.3  # of a claim's weight in its sentence
_ITEM = re.compile(r"\s*(?:[-*+•‣▪◦●–—~]|\(?(?:\d{1,3}|[A-Za-z])[.)])\s")
_LEAD_IN_WEIGHT = 0.9  # of its words, for the items of the list
_CLOSING = {")": "(", "]": "[", "”": "“", "»": "«", '"': '"'}


def statement(triplet: Triplet) -> str:
    """Convert the triplet to a sentence: its parts in order, joined by spaces.

    White space is collapsed. A tail of yes or no is expressed in words, as published triplets
    contain (snakes, have odor, no).

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
    """Place of a claim: ``response[start:end]``, in the sentence of that index.

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
    """Locator of many claims in one response, which is parsed once."""

    def __init__(self, record: Record) -> None:
        self._response = record.response
        self._sentences = [list(_words(s.text, s.start)) for s in record.sentences]
        self._held = [{w.key for w in words} for words in self._sentences]
        self._where: dict[str, list[int]] = defaultdict(list)
        for i, held in enumerate(self._held):
            for key in held:
                self._where[key].append(i)
        self._places: dict[int, dict[str, list[int]]] = {}
        #: Items of lists -> the introducing sentence ("They played:").
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
        """Return the claim's place, or ``None`` if no sentence has enough of its words.

        An item of a list is read together with the introducing line.

        Args:
            claim: a triplet or a statement.
            among: indices of the sentences that it may come from; default: all.
        """
        elements = [_keys(e) for e in ((claim,) if isinstance(claim, str) else claim)]
        scores, total = self._scores(elements)
        # in a short answer the rest of the claim is in the question
        ends = [keys - FUNCTION_WORDS for keys in elements[::2]]
        enough = [
            i
            for i, score in scores.items()
            if (among is None or i in among)
            and (
                score >= _MIN_SHARE * total or any(keys and keys <= self._held[i] for keys in ends)
            )
        ]
        if not enough:
            return None
        best = max(enough, key=lambda i: (round(scores[i], 9), -i))
        return self._within(best, set().union(*elements))

    def _scores(self, elements: Sequence[set[str]]) -> tuple[dict[int, float], float]:
        """Return the weight of the claim in each sentence that has any, and its total weight."""
        held = [self._shares(keys) for keys in elements]
        scores = dict.fromkeys((i for shares in held for i in shares), 0.0)
        led = {i: self._led_by[i] for i in scores if i in self._led_by}
        total = 0.0
        for keys, shares, weight in zip(elements, held, _WEIGHTS[-len(held) :], strict=True):
            # an element in many sentences does not identify one
            weight *= math.log((len(self._sentences) + 1) / max(1.0, sum(shares.values())))
            weight *= len(keys - FUNCTION_WORDS) ** _LENGTH or _FUNCTION_WEIGHT
            total += weight
            for i, share in shares.items():
                scores[i] += weight * share
            for i, lead in led.items():
                scores[i] += weight * max(
                    0.0, _LEAD_IN_WEIGHT * shares.get(lead, 0.0) - shares.get(i, 0.0)
                )
        return scores, total

    def _shares(self, keys: set[str]) -> dict[int, float]:
        """Return the share of an element in each sentence that has any, in (0, 1].

        Rare words count more; function words count only if there is nothing else.
        """
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
        """Return the shortest stretch of the sentence with all words shared with the claim.

        Adjacent words are included; function words count only next to others, if there are others.
        """
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
        """Extend the stretch by a closing bracket or quote if one is opened in it."""
        opening = _CLOSING.get(self._response[end : end + 1])
        if opening and opening in self._response[start:end]:
            closing = self._response[end]
            inside = self._response[start:end]
            if opening == closing:
                return start, end + inside.count(opening) % 2
            return start, end + (inside.count(opening) > inside.count(closing))
        return start, end


def content(text: str) -> Counter[str]:
    """Count the content words of ``text`` by their normalised form."""
    return Counter(w.key for w in _words(text) if w.key not in FUNCTION_WORDS)


def _words(text: str, offset: int = 0) -> Iterator[_Word]:
    """Yield words with a letter or digit, each with its normalised form."""
    for start, end, word in word_spans(text):
        if any(map(str.isalnum, word)):
            yield _Word(offset + start, offset + end, key_of(word))


def _keys(text: str) -> set[str]:
    return {w.key for w in _words(text)}


def key_of(word: str) -> str:
    """Normalise a word for comparison: "location" matches "located", and "3" "three"."""
    low = word.casefold()
    if low.isdecimal() or low in FUNCTION_WORDS:
        return low
    low = _NUMBERS.get(low, low).replace(",", "")
    if len(low) == 4 and low.endswith("s") and not low.endswith("ss"):
        low = low[:-1]  # "cars" matches "car"
    return low[:_STEM_CHARACTERS]


def _shortest(keys: Sequence[str]) -> tuple[int, int]:
    """Return the first and last index of the shortest stretch with every key, the first in a
    tie.
    """
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
