"""n-gram surprisal of the response's words under models of the samples.

One form is that of SelfCheckGPT (Manakul et al. 2023, section 5.3 and table 7). Two others exclude
the response from the counts.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Container, Iterable, Sequence
from itertools import chain, islice
from statistics import fmean
from typing import Annotated, Literal, NamedTuple

from pydantic import Field

from veridical.core.evidence import Evidence
from veridical.core.records import Against, Record, Source
from veridical.core.registry import scorer
from veridical.core.scores import EvidenceItem, Score, Unit
from veridical.errors import NotApplicable, UsageError
from veridical.text.spans import Span
from veridical.text.words import WordPlaces, lower_words

N = Literal[1, 2, 3, 4, 5]
Stat = Literal["max", "avg"]
Counting = Literal["leave_out", "paper"]
Tokenizer = Literal["builtin", "spacy"]
#: A word (n = 1), or n words of which the first may be padding.
Gram = str | tuple[str | None, ...]
Grams = Sequence[Gram]
Words = Callable[[str], Sequence[str]]

#: Surprisal (nats) that maps to risk 0.5: counts reach p = e^-5, shares of samples p = 1/e.
COUNT_SCALE = 5.0
PRESENCE_SCALE = 1.0
#: Response sentences above which the sources are indexed.
_MANY = 64
_EVIDENCE_ITEMS = 2
_MAX_K = 1e6  # beyond, all n-grams have the same probability


def ngrams(tokens: Iterable[str], n: int, lowercase: bool = True) -> Grams:
    """Return the n-grams of a sentence, one ending at each token, padded on the left."""
    read = [token.lower() for token in tokens] if lowercase else list(tokens)
    if n == 1:
        return read
    padded: list[str | None] = [*[None] * (n - 1), *read]
    return list(zip(*(padded[i:] for i in range(n)), strict=False))


class NgramModel(NamedTuple):
    """Probabilities of n-grams, ``(counts[gram] + k) / total``."""

    counts: Counter[Gram]
    total: float
    k: float
    seen: Container[Gram]  # grams of the sources

    def surprisals(self, grams: Grams) -> list[float]:
        """Return -ln p of each gram, in nats."""
        gram_counts = list(map(self.counts.get, grams))
        total = math.log(self.total)
        by_count = {count: total - math.log((count or 0) + self.k) for count in set(gram_counts)}
        return [by_count[count] for count in gram_counts]


def count_model(
    response: Sequence[Grams], sources: Sequence[Sequence[Grams]], counting: Counting, k: float
) -> NgramModel:
    """Return the model of joint relative frequencies, ``(count + k) / (N + k V)``.

    ``paper`` includes the response in the counts; ``leave_out`` does not. V is the number of
    distinct grams in both, so that p sums to 1 over them.
    """
    seen = Counter(chain.from_iterable(chain.from_iterable(sources)))
    counts = seen
    if counting == "paper":
        counts = seen + Counter(chain.from_iterable(response))
    distinct = len(seen) + len(set(chain.from_iterable(response)).difference(seen))
    return NgramModel(counts, counts.total() + k * distinct, k, seen)


def presence_model(sources: Sequence[Sequence[Grams]], k: float) -> NgramModel:
    """Return the model of the shares of the m sources with a gram, ``(count + k) / (m + 2 k)``."""
    distinct = (set(chain.from_iterable(source)) for source in sources)
    counts = Counter(chain.from_iterable(distinct))
    return NgramModel(counts, len(sources) + 2 * k, k, counts)


def passage_raw(sentences: Iterable[Sequence[float]], stat: Stat) -> float:
    """Combine surprisals of a passage: mean over tokens, or mean of the sentences' maxima."""
    scored = [s for s in sentences if s]
    if stat == "avg":
        return fmean(chain.from_iterable(scored))
    return fmean(map(max, scored))


def sentence_raw(surprisals: Sequence[float], stat: Stat) -> float:
    """Combine the surprisals of a sentence into one value."""
    return max(surprisals) if stat == "max" else fmean(surprisals)


def _smoothing(k: float | None, counting: Counting) -> float:
    if k is None:
        return 1.0 if counting == "leave_out" else 0.0
    if k == 0 and counting == "leave_out":
        raise UsageError("k must be above 0 unless counting=paper")
    return k


@scorer(
    "ngram",
    level="sentence",
    needs={"against"},
    source="Manakul 2023, section 5.3; left-out counting: ours",
    cost="free",
    presets={"all", "fast"},
    added={"lowercase"},
    tuned_on={"wikibio": ("counting",)},
    check=lambda k, counting, **_: _smoothing(k, counting),
)
async def ngram(
    record: Record,
    evidence: Evidence,
    *,
    n: N = 1,
    stat: Stat = "max",
    counting: Counting = "leave_out",
    k: Annotated[float, Field(ge=0, le=_MAX_K)] | None = None,
    tokenizer: Tokenizer = "builtin",
    lowercase: bool = True,
    against: Against = "samples",
) -> Score:
    """Surprisal of the response's rarest (or average) n-gram under counts of the samples.

    A sentence's ``raw`` is the maximum (``stat=max``) or mean of -ln p over its n-grams, in nats,
    >= 0. The passage's is the mean of the maxima, or the mean over all tokens. ``risk = raw / (raw
    + 5)``. ``counting=paper`` is SelfCheckGPT as published: joint relative frequencies that include
    the response (``k`` 0 by default). ``leave_out`` counts the samples only, with add-k smoothing
    (``k`` above 0, 1 by default). Punctuation is kept; tokens are lowercased, as published, unless
    ``lowercase=false``. A unit's evidence is the places where its rarest n-gram occurs.
    """
    text = _read(record, evidence, _Reading(n, tokenizer, lowercase), against)
    model = count_model(text.response, text.sources, counting, _smoothing(k, counting))
    return _score(text, model, stat, COUNT_SCALE)


@scorer(
    "ngram_presence",
    level="sentence",
    needs={"against"},
    source="ours, after Manakul 2023",
    cost="free",
    presets={"all", "fast"},
    added={"lowercase"},
    tuned_on={"wikibio": ()},
)
async def ngram_presence(
    record: Record,
    evidence: Evidence,
    *,
    n: N = 1,
    stat: Stat = "max",
    k: Annotated[float, Field(gt=0, le=_MAX_K)] = 1.0,
    tokenizer: Tokenizer = "builtin",
    lowercase: bool = True,
    against: Against = "samples",
) -> Score:
    """Surprisal of the response's n-grams by the share of samples in which each occurs.

    It differs from ``ngram(counting=leave_out)`` in the estimate p = (samples that contain the
    n-gram + k) / (samples + 2 k), which needs fewer samples. ``k > 0``. ``risk = raw / (raw + 1)``.
    """
    text = _read(record, evidence, _Reading(n, tokenizer, lowercase), against)
    return _score(text, presence_model(text.sources, k), stat, PRESENCE_SCALE)


class _Piece:
    """A source, or one sentence of it: its n-grams and their places in the source."""

    def __init__(self, span: Span, grams: Grams) -> None:
        self.grams = grams
        self._span = span

    def place(self, first: int, last: int, words: Words | None) -> tuple[int, int]:
        """Return the place in the source of tokens ``first..last`` of the piece.

        ``words`` is the source's tokenizer; None means this package's.
        """
        if self._places is None:
            text = self._span.text
            self._places = WordPlaces(text) if words is None else _places(text, words(text))
        start, end = self._places[first][0], self._places[last][1]
        return self._span.start + start, self._span.start + end

    _places: WordPlaces | list[tuple[int, int]] | None = None


def _places(text: str, tokens: Sequence[str]) -> list[tuple[int, int]]:
    """Return start and end of each token."""
    places = []
    at = 0
    for token in tokens:
        start = text.index(token, at)
        at = start + len(token)
        places.append((start, at))
    return places


class _Text(NamedTuple):
    """A record as n-grams; ``sources`` and ``pieces`` are parallel to ``places``."""

    n: int
    words: Words | None  # None: this package's tokenizer
    spans: tuple[Span, ...]
    response: list[Grams]
    places: list[Source]
    pieces: list[list[_Piece]]
    occurrences: dict[Gram, list[EvidenceItem]]  # filled on demand
    indexes: dict[int, dict[Gram, tuple[_Piece, int]]]  # filled on demand, by source

    def first_places(self, source: int) -> dict[Gram, tuple[_Piece, int]]:
        """Return the first place of every n-gram of a source."""
        index = self.indexes.get(source)
        if index is None:
            index = self.indexes[source] = {}
            for piece in reversed(self.pieces[source]):
                grams = piece.grams
                for i in range(len(grams) - 1, -1, -1):
                    index[grams[i]] = piece, i
        return index

    @property
    def sources(self) -> list[list[Grams]]:
        return [[p.grams for p in pieces] for pieces in self.pieces]


class _Reading(NamedTuple):
    """The parameters by which texts are split into n-grams."""

    n: int
    tokenizer: Tokenizer
    lowercase: bool


def _read(record: Record, evidence: Evidence, reading: _Reading, against: Against) -> _Text:
    """Split the record into n-grams, once for all its n-gram scorers."""
    return evidence.once((_read, reading, against), lambda: _read_once(record, reading, against))


def _read_once(record: Record, reading: _Reading, against: Against) -> _Text:
    n, tokenizer, lowercase = reading
    response = record.need_answer()
    places = record.against(against)
    if not any(map(str.isalnum, response)):
        raise NotApplicable("the response has no words")
    split: Callable[[str], Sequence[Span]]
    words: Words
    if tokenizer == "spacy":
        from veridical.text.spacy_text import spacy_sentences as split
        from veridical.text.spacy_text import spacy_words as words
    else:
        from veridical.text.sentences import split_sentences as split
        from veridical.text.words import words

    def grams(text: str) -> Grams:
        if n == 1 and tokenizer == "builtin" and lowercase:
            return lower_words(text)
        return ngrams(words(text), n, lowercase)

    pieces = []
    for place in places:
        # Without padding a sentence boundary changes nothing.
        spans = [Span(0, len(place.text), place.text)] if n == 1 else split(place.text)
        pieces.append([_Piece(s, grams(s.text)) for s in spans])
    if not any(p.grams for p in chain.from_iterable(pieces)):
        raise NotApplicable(f"the {against} have no words")
    sentences = [grams(s.text) for s in record.sentences]
    if not any(sentences):
        raise NotApplicable("the response's sentences have no words")
    given = None if tokenizer == "builtin" else words
    return _Text(n, given, record.sentences, sentences, places, pieces, {}, {})


def _score(text: _Text, model: NgramModel, stat: Stat, scale: float) -> Score:
    units = []
    values = []
    every = iter(model.surprisals(list(chain.from_iterable(text.response))))
    for span, grams in zip(text.spans, text.response, strict=True):
        surprisals = list(islice(every, len(grams)))
        values.append(surprisals)
        if not surprisals:
            units.append(Unit.of(span, None))
            continue
        raw = sentence_raw(surprisals, stat)
        rarest = grams[surprisals.index(max(surprisals))]
        occurrences = _occurrences(rarest, text) if rarest in model.seen else ()
        units.append(Unit.of(span, _risk(raw, scale), raw=raw, evidence=occurrences))
    raw = passage_raw(values, stat)
    return Score.of(_risk(raw, scale), raw=raw, units=units)


def _risk(raw: float, scale: float) -> float:
    """Map [0, inf) to [0, 1), strictly increasing; unlike 1 - p it does not saturate."""
    return raw / (raw + scale)


def _occurrences(gram: Gram, text: _Text) -> list[EvidenceItem]:
    """Return the gram's first place in each of the first sources that contain it."""
    items = text.occurrences.get(gram)
    if items is not None:
        return items
    items = text.occurrences[gram] = []
    many = len(text.spans) > _MANY
    for i, place in enumerate(text.places):
        at = text.first_places(i).get(gram) if many else _scan(gram, text.pieces[i])
        if at is None:
            continue
        piece, last = at
        start, end = piece.place(max(0, last - text.n + 1), last, text.words)
        items.append(EvidenceItem.at(place, start, end))
        if len(items) == _EVIDENCE_ITEMS:
            break
    return items


def _scan(gram: Gram, pieces: list[_Piece]) -> tuple[_Piece, int] | None:
    piece = next((p for p in pieces if gram in p.grams), None)
    return None if piece is None else (piece, piece.grams.index(gram))
