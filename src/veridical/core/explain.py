"""Explanation of a result for humans: verdict, deciding sentence and evidence.

It consists of styled text pieces, rendered as plain text, as ANSI-coloured terminal text or as
HTML.
"""

from __future__ import annotations

import html
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NamedTuple

from veridical.core.bands import explain_risk
from veridical.core.verdict_cuts import FLAGGED
from veridical.text.display import cut
from veridical.text.wrap import harmless, wrapped

if TYPE_CHECKING:
    from veridical.core.verdict_cuts import Unchecked, Verdict

Style = Literal["plain", "strong", "faint", "bad", "doubtful", "unsure", "good"]
#: Maximum columns of a line.
WIDTH = 80
_INDENT = "    "
_SHOWN = 3  # maximum pieces of evidence shown per sentence

STYLES: dict[Verdict, Style] = {
    "contradicted": "bad",
    "unsupported": "doubtful",
    "supported": "good",
    "inconsistent": "bad",
    "unclear": "unsure",
    "consistent": "good",
    "unchecked": "doubtful",
}
_MEANINGS: dict[Verdict, str] = {
    "contradicted": "a source says otherwise",
    "unsupported": "the sources do not support it",
    "supported": "the sources say so",
    "inconsistent": "the samples disagree with it",
    "unclear": "there is evidence against it, but not enough to flag it",
    "consistent": "the samples agree with it",
    "unchecked": "the answer was not judged, so it may be right or wrong",
}
#: Explanation of each reason for ``unchecked``, and the advice on it.
WHY: dict[Unchecked, tuple[str, str]] = {
    "no_statement": ("The answer states nothing: it is empty, a refusal or small talk.", ""),
    "missed_answer": (
        "The answer says that the sources do not contain the answer, but one of them has it.",
        "Read the passage shown here: it may answer the question.",
    ),
    "nothing_to_check": (
        "There is nothing to check the answer against.",
        "Give contexts (the sources it should follow), samples (other answers to the same "
        "question) or a reference (the right answer).",
    ),
    "not_judged": (
        "Only words were compared; no scorer judged what the answer says.",
        "Use the default scorers, or name one that judges statements, such as claims.",
    ),
    "failed": ("The scoring failed.", "Remove the cause named here and run the check again."),
    "language": (
        "No model of this run reads the language of the answer or of its sources.",
        "Name a multilingual model: --llm NAME or --nli ID on the command line, llm= or nli= in "
        "Python.",
    ),
    "earlier_version": (
        "The result was written by an earlier version, which had no verdicts.",
        "Run the same check again.",
    ),
}
_ANSI: dict[Style, str] = {
    "strong": "1",
    "faint": "2",
    "bad": "31",
    "doubtful": "33",
    "unsure": "35",
    "good": "36",
}
#: CSS of each style. Texts keep the page's own colour, which may be light or dark.
CSS: dict[Style, str] = {
    "strong": "font-weight:600",
    "faint": "opacity:.7",
    "bad": "text-decoration:underline 2px #d1242f",
    "doubtful": "text-decoration:underline 2px #bf8700",
    "unsure": "text-decoration:underline 2px dashed #8250df",
    "good": "text-decoration:underline 2px #0a7bd6",
}


@dataclass(frozen=True)
class ShownSource:
    """A piece of evidence.

    Attributes:
        index: index of the source among those of its ``kind``.
        closest: True for the closest passage to a sentence that nothing supports.
        id: id of the context; None without an id.
    """

    kind: str
    index: int
    start: int
    end: int
    text: str
    computed: str | None
    closest: bool
    id: str | int | None

    @property
    def source(self) -> str:
        """Name of the source, counted from 1: ``context 2``."""
        return f"{self.kind} {self.index + 1}"

    @property
    def place(self) -> str:
        """Location of the evidence, counted from 1: ``context 2, characters 120-180``."""
        kind = "reference" if self.kind == "reference" else self.source
        name = "" if self.id is None else f" ({cut(harmless(str(self.id)))})"
        return f"{kind}{name}, characters {self.start}-{self.end}"


class ShownPiece(NamedTuple):
    """A sentence, a claim or some words of an answer. ``path`` is set for structured answers."""

    start: int
    end: int
    text: str
    verdict: Verdict
    risk: float | None
    kind: str | None
    path: str | None
    evidence: tuple[ShownSource, ...]


class ShownResult(NamedTuple):
    """A result as every output shows it; see :meth:`.core.scores.Result.shown`.

    Attributes:
        prior: share of wrong answers to which the risk is calibrated; None unless the risk is the
            default's.
        why: the reason why there is no verdict, as a sentence; None if there is one.
        sentences: sentences or claims on which the verdict rests, in order.
        words: wrong words in them, where known.
        worst: the riskiest sentence; None if none has a risk.
    """

    verdict: Verdict
    risk: float | None
    by: str | None
    prior: float | None
    reason: Unchecked | None
    why: str | None
    invisible: int | None
    sentences: tuple[ShownPiece, ...]
    words: tuple[ShownPiece, ...]
    worst: ShownPiece | None

    def worst_text(self, answer: str) -> str:
        """Return the riskiest sentence, or the whole answer if none was judged."""
        return answer if self.worst is None else self.worst.text

    @property
    def evidence(self) -> tuple[ShownSource, ...]:
        """Evidence of the riskiest sentence."""
        return () if self.worst is None else self.worst.evidence


class StyledPiece(NamedTuple):
    """A piece of text with its style."""

    style: Style
    text: str


def pieces(
    shown: ShownResult, question: str | None = None, *, width: int = WIDTH
) -> Iterator[StyledPiece]:
    """Yield the lines of an explanation, each at most ``width`` columns and ending in a newline."""
    yield from _headline(shown, width)
    if question is not None:
        yield from _lines("faint", f"Question: {harmless(question)}", width)
    if shown.reason is not None:
        yield from _lines("plain", shown.why or "", width)
        if advice := WHY[shown.reason][1]:
            yield from _lines("strong", advice, width)
    for piece in shown.sentences or shown.words:
        yield StyledPiece("plain", "\n")
        yield from _sentence(shown, piece, width)


def plain(styled: Iterable[StyledPiece]) -> str:
    """Return the text of pieces without styles."""
    return "".join(piece.text for piece in styled)


def ansi(styled: Iterable[StyledPiece]) -> str:
    """Return pieces as text with ANSI colour codes."""
    return "".join(
        f"\x1b[{_ANSI[style]}m{text}\x1b[0m" if style in _ANSI else text for style, text in styled
    )


def as_html(styled: Iterable[StyledPiece]) -> str:
    """Return pieces as one HTML element that needs no style sheet, script or address."""
    inside = "".join(
        f'<span style="{CSS[style]}">{html.escape(text)}</span>'
        if style in CSS
        else html.escape(text)
        for style, text in styled
    )
    return f'<pre style="white-space:pre-wrap;margin:0">{inside}</pre>'


def _headline(shown: ShownResult, width: int) -> Iterator[StyledPiece]:
    meaning = _MEANINGS[shown.verdict]
    yield StyledPiece(STYLES[shown.verdict], shown.verdict.upper())
    yield StyledPiece("plain", f": {meaning}\n")
    if shown.risk is not None:
        yield from _lines("plain", _of_risk(shown), width)
    if n := shown.invisible:
        count = "1 invisible character was" if n == 1 else f"{n} invisible characters were"
        yield from _lines("strong", f"{count} removed before judging.", width)


def _of_risk(shown: ShownResult) -> str:
    assert shown.risk is not None
    if shown.prior is not None:
        return f"Risk {shown.risk:.2f}, {explain_risk(shown.risk, prior=shown.prior)}."
    return f"Risk {shown.risk:.2f} by {harmless(shown.by or '')} (0 is best, 1 is worst)."


def _sentence(shown: ShownResult, piece: ShownPiece, width: int) -> Iterator[StyledPiece]:
    verdict, worst = piece.verdict, piece == shown.worst
    wrong = verdict in FLAGGED
    doubted = wrong or verdict == "unclear"
    style: Style = STYLES[verdict] if doubted else "plain"
    mark = _INDENT if not (worst and doubted) else ">>> " if wrong else "  ? "
    named = f"{harmless(piece.path)}: " if piece.path is not None else ""
    yield from _lines(style, named + harmless(piece.text), width, mark)
    risk = "" if piece.risk is None else f", risk {piece.risk:.2f}"
    kind = f", {piece.kind}" if piece.kind is not None and doubted else ""
    yield from _lines("faint", verdict + kind + risk, width, _INDENT)
    if not doubted and not worst:
        return
    inside = [w for w in shown.words if piece.start <= w.start and w.end <= piece.end]
    if words := [w.text for w in inside if w != piece]:
        listed = ", ".join(f'"{harmless(text)}"' for text in words)
        yield from _lines("strong", f"wrong words: {listed}", width, _INDENT)
    for evidence in piece.evidence[:_SHOWN]:
        place = f"closest passage, {evidence.place}" if evidence.closest else evidence.place
        yield from _lines("faint", f"{place}:", width, _INDENT)
        yield from _lines("plain", f'"{harmless(evidence.text)}"', width, _INDENT * 2)
        if evidence.computed is not None:
            computed = f"computed: {harmless(evidence.computed)}"
            yield from _lines("plain", computed, width, _INDENT * 2)


def _lines(style: Style, text: str, width: int, before: str = "") -> Iterator[StyledPiece]:
    """Wrap ``text`` with ``before`` in front of the first line; indent further lines equally."""
    for i, line in enumerate(wrapped(text, width - len(before))):
        yield StyledPiece("plain", " " * len(before) if i else before)
        yield StyledPiece(style, line)
        yield StyledPiece("plain", "\n")
