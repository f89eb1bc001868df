"""The windows of sources that judge each sentence of a response, and the pairs to ask about."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from veridical.claims.select import Screened, SourceWindow, screen
from veridical.claims.select import source_windows as windows_of
from veridical.core.evidence import Evidence
from veridical.core.language_gate import LanguageGate
from veridical.core.records import Against, Record, Source
from veridical.core.stated import need_statements, stated, stated_window
from veridical.text.spans import Span
from veridical.text.statements import Statement


@dataclass(frozen=True)
class Windowed:
    """A response's sentences that state something, and what judges them.

    Attributes:
        unread: those that are not judged, as the model does not read them, or no source.
        partly: it does not read some of the sources that judge together.
        statements: the text that is judged in the place of each of ``sentences``.
        premises: the text to judge by in the place of each of ``windows``.
        readings: for each sentence, the windows that judge it: one entry for each group of
            sources that judge together. Contexts are one group, and so are references; each
            sample is one.
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
        """Premise and hypothesis of a sentence and a window, by their places."""
        return self.premises[window], self.statements[sentence].text

    def pairs(self) -> list[tuple[str, str]]:
        """Every pair that is to be asked, once."""
        places = (
            (i, int(k))
            for i, of_groups in enumerate(self.readings)
            for reading in of_groups
            for k in reading.read
        )
        return list(dict.fromkeys(self.pair(i, k) for i, k in places))

    def alternatives(self, pairs: Sequence[tuple[str, str]]) -> list[list[int]]:
        """Return the places in ``pairs`` of what judges each sentence by each group of sources, the
        window most about it first."""
        at = {pair: place for place, pair in enumerate(pairs)}
        return [
            [at[self.pair(i, k)] for k in dict.fromkeys([reading.about, *reading.read.tolist()])]
            for i, of_groups in enumerate(self.readings)
            for reading in of_groups
        ]


def source_windows(
    record: Record, evidence: Evidence, against: Against, top: int, gate: LanguageGate | None = None
) -> Windowed:
    """The windows of what the record is set ``against`` that can matter to its sentences, found
    once for all scorers that ask.

    Args:
        top: as of :func:`~veridical.scorers.grounding.nli_grounding.nli_grounding`.
        gate: leaves out sentences and sources in a language that the model does not read.

    Raises:
        NotApplicable: the response is blank or states nothing, or there is no source.
    """
    key = (source_windows, against, top, gate and gate.languages)
    return evidence.once(key, lambda: windowed(record, evidence, against, top, gate))


def windowed(
    record: Record, evidence: Evidence, against: Against, top: int, gate: LanguageGate | None = None
) -> Windowed:
    """:func:`source_windows` of any record, found anew: of one that is not the evidence's own."""
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
    """Of each text, the windows of each group that can matter to it, by place in ``windows``."""
    of_groups = [
        screen(texts, [windows[k].passage.text for k in g], evidence, top=top) for g in groups
    ]
    return [
        [Screened(g[s.read], int(g[s.about])) for g, s in zip(groups, of_text, strict=True)]
        for of_text in zip(*of_groups, strict=True)
    ]
