"""What each sentence of a response cites among its contexts, looked up without a model."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, TypeVar

from veridical.core.prompt_text import prompt_text
from veridical.core.records import Context, Record
from veridical.text.citations import (
    Citations,
    Link,
    Marker,
    Quotation,
    find_citations,
    find_links,
    heads_a_list,
    text_without,
)
from veridical.text.spans import Span
from veridical.text.stems import content_stems
from veridical.text.verbatim import verbatim

_URL = re.compile(r"https?://", re.IGNORECASE)
_MOST = 1000  # no number between brackets is read as a citation from here on

_FEWEST_WORDS = 3  # content words of a sentence whose source is told by its words
_LACKING = 0.5  # share of the words that a wrong source has, at most
_PRESENT = 0.7  # share of the words that the right source has, at least

_Item = TypeVar("_Item", Marker, Link, Quotation)


class QuotedPlace(NamedTuple):
    """Where a quotation stands word for word: of a context, by its index."""

    context: int
    start: int
    end: int


class Quoted(NamedTuple):
    """A quotation and where it stands: in what the sentence cites, or else in any context."""

    quotation: Quotation
    cited: QuotedPlace | None
    elsewhere: QuotedPlace | None


@dataclass
class CitedSentence:
    """A sentence of the response and what it cites.

    Attributes:
        said: its text without the markers; empty where it is nothing but markers.
        contexts: indices of the contexts it cites by position, id or link.
        missing: what it cites that is not there, as it is written.
        unknown: links that cannot be looked up, as no context has one.
        quoted: its quotations, those of the prompt left out.
        listed: it belongs to a list of sources and states nothing.
        count: how many citations it has, quotations and unknown links left out.
    """

    span: Span
    said: str
    contexts: list[int] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)
    unknown: list[str] = field(default_factory=list)
    quoted: list[Quoted] = field(default_factory=list)
    listed: bool = False
    count: int = 0

    @property
    def misquotes(self) -> bool:
        """Whether a quotation is not in what it must be in."""
        return any(q.cited is None for q in self.quoted)

    @property
    def cites(self) -> bool:
        """Whether it cites anything that could be looked up."""
        return bool(self.count or self.quoted)


def cited_sentences(record: Record) -> list[CitedSentence]:
    """The response's sentences that are not blank, with what each cites.

    A marker belongs to the sentence it stands in. At the beginning of a sentence, or alone, it
    belongs to the one before it, where that has none ("Lead is soft. [2] Tin is softer. [3]").

    Raises:
        NotApplicable: the response is blank.
    """
    sentences = record.need_sentences()
    sources = _Sources(record)
    found = find_citations(record.answer, sources.by_id.keys())
    said = _said(sentences, found.markers)
    owners = _owners(sentences, said, found)
    cited = []
    listed = False
    for sentence, text, own in zip(sentences, said, owners, strict=True):
        listed = listed or heads_a_list(sentence.text)
        of_sentence = CitedSentence(sentence, text, listed=listed)
        sources.look_up(of_sentence, own)
        cited.append(of_sentence)
    _look_up_quotations(cited, owners, record)
    return cited


def miscited(record: Record) -> dict[int, int | None]:
    """Return the sentences that cite another source than the one that has their words.

    A sentence is one of them if it cites a link that no context has though some have links, or if
    the contexts that it cites lack half of its content words and another context has most of them.

    Returns:
        By the offset where the sentence starts, the index of the context that has its words; None
        where there is none.
    """
    stems = [frozenset(content_stems(c.text)) for c in record.contexts]
    found: dict[int, int | None] = {}
    for sentence in cited_sentences(record):
        said = set(content_stems(sentence.said))
        if sentence.listed or len(said) < _FEWEST_WORDS:
            continue
        if any(_URL.match(name) for name in sentence.missing):
            found[sentence.span.start] = None
        elif sentence.contexts and not sentence.missing:
            shares = [len(said & known) / len(said) for known in stems]
            cited = max(shares[place] for place in sentence.contexts)
            best = max(range(len(shares)), key=shares.__getitem__)
            if cited < _LACKING and shares[best] >= _PRESENT:
                found[sentence.span.start] = best
    return found


class _Own(NamedTuple):
    """What a sentence cites, as it is written."""

    markers: list[Marker]
    links: list[Link]
    quotations: list[Quotation]


class _Sources:
    """The record's contexts, by what an answer may call them."""

    def __init__(self, record: Record) -> None:
        contexts = record.contexts
        self.by_id: dict[str, int] = {}
        self._by_link: dict[str, int] = {}
        for place, context in enumerate(contexts):
            if context.id is not None:
                self.by_id.setdefault(str(context.id), place)
            for url in _links_of(context):
                self._by_link.setdefault(_plain(url), place)
        #: Of each number, the context that it means: an id before a position.
        self._numbered: list[int | None] = [
            self.by_id.get(str(n), n - 1 if 1 <= n <= len(contexts) else None) for n in range(_MOST)
        ]

    def look_up(self, sentence: CitedSentence, own: _Own) -> None:
        """Fill in what a sentence cites."""
        places: dict[int, None] = {}
        for marker in own.markers:
            for first, last in marker.numbers:
                low, high = min(first, last), max(first, last)
                meant = self._numbered[low : high + 1]
                places.update(dict.fromkeys(p for p in meant if p is not None))
                absent = [n for n, p in enumerate(meant, low) if p is None]
                if absent:
                    several = f"{absent[0]}-{absent[-1]}"
                    sentence.missing.append(several if len(absent) > 1 else str(absent[0]))
                sentence.count += 1
            for name in marker.names:
                sentence.count += 1
                if name in self.by_id:
                    places[self.by_id[name]] = None
                else:
                    sentence.missing.append(name)
        for link in own.links:
            if not self._by_link:
                sentence.unknown.append(link.url)
                continue
            sentence.count += 1
            place = self._by_link.get(_plain(link.url))
            if place is None:
                sentence.missing.append(link.url)
            else:
                places[place] = None
        sentence.contexts.extend(places)


def _links_of(context: Context) -> Iterator[str]:
    if isinstance(context.id, str) and _URL.match(context.id):
        yield context.id
    if _URL.search(context.text):
        yield from (link.url for link in find_links(context.text))


def _plain(url: str) -> str:
    """An address without what makes no difference: scheme, ``www.``, fragment, last slash."""
    bare = url.partition("#")[0].partition("://")[2].rstrip("/")
    host, slash, path = bare.partition("/")
    return host.lower().removeprefix("www.") + slash + path


def _said(sentences: Sequence[Span], markers: Sequence[Marker]) -> list[str]:
    """The sentences without their markers; empty where nothing else is left."""
    said = []
    for sentence, own in _by_sentence(sentences, markers):
        places = [(m.start - sentence.start, m.end - sentence.start) for m in own]
        text = text_without(sentence.text, places)
        said.append(text if any(map(str.isalnum, text)) else "")
    return said


def _owners(sentences: Sequence[Span], said: Sequence[str], found: Citations) -> list[_Own]:
    """Of each sentence, what it cites."""
    own = [_Own([], [], []) for _ in sentences]
    for place, (sentence, markers) in enumerate(_by_sentence(sentences, found.markers)):
        edge = sentence.start  # markers up to here lead the sentence
        goes_back = place > 0 and (not own[place - 1].markers or not said[place])
        for marker in markers:
            leads = not sentence.text[edge - sentence.start : marker.start - sentence.start].strip()
            if leads and edge >= 0:
                edge = marker.end
                own[place - goes_back].markers.append(marker)
            else:
                own[place].markers.append(marker)
    for place, (_, links) in enumerate(_by_sentence(sentences, found.links)):
        own[place].links.extend(links)
    for place, (_, quotations) in enumerate(_by_sentence(sentences, found.quotations)):
        own[place].quotations.extend(quotations)
    return own


def _by_sentence(
    sentences: Sequence[Span], items: Sequence[_Item]
) -> Iterator[tuple[Span, list[_Item]]]:
    """Each sentence with the items that begin in it, or after it and before the next; of those
    before the first, none."""
    at = 0
    for i, sentence in enumerate(sentences):
        stop = sentences[i + 1].start if i + 1 < len(sentences) else None
        own = []
        while at < len(items) and (stop is None or items[at].start < stop):
            if items[at].start >= sentence.start:
                own.append(items[at])
            at += 1
        yield sentence, own


def _look_up_quotations(
    cited: Sequence[CitedSentence], owners: Sequence[_Own], record: Record
) -> None:
    """Find the quotations of each sentence in what it cites; of one that cites nothing else, in
    any context. One that is in no context, but in the prompt, quotes the prompt."""
    prompt = prompt_text(record.prompt)
    every = range(len(record.contexts))
    for sentence, own in zip(cited, owners, strict=True):
        for quotation in own.quotations:
            found = _find(quotation, sentence.contexts, record)
            elsewhere = found or _find(quotation, every, record)
            if elsewhere is None and prompt and verbatim(prompt).find(quotation.pieces):
                continue
            if found is None and not sentence.contexts and not sentence.missing:
                found = elsewhere
            sentence.quoted.append(Quoted(quotation, found, elsewhere))


def _find(quotation: Quotation, places: Iterable[int], record: Record) -> QuotedPlace | None:
    for place in places:
        span = verbatim(record.contexts[place].text).find(quotation.pieces)
        if span is not None:
            return QuotedPlace(place, *span)
    return None
