"""A result in a few plain lines, for tools that show text: what is wrong, where, by what."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from veridical.text.wrap import harmless

if TYPE_CHECKING:
    from veridical.core.scores import Result

_EVIDENCE = 3
_LONGEST = 2_000


def headline(result: Result) -> str:
    """The verdict and the risk."""
    risk = "" if result.risk is None else f", risk {result.risk:.2f}"
    return f"{result.verdict}{risk}"


def told(result: Result, response: str, question: str | None = None) -> Iterator[str]:
    """Lines: the headline, why there is no verdict, the question, the worst sentence (the answer,
    where none was judged), and its evidence with the place of each."""
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
    """A foreign text on one line, its end left out where it is very long."""
    line = " ".join(harmless(text).split())
    return line if len(line) <= longest else line[: longest - 1] + "…"
