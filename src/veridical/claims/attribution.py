"""Claims compared with sources: a verdict on each, and the places it rests on."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np

from veridical.claims.categories import categories
from veridical.claims.merge import Merged, merge_about, merge_any, merge_conflict, merge_mean
from veridical.claims.select import Selection, SourceWindow, select, source_windows
from veridical.core.protocols import LABELS
from veridical.core.scores import SHOWN, EvidenceItem
from veridical.core.stated import stated_window
from veridical.errors import ModelError, UsageError
from veridical.text.passages import SIZE, Passage
from veridical.text.relevance import Rarity, plain_words, rarity_in

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from veridical.claims.claim import Checker, Claim
    from veridical.core.evidence import Evidence
    from veridical.core.records import Source

Merge = Literal["about", "any", "conflict"]

#: Share of the best sentence's overlap with a claim from which another is evidence too.
NEAR = 0.8

_ENTAILMENT, _NEUTRAL = LABELS.index("entailment"), LABELS.index("neutral")
_SHORTEST = 100  # characters that a window may be asked to hold


class Vote(NamedTuple):
    """What one of several checkers says of a claim: its label, and the probabilities by name."""

    checker: str
    label: str
    probabilities: dict[str, float]


@dataclass(frozen=True)
class Verdict:
    """What sources say of a claim.

    Attributes:
        label: ``entailment``, ``neutral`` or ``contradiction``.
        probabilities: of those three, by name.
        evidence: sentences of the sources that it rests on, the most telling first, each with the
            probability of what its window says: of that window, the sentence that shares most words
            with the claim, words that are rare in the sources counting more; of one that does not
            entail the claim also sentences that share nearly as much (:data:`NEAR`). For a neutral
            claim the window is the one most about it.
        says: what each of those says, in the same order.
        conflict: some passages entail the claim and others contradict it.
        category: of a claim that is not entailed, one of
            :data:`~veridical.claims.categories.CATEGORIES`.
        votes: of each checker, in the order named, where there are several
            (:mod:`veridical.claims.majority`).
    """

    claim: Claim
    label: str
    probabilities: dict[str, float]
    evidence: tuple[EvidenceItem, ...]
    says: tuple[str, ...]
    conflict: bool
    category: str | None
    votes: tuple[Vote, ...] = ()

    @property
    def risk(self) -> float:
        """The probability that the claim is not entailed."""
        return min(1.0, max(0.0, round(1 - self.probabilities[LABELS[0]], 9)))


@dataclass(frozen=True)
class ReadingOptions:
    """How sources are read.

    Attributes:
        select: which windows a claim is checked by, see :func:`~veridical.claims.select.select`.
        top: how many of them; all where there are no more.
        ranker: the NLI model of ``select="cross_encoder"``.
        window: characters of a window of whole sentences, at least 100.
        merge: see :mod:`veridical.claims.merge`. ``any`` and ``about`` take all windows of all
            sources together; ``conflict`` joins the windows of a source as ``about`` does, then
            sources.

    Raises:
        UsageError: a number is out of range.
    """

    select: Selection = "bm25"
    top: int = 8
    ranker: str | None = None
    window: int = SIZE
    merge: Merge = "about"

    def __post_init__(self) -> None:
        if self.top < 1:
            raise UsageError(f"top must be at least 1, not {self.top}")
        if self.window < _SHORTEST:
            raise UsageError(f"window must be at least {_SHORTEST} characters, not {self.window}")


class _Read(NamedTuple):
    """A window, and the (3,) probabilities of one claim by it."""

    window: SourceWindow
    judged: NDArray[np.float64]


async def judge(
    claims: Sequence[Claim],
    sources: Sequence[Source],
    evidence: Evidence,
    checker: Checker,
    reading: ReadingOptions | None = None,
) -> list[Verdict]:
    """A verdict on each claim, in order.

    Sources are read in windows of whole sentences with exact offsets, the last sentence of one
    beginning the next. Samples are sources of their own, of which the mean of the verdicts
    counts; others are read together.

    Args:
        sources: at least one.

    Raises:
        ModelError: the checker gave something else than probabilities. Else as it raises.
    """
    reading = reading or ReadingOptions()
    read = source_windows([x.text for x in sources], reading.window)
    separate = sources[0].kind == "sample"
    groups = [list(g) for _, g in groupby(read, key=lambda w: w.source if separate else 0)]
    texts = [claim.text for claim in claims]
    chosen: list[list[list[SourceWindow]]] = [[] for _ in claims]  # by claim, then by group
    for group in groups:
        distinct = list(dict.fromkeys(w.passage.text for w in group))
        chosen_ids = await select(
            texts, distinct, evidence, how=reading.select, top=reading.top, ranker=reading.ranker
        )
        places: dict[str, list[int]] = {}
        alike: Counter[tuple[str, int]] = Counter()
        for place, window in enumerate(group):
            # of windows with the same text no more are read than are shown
            key = window.passage.text, window.source if reading.merge == "conflict" else 0
            alike[key] += 1
            if alike[key] <= SHOWN:
                places.setdefault(window.passage.text, []).append(place)
        for of_claim, ids in zip(chosen, chosen_ids, strict=True):
            of_claim.append([group[i] for i in sorted(i for n in ids for i in places[distinct[n]])])

    pairs = list(
        dict.fromkeys(
            (i, w.passage.text) for i, ws in enumerate(chosen) for part in ws for w in part
        )
    )
    record = evidence.record
    stated = {
        w.passage.text: stated_window(record, evidence, sources[w.source], w.passage) for w in read
    }
    asked = [(claims[i], stated[text]) for i, text in pairs]
    sentences = tuple(dict.fromkeys(s.text for w in read for s in w.passage.sentences))
    rarity = evidence.once((rarity_in, sentences), lambda: rarity_in(sentences))
    abouts = [_About(plain_words(text), rarity) for text in texts]
    best_counts = reading.merge == "about" and reading.select != "all"
    alternatives = _alternatives(pairs, chosen, abouts) if best_counts else []
    rows = _checked(await checker(asked, evidence, alternatives), len(pairs), alternatives)
    judged = {pair: row for pair, row in zip(pairs, rows, strict=True) if not np.isnan(row).any()}

    outcomes = []
    for i, (parts, about) in enumerate(zip(chosen, abouts, strict=True)):
        reads = [
            [_Read(w, judged[i, w.passage.text]) for w in part if (i, w.passage.text) in judged]
            for part in parts
        ]
        merged, leading = _merged(reads, about, reading.merge)
        outcomes.append((merged, _shown(merged, leading, sources, about)))
    labels = [LABELS[merged.label] for merged, _ in outcomes]
    kinds = categories(evidence.record.response, texts, labels, [s.text for s in sources])
    return [
        Verdict(
            claim,
            LABELS[merged.label],
            dict(zip(LABELS, merged.probabilities.tolist(), strict=True)),
            tuple(item for item, _ in shown),
            tuple(says for _, says in shown),
            merged.conflict,
            kind,
        )
        for claim, (merged, shown), kind in zip(claims, outcomes, kinds, strict=True)
    ]


def _alternatives(
    pairs: Sequence[tuple[int, str]],
    chosen: Sequence[Sequence[Sequence[SourceWindow]]],
    abouts: Sequence[_About],
) -> list[list[int]]:
    """Places of the pairs of each claim by each group of windows, the one most about it first."""
    at = {pair: place for place, pair in enumerate(pairs)}
    found = []
    for i, parts in enumerate(chosen):
        for part in parts:
            first = part[abouts[i].passage([w.passage for w in part])] if part[1:] else part[0]
            texts = dict.fromkeys(w.passage.text for w in (first, *part))
            found.append([at[i, text] for text in texts])
    return found


def _checked(
    rows: NDArray[np.float64], n: int, alternatives: Sequence[Sequence[int]]
) -> NDArray[np.float64]:
    rows = np.asarray(rows, np.float64)
    fits = rows.shape == (n, len(LABELS))
    if fits:
        optional = {place for places in alternatives for place in places[1:]}
        unread = np.isnan(rows).all(axis=1) & np.isin(np.arange(n), list(optional))
        read = rows[~unread]
        fits = bool(np.isfinite(read).all() and (read >= 0).all())
        fits = fits and bool((abs(read.sum(axis=1) - 1) <= 1e-3).all())
    if not fits:
        raise ModelError("the checker did not give the probabilities of three classes a pair")
    return rows


class _About(NamedTuple):
    """What is most about a claim, by the words they share."""

    claim: frozenset[str]
    rarity: Rarity

    def overlap(self, text: str) -> float:
        return self.rarity.overlap(self.claim, plain_words(text))

    def sentences(self, passage: Passage) -> list[int]:
        """Places of its sentences most about the claim: the first, and all with at least ``NEAR``
        of its overlap, by falling overlap, equals in order."""
        overlaps = np.array([self.overlap(s.text) for s in passage.sentences])
        order: list[int] = np.argsort(-overlaps, kind="stable").tolist()
        least = NEAR * overlaps[order[0]]
        return order[:1] + [i for i in order[1:] if overlaps[i] >= least > 0]

    def passage(self, passages: Sequence[Passage]) -> int:
        """Place of the passage with the sentence most about the claim; of several the one that is
        so as a whole, and of these the earliest."""
        keys = [
            (max(self.overlap(s.text) for s in p.sentences), self.overlap(p.text)) for p in passages
        ]
        return max(range(len(keys)), key=keys.__getitem__)


def _merged(
    groups: Sequence[Sequence[_Read]], about: _About, how: Merge
) -> tuple[Merged, list[_Read]]:
    """The verdict of several groups of windows, and the windows that its ``shown`` refers to."""
    each = [_of_group(group, about, how) for group in groups]
    if len(each) == 1:
        return each[0]
    return merge_mean([m for m, _ in each]), [_leading(m, reads) for m, reads in each]


def _of_group(group: Sequence[_Read], about: _About, how: Merge) -> tuple[Merged, list[_Read]]:
    reads = list(group)
    if how == "conflict":
        of_sources = [
            _of_group(list(part), about, "about")
            for _, part in groupby(reads, key=lambda r: r.window.source)
        ]
        merged = merge_conflict(np.array([m.probabilities for m, _ in of_sources]))
        return merged, [_leading(m, reads) for m, reads in of_sources]
    table = np.array([r.judged for r in reads])
    place = about.passage([r.window.passage for r in reads])
    merged = merge_any(table) if how == "any" else merge_about(table, place)
    if merged.label == _NEUTRAL:  # no window decides: the nearest is the one to look at
        merged = merged._replace(shown=((place, _NEUTRAL),))
    return merged, reads


def _leading(merged: Merged, reads: Sequence[_Read]) -> _Read:
    """The window that a verdict rests on first."""
    place, _ = merged.shown[0]
    return reads[place]


def _shown(
    merged: Merged, reads: Sequence[_Read], sources: Sequence[Source], about: _About
) -> list[tuple[EvidenceItem, str]]:
    """The sentence most about the claim in each window that is shown, and what that says; where
    there is room, sentences nearly as much about a claim that a window does not entail."""
    first: list[tuple[EvidenceItem, str]] = []
    more: list[tuple[EvidenceItem, str]] = []
    for place, label in merged.shown:
        (window, judged), source = reads[place], sources[reads[place].window.source]
        spans = window.passage.sentences
        best, *near = about.sentences(window.passage)
        for i in (best, *(near if label != _ENTAILMENT else ())):
            item = EvidenceItem.at(source, spans[i].start, spans[i].end, float(judged[label]))
            (first if i == best else more).append((item, LABELS[label]))
    shown: dict[tuple[int, int], tuple[EvidenceItem, str]] = {}
    for item, says in (*first, *more):  # windows that overlap may show the same
        shown.setdefault((item.index, item.start), (item, says))
    return list(shown.values())[:SHOWN]
