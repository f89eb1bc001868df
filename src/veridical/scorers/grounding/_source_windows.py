"""Source windows that each response sentence is judged by."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from veridical.claims.select import Screened, SourceWindow, screen
from veridical.claims.select import source_windows as windows_of
from veridical.core.evidence import Evidence
from veridical.core.language_gate import LanguageGate
from veridical.core.passage_verdicts import ENOUGH
from veridical.core.records import Against, Record, Source
from veridical.core.scores import DecidedBy
from veridical.core.stated import need_statements, stated, stated_window
from veridical.core.verdicts import Verdicts
from veridical.text.spans import Span
from veridical.text.statements import Statement


@dataclass(frozen=True)
class Windowed:
    """A response's sentences that make statements, and the windows for each.

    Attributes:
        unread: sentences not judged, as the model does not support their language or that of any
            source.
        partly: the model does not support the language of some sources of a group.
        statements: the text judged for each of ``sentences``.
        premises: the premise for each of ``windows``.
        readings: for each sentence, its windows, one entry per group of sources. All contexts form
            one group, and so do all references; each sample is its own group.
    """

    sentences: Sequence[Span]
    unread: Sequence[Span]
    partly: bool
    statements: Sequence[Statement]
    sources: Sequence[Source]
    windows: Sequence[SourceWindow]
    premises: Sequence[str]
    readings: Sequence[Sequence[Screened]]

    def pair(self, sentence: int, window: int) -> tuple[str, str]:
        """Return premise and hypothesis for the indices of a sentence and a window."""
        return self.premises[window], self.statements[sentence].text

    def pairs(self) -> list[tuple[str, str]]:
        """Return every distinct pair to judge."""
        places = (
            (i, int(k))
            for i, of_groups in enumerate(self.readings)
            for reading in of_groups
            for k in reading.read
        )
        return list(dict.fromkeys(self.pair(i, k) for i, k in places))

    def alternatives(self, pairs: Sequence[tuple[str, str]]) -> list[list[int]]:
        """Return the indices in ``pairs`` for each sentence and group, the closest window first."""
        at = {pair: place for place, pair in enumerate(pairs)}
        return [
            [at[self.pair(i, k)] for k in dict.fromkeys([reading.about, *reading.read.tolist()])]
            for i, of_groups in enumerate(self.readings)
            for reading in of_groups
        ]


def decided_by(read: Windowed, verdicts: Verdicts) -> dict[int, DecidedBy]:
    """Return the basis of each sentence of ``read``, by its start.

    Args:
        verdicts: those of :meth:`Windowed.pairs`, in order; NaN for a pair that was not read.
    """
    at = {pair: place for place, pair in enumerate(read.pairs())}
    decided: dict[int, DecidedBy] = {}
    for i, sentence in enumerate(read.sentences):
        groups = [[at[read.pair(i, int(k))] for k in r.read] for r in read.readings[i]]
        decided[sentence.start] = _basis(verdicts, groups, len(read.windows))
    return decided


def _basis(verdicts: Verdicts, groups: Sequence[Sequence[int]], windows: int) -> DecidedBy:
    """Return the basis of a sentence with these places in ``verdicts``, by group."""
    by_rules, entailment = verdicts.by_rules, verdicts.entailment
    places = [place for group in groups for place in group]
    unread = np.isnan(entailment)
    if by_rules is not None and (by_rules | unread)[places].all():
        return "rules"
    skipped = [group for group in groups if unread[group].any()]
    if skipped and all(np.nanmax(entailment[group]) >= ENOUGH for group in skipped):
        return "first_passages"
    return "near_passages" if skipped or len(places) < windows else "all_passages"


def source_windows(
    record: Record, evidence: Evidence, against: Against, top: int, gate: LanguageGate | None = None
) -> Windowed:
    """Select the windows of the ``against`` sources for each sentence, once per record.

    Args:
        top: as of :func:`~veridical.scorers.grounding.nli_grounding.nli_grounding`.
        gate: skips sentences and sources in unsupported languages.

    Raises:
        NotApplicable: the response is blank or states nothing, or there is no source.
    """
    key = (source_windows, against, top, gate and gate.languages)
    return evidence.once(key, lambda: windowed(record, evidence, against, top, gate))


def windowed(
    record: Record, evidence: Evidence, against: Against, top: int, gate: LanguageGate | None = None
) -> Windowed:
    """Compute :func:`source_windows` without the record's cache, for derived records."""
    said = need_statements(record)
    given = record.against(against)
    sources = list(given) if gate is None else gate.sources(given)
    read = (
        [gate is None or gate.reads_sentence(s) for s in said] if sources else [False] * len(said)
    )
    sentences = [s for s, r in zip(said, read, strict=True) if r]
    unread = [s for s, r in zip(said, read, strict=True) if not r]
    windows = windows_of([x.text for x in sources])
    separate = against == "samples"
    groups = [
        np.array([i for i, w in enumerate(windows) if w.source == n or not separate])
        for n in range(len(sources) if separate else 1)
    ]
    statements = [s for s, r in zip(stated(record, said), read, strict=True) if r]
    return Windowed(
        sentences,
        unread,
        len(sources) < len(given) and not separate,
        statements,
        sources,
        windows,
        [stated_window(record, evidence, sources[w.source], w.passage) for w in windows],
        _readings([s.text for s in statements], windows, groups, evidence, top)
        if sentences
        else [],
    )


def _readings(
    texts: Sequence[str],
    windows: Sequence[SourceWindow],
    groups: Sequence[NDArray[np.int64]],
    evidence: Evidence,
    top: int,
) -> list[list[Screened]]:
    """Return, for each text and group, the windows relevant to it, by index in ``windows``."""
    of_groups = [
        screen(texts, [windows[k].passage.text for k in g], evidence, top=top) for g in groups
    ]
    return [
        [Screened(g[s.read], int(g[s.about])) for g, s in zip(groups, of_text, strict=True)]
        for of_text in zip(*of_groups, strict=True)
    ]
