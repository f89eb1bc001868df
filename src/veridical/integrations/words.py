"""Result as a few plain lines: error, place and evidence."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from veridical.text.wrap import harmless

if TYPE_CHECKING:
    from veridical.core.scores import Result

_EVIDENCE = 3
_LONGEST = 2_000


def headline(result: Result) -> str:
    """Return the verdict and the risk."""
    risk = "" if result.risk is None else f", risk {result.risk:.2f}"
    return f"{result.verdict}{risk}"


def lines_of(result: Result, response: str, question: str | None = None) -> Iterator[str]:
    """Yield the lines of a result.

    These are the headline, the reason of a missing verdict, the question, the worst sentence (or
    the answer), and its evidence with places.
    """
    yield headline(result)
    shown = result.shown()
    if shown.why is not None:
        yield shown.why
    if question:
        yield f"question: {shortened(question)}"
    yield f"sentence: {shortened(shown.worst_text(response))}"
    for item in shown.evidence[:_EVIDENCE]:
        yield f'{item.place}: "{shortened(item.text)}"'
    if not shown.evidence and result.reason is None:
        yield "evidence: none"


def shortened(text: str, longest: int = _LONGEST) -> str:
    """Return an untrusted text on one line, cut if it is very long."""
    line = " ".join(harmless(text).split())
    return line if len(line) <= longest else line[: longest - 1] + "…"
