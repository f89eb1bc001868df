"""Explained surprisal: share of the answer predictable from its sources."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from statistics import fmean
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from veridical.arrays import Floats
from veridical.core.evidence import Evidence
from veridical.core.records import Against, Record
from veridical.core.registry import scorer
from veridical.core.scores import SHOWN, Score, Unit
from veridical.core.tokens import GivenText, TokenProbabilities
from veridical.errors import ModelError, NotApplicable
from veridical.scorers.probability._readings import TokenReading
from veridical.scorers.probability._units import token_item, tokens_of
from veridical.text.facts import Facts
from veridical.text.passages import passages
from veridical.text.spans import Span

#: Characters of sources per reading (some 3 000 tokens), which most small models accept.
READ = 12_000
_BREAK = "\n\n"
#: Nats. A token that is certain without sources needs no explanation; it counts as explained if it
#: stays certain.
_LEAST = 0.05
#: Items with a higher risk are reported as units.
_UNEXPLAINED = 0.5


@scorer(
    "explained_surprisal",
    level="sentence",
    needs={"against"},
    source="Veridical: pointwise mutual information with the sources, over the surprisal",
    cost="probabilities",
    raw_is="risk",
    tuned_on={"wikibio": ()},
)
async def explained_surprisal(
    record: Record, evidence: Evidence, *, against: Against = "samples", proxy: str | None = None
) -> Score:
    """Compute the surprisal of names, numbers and dates that the sources leave unexplained.

    A language model reads the response twice: alone, and after the sources. The explained share of
    a token t is its pointwise mutual information with the sources divided by its surprisal: ``1 -
    log p(t | sources, before) / log p(t | before)``, clipped to [0, 1]. Content of the sources
    becomes predictable, as models copy it; other content stays as surprising as before. Models of
    100 million parameters copy well, so a small proxy is enough.

    A name, number or date (:class:`~veridical.text.facts.Facts`) takes the minimum over its tokens,
    as one wrong figure makes a wrong date. In a response without any of these, each word counts.
    Sources are read together, up to 12 000 characters (some 3 000 tokens) at once. A proxy with a
    shorter input sees the last part. Several readings are averaged for samples; for contexts and
    references the maximum per token counts.

    Args:
        against: the sources that should explain the response.
        proxy: the language model; None takes the run's (``--proxy``).

    A sentence's ``raw`` is one minus the mean share of its items, in [0, 1]. The response's is that
    of all items; ``risk`` is ``raw``. Items explained by less than half are units of level
    ``span``, labelled ``number``, ``date``, ``name`` or ``word``. A sentence without items has no
    risk. Its evidence is its (up to 3) least explained tokens, with their probabilities after the
    sources.

    Raises:
        NotApplicable: the response is blank or has no word, there is no source, or no proxy is
            named.
        ModelError: the proxy failed, or tokenizes the response differently after the sources.
    """
    text = record.need_response()
    sources = record.against(against)
    packs = _packs([s.text for s in sources])
    texts = [GivenText(pack + _BREAK, text) for pack in ("", *packs)]
    alone, *informed = [tokens.bounded() for tokens in await evidence.read(texts, proxy)]
    if any(not np.array_equal(tokens.ends, alone.ends) for tokens in informed):
        raise ModelError("the proxy tokenizes the response differently after the sources")
    logprobs = np.array([tokens.logprobs for tokens in informed])
    shares = explained(alone.logprobs, logprobs)
    of_all = np.mean if against == "samples" else np.max
    reading = TokenReading(
        text,
        TokenProbabilities(alone.starts, alone.ends, of_all(logprobs, axis=0)),
        np.arange(len(alone)),
    )
    return _of_items(record, reading, of_all(shares, axis=0))


def explained(alone: Floats, informed: Floats) -> Floats:
    """Return the (n,) share of each token's surprisal that the sources explain, in [0, 1].

    The arguments are the (n,) log-probabilities without and with sources.
    """
    shares: Floats = np.clip(1.0 - informed / np.minimum(alone, -_LEAST), 0.0, 1.0)
    return shares


def _packs(texts: Sequence[str]) -> list[str]:
    """Join the texts in order up to :data:`READ` characters; split longer ones between
    sentences.
    """
    packs: list[str] = []
    for text in texts:
        whole = text.strip()
        if not whole:
            continue
        pieces = [whole] if len(whole) <= READ else [w.text for w in passages(whole, READ, 0)]
        for piece in pieces:
            if packs and len(packs[-1]) + len(_BREAK) + len(piece) <= READ:
                packs[-1] += _BREAK + piece
            else:
                packs.append(piece)
    return packs


class _Item(NamedTuple):
    """A fact or a word to be explained, with its tokens."""

    label: str
    start: int
    end: int
    tokens: NDArray[np.int64]


def _of_items(record: Record, reading: TokenReading, shares: Floats) -> Score:
    """Build the score from the (n,) explained shares of the response's tokens."""
    units, raws = [], []
    sentences = record.need_sentences()
    for sentence, items in zip(sentences, _items(reading, sentences), strict=True):
        if not items:
            units.append(Unit.of(sentence, None))
            continue
        raw = [1.0 - float(shares[item.tokens].min()) for item in items]
        raws += raw
        tokens = np.unique(np.concatenate([item.tokens for item in items]))
        least_explained = tokens[np.argsort(shares[tokens], kind="stable")[:SHOWN]]
        mean = fmean(raw)
        evidence = [token_item(reading, i) for i in least_explained.tolist()]
        units.append(Unit.of(sentence, mean, raw=mean, evidence=evidence))
        for (label, start, end, _), value in zip(items, raw, strict=True):
            if value > _UNEXPLAINED:
                span = Span(start, end, reading.text[start:end])
                units.append(Unit.of(span, value, raw=value, level="span", label=label))
    if not raws:
        raise NotApplicable("the response has no word")
    whole = fmean(raws)
    return Score.of(whole, raw=whole, units=units)


def _items(reading: TokenReading, sentences: Sequence[Span]) -> list[list[_Item]]:
    """Return the names, numbers and dates of each sentence; without any in the response, its
    words.
    """
    facts = Facts(reading.text)
    places = zip(reading.tokens.starts.tolist(), reading.tokens.ends.tolist(), strict=True)
    wordy = np.array([any(c.isalnum() for c in reading.text[a:b]) for a, b in places], dtype=bool)

    def items(places: Iterable[tuple[str, int, int]]) -> list[_Item]:
        """Return the items whose tokens have a letter or a figure; skips stops as in "J. R."."""
        tokens = [(place, tokens_of(reading, Span(*place[1:], ""))) for place in places]
        return [_Item(*place, at[wordy[at]]) for place, at in tokens if wordy[at].any()]

    facts_by_sentence = facts.find([(s.start, s.end) for s in sentences])
    items_by_sentence = [items((f.kind, f.start, f.end) for f in row) for row in facts_by_sentence]
    if any(items_by_sentence):
        return items_by_sentence
    ranges = (facts.token_range(s.start, s.end) for s in sentences)
    return [items(("word", *span) for span in facts.spans[a:b]) for a, b in ranges]
