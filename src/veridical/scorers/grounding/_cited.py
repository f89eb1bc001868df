"""Citations of each sentence among the contexts, resolved without a model."""

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
_CITATION_NUMBERS_BELOW = 1000  # a larger number in brackets is no citation

_MIN_CONTENT_WORDS = 3  # of a sentence whose source is found by its words
_MAX_WRONG_SOURCE_SHARE = 0.5  # of the sentence's words
_MIN_RIGHT_SOURCE_SHARE = 0.7

_Item = TypeVar("_Item", Marker, Link, Quotation)


class QuotedPlace(NamedTuple):
    """The place of a verbatim quotation in a context, given by its index."""

    context: int
    start: int
    end: int


class Quoted(NamedTuple):
    """A quotation and its place in the cited sources, or else in any context."""

    quotation: Quotation
    cited: QuotedPlace | None
    elsewhere: QuotedPlace | None


@dataclass
class CitedSentence:
    """A sentence of the response and what it cites.

    Attributes:
        said: its text without the markers; empty if it has only markers.
        contexts: indices of the contexts it cites by position, id or link.
        missing: citations that do not exist, as written.
        unknown: links that cannot be resolved, as no context has a link.
        quoted: its quotations, except those of the prompt.
        listed: True if it belongs to a list of sources and states nothing.
        count: number of citations, without quotations and unknown links.
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
        """Return True if a quotation is not in its required source."""
        return any(q.cited is None for q in self.quoted)

    @property
    def cites(self) -> bool:
        """Return True if it has a citation that could be resolved."""
        return bool(self.count or self.quoted)


def cited_sentences(record: Record) -> list[CitedSentence]:
    """Return the response's non-blank sentences with their citations.

    A marker belongs to the sentence that contains it. At the beginning of a sentence, or alone, it
    belongs to the previous sentence, if that has no marker ("Lead is soft. [2] Tin is softer.
    [3]").

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
    """Find the sentences that cite another source than the one with their words.

    A sentence is miscited if it cites a link that no context has although some have links. It is
    also miscited if the contexts it cites lack half of its content words and another context has
    most of them.

    Returns:
        A map from the sentence's start offset to the index of the context with its words; None if
        there is no such context.
    """
    stems = [frozenset(content_stems(c.text)) for c in record.contexts]
    found: dict[int, int | None] = {}
    for sentence in cited_sentences(record):
        said = set(content_stems(sentence.said))
        if sentence.listed or len(said) < _MIN_CONTENT_WORDS:
            continue
        if any(_URL.match(name) for name in sentence.missing):
            found[sentence.span.start] = None
        elif sentence.contexts and not sentence.missing:
            shares = [len(said & known) / len(said) for known in stems]
            cited = max(shares[place] for place in sentence.contexts)
            best = max(range(len(shares)), key=shares.__getitem__)
            if cited < _MAX_WRONG_SOURCE_SHARE and shares[best] >= _MIN_RIGHT_SOURCE_SHARE:
                found[sentence.span.start] = best
    return found


class _Own(NamedTuple):
    """The citations of a sentence, as written."""

    markers: list[Marker]
    links: list[Link]
    quotations: list[Quotation]


class _Sources:
    """The record's contexts by their possible names in an answer."""

    def __init__(self, record: Record) -> None:
        contexts = record.contexts
        self.by_id: dict[str, int] = {}
        self._by_link: dict[str, int] = {}
        for place, context in enumerate(contexts):
            if context.id is not None:
                self.by_id.setdefault(str(context.id), place)
            for url in _links_of(context):
                self._by_link.setdefault(_plain(url), place)
        #: Context that each number refers to; ids take precedence over positions.
        self._numbered: list[int | None] = [
            self.by_id.get(str(n), n - 1 if 1 <= n <= len(contexts) else None)
            for n in range(_CITATION_NUMBERS_BELOW)
        ]

    def look_up(self, sentence: CitedSentence, own: _Own) -> None:
        """Resolve the citations of a sentence, in place."""
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
    """Return an address without scheme, ``www.``, fragment and last slash."""
    bare = url.partition("#")[0].partition("://")[2].rstrip("/")
    host, slash, path = bare.partition("/")
    return host.lower().removeprefix("www.") + slash + path


def _said(sentences: Sequence[Span], markers: Sequence[Marker]) -> list[str]:
    """Return the sentences without their markers; empty if nothing else is left."""
    said = []
    for sentence, own in _by_sentence(sentences, markers):
        places = [(m.start - sentence.start, m.end - sentence.start) for m in own]
        text = text_without(sentence.text, places)
        said.append(text if any(map(str.isalnum, text)) else "")
    return said


def _owners(sentences: Sequence[Span], said: Sequence[str], found: Citations) -> list[_Own]:
    """Return the citations of each sentence."""
    own = [_Own([], [], []) for _ in sentences]
    for place, (sentence, markers) in enumerate(_by_sentence(sentences, found.markers)):
        edge = sentence.start  # markers up to here precede the sentence
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
    """Yield each sentence with the items between its start and the next sentence's start.

    Items before the first sentence are skipped.
    """
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
    """Find the quotations of each sentence in the sources it cites.

    A sentence without other citations may quote any context. A quotation in no context but in the
    prompt quotes the prompt.
    """
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
