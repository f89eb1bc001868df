"""Claims compared with sources: verdicts and evidence."""

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

#: Minimum overlap, relative to the best sentence's, for further evidence sentences.
NEAR = 0.8

_ENTAILMENT, _NEUTRAL = LABELS.index("entailment"), LABELS.index("neutral")
_MIN_WINDOW_CHARACTERS = 100


class Vote(NamedTuple):
    """Vote of one of several checkers on a claim: its label and probabilities by name."""

    checker: str
    label: str
    probabilities: dict[str, float]


@dataclass(frozen=True)
class Verdict:
    """The verdict of the sources on a claim.

    Attributes:
        label: ``entailment``, ``neutral`` or ``contradiction``.
        probabilities: probabilities of those three, by name.
        evidence: sentences of the sources that support the verdict, the strongest first, each with
            the probability of its window's label. Of each window it is the sentence that shares
            most words with the claim, where words rare in the sources count more. A window that
            does not entail the claim also adds sentences with nearly as much overlap
            (:data:`NEAR`). For a neutral claim the window is the closest one.
        says: label of each evidence item, in the same order.
        conflict: True if some passages entail the claim and others contradict it.
        category: kind of error of a claim that is not entailed, one of
            :data:`~veridical.claims.categories.CATEGORIES`.
        votes: vote of each checker, in the order named, if there are several
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
        """Return the probability that the claim is not entailed."""
        return min(1.0, max(0.0, round(1 - self.probabilities[LABELS[0]], 9)))


@dataclass(frozen=True)
class ReadingOptions:
    """Options for splitting and selecting sources.

    Attributes:
        select: selection of windows for a claim, see :func:`~veridical.claims.select.select`.
        top: number of windows per claim; all if there are no more.
        ranker: the NLI model of ``select="cross_encoder"``.
        window: characters per window of whole sentences, at least 100.
        merge: see :mod:`veridical.claims.merge`. ``any`` and ``about`` merge all windows of all
            sources together; ``conflict`` merges the windows of each source as ``about`` does, then
            the sources.

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
        if self.window < _MIN_WINDOW_CHARACTERS:
            raise UsageError(
                f"window must be at least {_MIN_WINDOW_CHARACTERS} characters, not {self.window}"
            )


class _Read(NamedTuple):
    """A window and its (3,) probabilities for one claim."""

    window: SourceWindow
    judged: NDArray[np.float64]


async def judge(
    claims: Sequence[Claim],
    sources: Sequence[Source],
    evidence: Evidence,
    checker: Checker,
    reading: ReadingOptions | None = None,
) -> list[Verdict]:
    """Return a verdict on each claim, in order.

    Sources are split into windows of whole sentences with exact offsets, overlapping by one
    sentence. Verdicts of samples are averaged; other sources are read together.

    Args:
        sources: at least one.

    Raises:
        ModelError: the checker did not return probabilities. Other errors of the checker are passed
            on.
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
            # of windows with equal text, no more are judged than shown
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
    """Return, for each claim and group of windows, its pair indices, the closest first."""
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
        raise ModelError("the checker did not return three class probabilities per pair")
    return rows


class _About(NamedTuple):
    """Closest passages and sentences of a claim, by shared words."""

    claim: frozenset[str]
    rarity: Rarity

    def overlap(self, text: str) -> float:
        return self.rarity.overlap(self.claim, plain_words(text))

    def sentences(self, passage: Passage) -> list[int]:
        """Return the indices of the passage's sentences closest to the claim.

        They are the first, and all with at least ``NEAR`` of its overlap, by falling overlap, ties
        in order.
        """
        overlaps = np.array([self.overlap(s.text) for s in passage.sentences])
        order: list[int] = np.argsort(-overlaps, kind="stable").tolist()
        least = NEAR * overlaps[order[0]]
        return order[:1] + [i for i in order[1:] if overlaps[i] >= least > 0]

    def passage(self, passages: Sequence[Passage]) -> int:
        """Return the index of the passage with the sentence closest to the claim.

        Ties are resolved by the passage's own overlap, then by position.
        """
        keys = [
            (max(self.overlap(s.text) for s in p.sentences), self.overlap(p.text)) for p in passages
        ]
        return max(range(len(keys)), key=keys.__getitem__)


def _merged(
    groups: Sequence[Sequence[_Read]], about: _About, how: Merge
) -> tuple[Merged, list[_Read]]:
    """Merge the verdicts of several groups, with the windows that ``shown`` refers to."""
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
    if merged.label == _NEUTRAL:  # no window decides, so show the closest one
        merged = merged._replace(shown=((place, _NEUTRAL),))
    return merged, reads


def _leading(merged: Merged, reads: Sequence[_Read]) -> _Read:
    """Return the window that mainly supports a verdict."""
    place, _ = merged.shown[0]
    return reads[place]


def _shown(
    merged: Merged, reads: Sequence[_Read], sources: Sequence[Source], about: _About
) -> list[tuple[EvidenceItem, str]]:
    """Return the closest sentence of each shown window, with its label.

    If there is room, add nearly as close sentences of windows that do not entail the claim.
    """
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
    for item, says in (*first, *more):  # overlapping windows may show the same sentence
        shown.setdefault((item.index, item.start), (item, says))
    return list(shown.values())[:SHOWN]
