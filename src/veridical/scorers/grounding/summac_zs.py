"""SummaC-ZS: best entailment of each sentence (Laban et al. 2022)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from veridical.core.evidence import Evidence
from veridical.core.records import Against, Record, Source
from veridical.core.registry import scorer
from veridical.core.scores import SHOWN, EvidenceItem, Score, Unit
from veridical.core.stated import stated_sentences
from veridical.text.spans import Span

Granularity = Literal["sentence", "paragraph", "document"]

_BLANK_LINE = re.compile(r"\n[^\S\n]*\n")


@scorer(
    "summac_zs",
    level="sentence",
    judges=True,
    needs={"against"},
    source="Laban 2022, section 3.2",
    cost="nli",
    raw_is="confidence",
    presets={"all"},
    version=3,
)
async def summac_zs(
    record: Record,
    evidence: Evidence,
    *,
    against: Against = "contexts",
    granularity: Granularity = "sentence",
    contradiction: bool = True,
) -> Score:
    """Compute a sentence's best entailment by the document minus its worst contradiction.

    A sentence's value is ``max_d e(d, s) - max_d c(d, s)`` over the pieces d of the document, as
    premises; the response's is the mean over sentences.

    Args:
        against: all contexts together form the document. Each sample is a separate document, and
            values are averaged; of several references the best counts.
        granularity: pieces of the document: sentences (published), paragraphs, or the whole
            document.
        contradiction: False omits the second term, as in the paper's equation; the difference is
            the default of the published package. False is required for models without a
            contradiction class.

    ``raw`` (confidence) is in [-1, 1] and the risk ``(1 - raw) / 2``; without contradiction it is
    in [0, 1] and the risk ``1 - raw``. The evidence of a sentence is the piece that entails it
    best, with that probability and label. If the contradiction is larger, it is the piece that
    contradicts it most. The package drops sentences of at most 10 characters; here they count. A
    short answer is combined with its question into a statement.
    """
    sentences = record.need_sentences()
    sources = record.against(against)
    pieces = [_Piece(n, span) for n, x in enumerate(sources) for span in _split(x, granularity)]
    distinct = list(dict.fromkeys(p.span.text for p in pieces))
    column = {text: i for i, text in enumerate(distinct)}
    texts = stated_sentences(record, sentences)
    verdicts = await evidence.nli([(p, text) for text in texts for p in distinct])
    shape = (len(sentences), len(distinct))
    at = [column[p.span.text] for p in pieces]
    e = verdicts.entailment.reshape(shape)[:, at]
    c = verdicts.contradiction.reshape(shape)[:, at] if contradiction else np.zeros(e.shape)

    documents = _documents(pieces, len(sources), whole=against == "contexts")
    judged = [_Document(pieces, members, e[:, members], c[:, members]) for members in documents]
    values = np.array([d.value for d in judged])
    raw = values.mean(axis=0) if against == "samples" else values.max(axis=0)

    def risk(value: float) -> float:
        return min(1.0, max(0.0, (1 - value) / 2 if contradiction else 1 - value))

    units = []
    for i, sentence in enumerate(sentences):
        nearest = np.argsort(-values[:, i], kind="stable")
        deciding = [judged[n].shown(i) for n in nearest[: SHOWN if against == "samples" else 1]]
        units.append(
            Unit.of(
                sentence,
                risk(float(raw[i])),
                raw=float(raw[i]),
                label=("entailment" if raw[i] >= 0 else "contradiction") if contradiction else None,
                evidence=[
                    EvidenceItem.at(sources[p.source], p.span.start, p.span.end, probability)
                    for p, probability in deciding
                ],
            )
        )
    value = float(raw.mean())
    return Score.of(risk(value), raw=value, units=units)


class _Piece(NamedTuple):
    """A piece of a source, with the index of the source."""

    source: int
    span: Span


class _Document:
    """Verdicts of one document's pieces on n sentences.

    Args:
        members: indices into ``pieces``.
        e, c: (n, len(members)) probabilities.
    """

    def __init__(
        self,
        pieces: list[_Piece],
        members: list[int],
        e: NDArray[np.float64],
        c: NDArray[np.float64],
    ) -> None:
        self._pieces, self._members, self._e, self._c = pieces, members, e, c
        self.value: NDArray[np.float64] = e.max(axis=1) - c.max(axis=1)

    def shown(self, sentence: int) -> tuple[_Piece, float]:
        """Return the piece that decides a sentence's value, and its probability."""
        deciding = (self._e if self.value[sentence] >= 0 else self._c)[sentence]
        best = int(deciding.argmax())
        return self._pieces[self._members[best]], float(deciding[best])


def _documents(pieces: list[_Piece], sources: int, whole: bool) -> list[list[int]]:
    """Return the indices of the pieces of each document."""
    if whole:
        return [list(range(len(pieces)))]
    return [[i for i, p in enumerate(pieces) if p.source == n] for n in range(sources)]


def _split(source: Source, granularity: Granularity) -> list[Span]:
    """Split a source into pieces with exact offsets, at least one."""
    if granularity == "sentence":
        return source.sentences()
    whole = [Span(0, len(source.text), source.text)]
    return list(_paragraphs(source.text)) or whole if granularity == "paragraph" else whole


def _paragraphs(text: str) -> Iterator[Span]:
    """Yield paragraphs between blank lines or, without any, lines; stripped."""
    cut = _BLANK_LINE if _BLANK_LINE.search(text) else re.compile(r"\n")
    at = 0
    for start, end in [*(m.span() for m in cut.finditer(text)), (len(text), len(text))]:
        piece = text[at:start].strip()
        if piece:
            begin = text.index(piece, at)
            yield Span(begin, begin + len(piece), piece)
        at = end
