"""A result told to people: its verdict, the sentence that decided it, and what that rests on.

It is made as pieces of text with a style each, which become plain text, a coloured terminal's
text, or HTML.
"""

from __future__ import annotations

import html
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol

from veridical.core.bands import EVEN as EVEN_PRIOR
from veridical.core.bands import explain_risk
from veridical.core.identity import Identity
from veridical.core.verdict_cuts import FLAGGED, verdict_of_label
from veridical.text.display import cut
from veridical.text.wrap import harmless, wrapped

if TYPE_CHECKING:
    from veridical.core.verdict_cuts import Unchecked, Verdict

Style = Literal["plain", "strong", "faint", "bad", "doubtful", "unsure", "good"]
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
    "unclear": "unsure",
    "consistent": "good",
    "unchecked": "doubtful",
}
_MEANINGS: dict[Verdict, str] = {
    "contradicted": "a source says otherwise",
    "unsupported": "the sources do not support it",
    "supported": "the sources say so",
    "inconsistent": "the samples disagree with it",
    "unclear": "something speaks against it, not enough to say so",
    "consistent": "the samples agree with it",
    "unchecked": "this says nothing about whether the answer is right",
}
#: Why an answer is unchecked, and what to do about it.
WHY: dict[Unchecked, tuple[str, str]] = {
    "no_statement": ("The answer states nothing: it is empty, a refusal or small talk.", ""),
    "missed_answer": (
        "The answer says that the sources do not tell, but one of them does.",
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
    "failed": ("The scoring failed.", "Remove the cause named here and run it again."),
    "language": (
        "No model of this run reads the language of the answer or of its sources.",
        "Name a multilingual model: --llm NAME or --nli ID on the command line, llm= or nli= in "
        "Python.",
    ),
    "earlier_version": (
        "The result was written by an earlier version, which gave no verdicts.",
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
#: How a style looks on a page. Texts keep the page's own colour: it may be light or dark.
CSS: dict[Style, str] = {
    "strong": "font-weight:600",
    "faint": "opacity:.7",
    "bad": "text-decoration:underline 2px #d1242f",
    "doubtful": "text-decoration:underline 2px #bf8700",
    "unsure": "text-decoration:underline 2px dashed #8250df",
    "good": "text-decoration:underline 2px #0a7bd6",
}


class ShownSource(Protocol):
    """The parts of an :class:`~.core.scores.EvidenceItem` that are shown."""

    @property
    def kind(self) -> str: ...
    @property
    def index(self) -> int: ...
    @property
    def start(self) -> int: ...
    @property
    def end(self) -> int: ...
    @property
    def text(self) -> str: ...
    @property
    def computed(self) -> str | None: ...


class ShownUnit(Protocol):
    """The parts of a :class:`~.core.scores.Unit` that are shown."""

    @property
    def level(self) -> str: ...
    @property
    def start(self) -> int: ...
    @property
    def end(self) -> int: ...
    @property
    def text(self) -> str: ...
    @property
    def risk(self) -> float | None: ...
    @property
    def label(self) -> str | None: ...
    @property
    def kind(self) -> str | None: ...
    @property
    def evidence(self) -> Sequence[ShownSource]: ...


class ShownScore(Protocol):
    """The parts of a :class:`~.core.scores.Score` that are shown."""

    @property
    def status(self) -> str: ...
    @property
    def reason(self) -> str | None: ...
    @property
    def raw(self) -> float | dict[str, Any] | None: ...


class ShownField(Protocol):
    """The parts of a :class:`~.core.scores.FieldResult` that are shown."""

    @property
    def start(self) -> int: ...
    @property
    def path(self) -> str: ...


class ShownResult(Protocol):
    """The parts of a :class:`~.core.scores.Result` that are shown."""

    @property
    def invisible(self) -> int | None: ...
    @property
    def risk(self) -> float | None: ...
    @property
    def by(self) -> str | None: ...
    @property
    def verdict(self) -> Verdict: ...
    @property
    def reason(self) -> Unchecked | None: ...
    @property
    def fields(self) -> Sequence[ShownField] | None: ...
    @property
    def scores(self) -> Mapping[str, ShownScore]: ...
    @property
    def deciding(self) -> ShownScore | None: ...
    @property
    def spans(self) -> Sequence[ShownUnit]: ...
    @property
    def worst(self) -> ShownUnit | None: ...


class StyledPiece(NamedTuple):
    """A part of a text and how it looks."""

    style: Style
    text: str


def pieces(
    result: ShownResult,
    question: str | None = None,
    *,
    width: int = WIDTH,
    sources: Sequence[str | int | None] = (),
) -> Iterator[StyledPiece]:
    """Describe a result in lines of at most ``width`` columns, each with its end.

    Args:
        sources: the ids of the record's contexts, in order, where it has some.
    """
    yield from _headline(result, width)
    if question is not None:
        yield from _lines("faint", f"Question: {harmless(question)}", width)
    if result.reason is not None:
        yield from _unchecked(result, width)
    worst = result.worst
    wrong = [unit for unit in result.spans if unit.level == "span"]
    paths = {f.start: f.path for f in result.fields or ()}
    for unit in [u for u in result.spans if u.level != "span"] or wrong:
        yield StyledPiece("plain", "\n")
        inside = [w for w in wrong if unit.start <= w.start and w.end <= unit.end and w != unit]
        path = paths.get(unit.start)
        yield from _sentence(result, unit, inside, unit == worst, width, path, sources)


def plain(told: Iterable[StyledPiece]) -> str:
    """The pieces without styles."""
    return "".join(piece.text for piece in told)


def ansi(told: Iterable[StyledPiece]) -> str:
    """The pieces for a terminal that shows colours."""
    return "".join(
        f"\x1b[{_ANSI[style]}m{text}\x1b[0m" if style in _ANSI else text for style, text in told
    )


def as_html(told: Iterable[StyledPiece]) -> str:
    """The pieces as one element, which needs no style sheet, script or address."""
    inside = "".join(
        f'<span style="{CSS[style]}">{html.escape(text)}</span>'
        if style in CSS
        else html.escape(text)
        for style, text in told
    )
    return f'<pre style="white-space:pre-wrap;margin:0">{inside}</pre>'


def verdict_of(unit: ShownUnit, verdict: Verdict) -> Verdict:
    """Return the verdict on a unit of an answer with a ``verdict``: that of its label, else, as in
    results of earlier versions, by its risk."""
    labelled = verdict_of_label(unit.label)
    if labelled is not None:
        return labelled
    if unit.risk is None or verdict == "unchecked":
        return "unchecked"
    if verdict in ("consistent", "inconsistent"):
        return "inconsistent" if unit.risk >= EVEN else "consistent"
    if unit.risk < EVEN:
        return "supported"
    return "unclear" if verdict == "unclear" else "unsupported"


def why_unchecked(result: ShownResult) -> str | None:
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


def place_of(evidence: ShownSource, sources: Sequence[str | int | None] = ()) -> str:
    """Return the place of evidence, counted from 1: ``context 2, characters 120-180``, with the
    id of the context where ``sources`` has it."""
    kind = "reference" if evidence.kind == "reference" else f"{evidence.kind} {evidence.index + 1}"
    if evidence.kind == "context" and evidence.index < len(sources):
        name = sources[evidence.index]
        kind += "" if name is None else f" ({cut(harmless(str(name)))})"
    return f"{kind}, characters {evidence.start}-{evidence.end}"


def source_of(
    evidence: ShownSource, verdict: Verdict, sources: Sequence[str | int | None] = ()
) -> str:
    """Return the place of a piece of evidence for a unit with a ``verdict``. Where the sources
    were not found to say so, the passage shown is the closest one and supports nothing."""
    closest = verdict in ("unsupported", "unclear") and evidence.kind != "token"
    place = place_of(evidence, sources)
    return f"closest passage, {place}" if closest else place


def _headline(result: ShownResult, width: int) -> Iterator[StyledPiece]:
    meaning = _MEANINGS[result.verdict]
    yield StyledPiece(STYLES[result.verdict], result.verdict.upper())
    yield StyledPiece("plain", f": {meaning}\n")
    if result.risk is not None:
        yield from _lines("plain", _of_risk(result), width)
    if n := result.invisible:
        count = "1 invisible character was" if n == 1 else f"{n} invisible characters were"
        yield from _lines("strong", f"{count} removed before judging.", width)


def prior_of(result: ShownResult) -> float | None:
    """The share of wrong answers that the result's risk is calibrated to; None where it is not the
    default's, which is."""
    score = result.deciding
    if score is None or not isinstance(score.raw, dict) or "even_risk" not in score.raw:
        return None
    keys = [key for key, s in result.scores.items() if s is score]
    parameters = dict(Identity.read(keys[0]).parameters) if keys else {}
    return float(parameters.get("prior", EVEN_PRIOR))


def _of_risk(result: ShownResult) -> str:
    assert result.risk is not None
    prior = prior_of(result)
    if prior is not None:
        return f"Risk {result.risk:.2f}, {explain_risk(result.risk, prior=prior)}."
    return f"Risk {result.risk:.2f} by {harmless(result.by or '')} (0 is the best, 1 the worst)."


def _unchecked(result: ShownResult, width: int) -> Iterator[StyledPiece]:
    assert result.reason is not None
    yield from _lines("plain", why_unchecked(result) or "", width)
    if advice := WHY[result.reason][1]:
        yield from _lines("strong", advice, width)


def _sentence(
    result: ShownResult,
    unit: ShownUnit,
    words: Sequence[ShownUnit],
    worst: bool,
    width: int,
    path: str | None,
    sources: Sequence[str | int | None],
) -> Iterator[StyledPiece]:
    verdict = verdict_of(unit, result.verdict)
    wrong = verdict in FLAGGED
    doubted = wrong or verdict == "unclear"
    style: Style = STYLES[verdict] if doubted else "plain"
    mark = _INDENT if not (worst and doubted) else ">>> " if wrong else "  ? "
    named = f"{harmless(path)}: " if path is not None else ""
    yield from _lines(style, named + harmless(unit.text), width, mark)
    risk = "" if unit.risk is None else f", risk {unit.risk:.2f}"
    kind = f", {unit.kind}" if unit.kind is not None and doubted else ""
    yield from _lines("faint", verdict + kind + risk, width, _INDENT)
    if not doubted and not worst:
        return
    if words:
        listed = ", ".join(f'"{harmless(w.text)}"' for w in words)
        yield from _lines("strong", f"wrong words: {listed}", width, _INDENT)
    for evidence in unit.evidence[:_SHOWN]:
        yield from _lines("faint", f"{source_of(evidence, verdict, sources)}:", width, _INDENT)
        yield from _lines("plain", f'"{harmless(evidence.text)}"', width, _INDENT * 2)
        if evidence.computed is not None:
            computed = f"computed: {harmless(evidence.computed)}"
            yield from _lines("plain", computed, width, _INDENT * 2)


def _lines(style: Style, text: str, width: int, before: str = "") -> Iterator[StyledPiece]:
    """``text`` wrapped, its first line after ``before`` and the others as far from the margin."""
    for i, line in enumerate(wrapped(text, width - len(before))):
        yield StyledPiece("plain", " " * len(before) if i else before)
        yield StyledPiece(style, line)
        yield StyledPiece("plain", "\n")
