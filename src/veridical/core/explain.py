"""A result told to people: its verdict, the sentence that decided it, and what that rests on.

It is made as pieces of text with a style each, which become plain text, a coloured terminal's
text, or HTML.
"""

from __future__ import annotations

import html
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Literal, NamedTuple

from veridical.core.bands import EVEN as EVEN_PRIOR
from veridical.core.bands import explain_risk
from veridical.core.identity import Identity
from veridical.text.wrap import harmless, wrapped

if TYPE_CHECKING:
    from veridical.core.scores import EvidenceItem, Result, Unchecked, Unit, Verdict

Style = Literal["plain", "strong", "faint", "bad", "doubtful", "good"]
#: Columns of a line.
WIDTH = 80
#: A risk from here on speaks against a sentence of which no label says more.
EVEN = 0.5
_INDENT = "    "
_SHOWN = 3  # pieces of evidence of a sentence

STYLES: dict[Verdict, Style] = {
    "contradicted": "bad",
    "unsupported": "doubtful",
    "supported": "good",
    "inconsistent": "bad",
    "consistent": "good",
    "unchecked": "doubtful",
}
_MEANINGS: dict[Verdict, str] = {
    "contradicted": "a source says otherwise",
    "unsupported": "no source says so",
    "supported": "the sources say so",
    "inconsistent": "the samples disagree with it",
    "consistent": "the samples agree with it",
    "unchecked": "this says nothing about whether the answer is right",
}
#: Why an answer is unchecked, and what to do about it.
WHY: dict[Unchecked, tuple[str, str]] = {
    "no_statement": ("The answer states nothing: it is empty, a refusal or small talk.", ""),
    "nothing_to_check": (
        "There is nothing to check the answer against.",
        "Give contexts (the sources it should follow), samples (other answers to the same "
        "question) or a reference (the right answer).",
    ),
    "not_judged": (
        "Only words were compared; no scorer judged what the answer says.",
        "Use the default scorers, or name one that judges statements, such as claims.",
    ),
    "failed": ("The scoring failed.", "Remove the cause named here and run it again."),
    "language": (
        "No model of this run reads the language of the answer.",
        "Name a multilingual model: nli=ID in Python, --nli ID on the command line.",
    ),
    "earlier_version": (
        "The result was written by an earlier version, which gave no verdicts.",
        "Run the same check again.",
    ),
}
_ANSI: dict[Style, str] = {"strong": "1", "faint": "2", "bad": "31", "doubtful": "33", "good": "36"}
#: How a style looks on a page. Texts keep the page's own colour: it may be light or dark.
CSS: dict[Style, str] = {
    "strong": "font-weight:600",
    "faint": "opacity:.7",
    "bad": "text-decoration:underline 2px #d1242f",
    "doubtful": "text-decoration:underline 2px #bf8700",
    "good": "text-decoration:underline 2px #0a7bd6",
}


class Piece(NamedTuple):
    """A part of a text and how it looks."""

    style: Style
    text: str


def pieces(result: Result, question: str | None = None, *, width: int = WIDTH) -> Iterator[Piece]:
    """What is to be said of a result, in lines of at most ``width`` columns, each with its end."""
    yield from _headline(result, width)
    if question is not None:
        yield from _lines("faint", f"Question: {harmless(question)}", width)
    if result.reason is not None:
        yield from _unchecked(result, width)
    worst = result.worst
    wrong = [unit for unit in result.spans if unit.level == "span"]
    for unit in [u for u in result.spans if u.level != "span"] or wrong:
        yield Piece("plain", "\n")
        inside = [w for w in wrong if unit.start <= w.start and w.end <= unit.end and w != unit]
        yield from _sentence(result, unit, inside, unit == worst, width)


def plain(told: Iterable[Piece]) -> str:
    """The pieces without styles."""
    return "".join(piece.text for piece in told)


def ansi(told: Iterable[Piece]) -> str:
    """The pieces for a terminal that shows colours."""
    return "".join(
        f"\x1b[{_ANSI[style]}m{text}\x1b[0m" if style in _ANSI else text for style, text in told
    )


def as_html(told: Iterable[Piece]) -> str:
    """The pieces as one element, which needs no style sheet, script or address."""
    inside = "".join(
        f'<span style="{CSS[style]}">{html.escape(text)}</span>'
        if style in CSS
        else html.escape(text)
        for style, text in told
    )
    return f'<pre style="white-space:pre-wrap;margin:0">{inside}</pre>'


def verdict_of(unit: Unit, verdict: Verdict) -> Verdict:
    """What is said of a sentence of an answer with a ``verdict``."""
    if unit.label == "contradiction":
        return "contradicted"
    if unit.label in ("entailment", "supported"):
        return "supported"
    if unit.label in ("neutral", "unsupported"):
        return "unsupported"
    if unit.risk is None or verdict == "unchecked":
        return "unchecked"
    if verdict in ("consistent", "inconsistent"):
        return "inconsistent" if unit.risk >= EVEN else "consistent"
    return "unsupported" if unit.risk >= EVEN else "supported"


def why_unchecked(result: Result) -> str | None:
    """Why a result has no verdict, in a sentence; None where it has one."""
    if result.reason is None:
        return None
    causes = [
        f"{key}: {harmless(score.reason or 'no reason given')}"
        for key, score in result.scores.items()
        if score.status == "failed"
    ]
    sentence = WHY[result.reason][0]
    return f"{sentence} {'; '.join(causes)}" if causes and result.reason == "failed" else sentence


def place_of(evidence: EvidenceItem) -> str:
    """Where a piece of evidence stands, counted from 1: ``context 2, characters 120-180``."""
    kind = "reference" if evidence.kind == "reference" else f"{evidence.kind} {evidence.index + 1}"
    return f"{kind}, characters {evidence.start}-{evidence.end}"


def _headline(result: Result, width: int) -> Iterator[Piece]:
    meaning = _MEANINGS[result.verdict]
    yield Piece(STYLES[result.verdict], result.verdict.upper())
    yield Piece("plain", f": {meaning}\n")
    if result.risk is not None:
        yield from _lines("plain", _of_risk(result), width)


def prior_of(result: Result) -> float | None:
    """The share of wrong answers that the result's risk is calibrated to; None where it is not the
    default's, which is."""
    score = result.deciding
    if score is None or not isinstance(score.raw, dict) or "even_risk" not in score.raw:
        return None
    keys = [key for key, s in result.scores.items() if s is score]
    parameters = dict(Identity.read(keys[0]).parameters) if keys else {}
    return float(parameters.get("prior", EVEN_PRIOR))


def _of_risk(result: Result) -> str:
    assert result.risk is not None
    prior = prior_of(result)
    if prior is not None:
        return f"Risk {result.risk:.2f}, {explain_risk(result.risk, prior=prior)}."
    return f"Risk {result.risk:.2f} by {harmless(result.by or '')} (0 is the best, 1 the worst)."


def _unchecked(result: Result, width: int) -> Iterator[Piece]:
    assert result.reason is not None
    yield from _lines("plain", why_unchecked(result) or "", width)
    if advice := WHY[result.reason][1]:
        yield from _lines("strong", advice, width)


def _sentence(
    result: Result, unit: Unit, words: Sequence[Unit], worst: bool, width: int
) -> Iterator[Piece]:
    verdict = verdict_of(unit, result.verdict)
    wrong = verdict in ("contradicted", "unsupported", "inconsistent")
    style: Style = STYLES[verdict] if wrong else "plain"
    mark = ">>> " if worst and wrong else _INDENT
    yield from _lines(style, harmless(unit.text), width, mark)
    risk = "" if unit.risk is None else f", risk {unit.risk:.2f}"
    yield from _lines("faint", verdict + risk, width, _INDENT)
    if not wrong and not worst:
        return
    if words:
        listed = ", ".join(f'"{harmless(w.text)}"' for w in words)
        yield from _lines("strong", f"wrong words: {listed}", width, _INDENT)
    for evidence in unit.evidence[:_SHOWN]:
        yield from _lines("faint", place_of(evidence) + ":", width, _INDENT)
        yield from _lines("plain", f'"{harmless(evidence.text)}"', width, _INDENT * 2)


def _lines(style: Style, text: str, width: int, before: str = "") -> Iterator[Piece]:
    """``text`` wrapped, its first line after ``before`` and the others as far from the margin."""
    for i, line in enumerate(wrapped(text, width - len(before))):
        yield Piece("plain", " " * len(before) if i else before)
        yield Piece(style, line)
        yield Piece("plain", "\n")
