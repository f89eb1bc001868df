"""Notebook view of results: counts and the riskiest answers, as inert HTML."""

from __future__ import annotations

import html
from typing import TYPE_CHECKING

from veridical.core.explain import CSS, STYLES
from veridical.core.prompt_text import last_question
from veridical.errors import VeridicalError
from veridical.report.outcome import outcome
from veridical.text.display import cut
from veridical.text.wrap import harmless

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from veridical.core.records import Record
    from veridical.core.scores import Result
    from veridical.engine.results import RunResults

#: Maximum answers shown, and maximum characters per text.
SHOWN, LONGEST = 10, 300
#: Maximum failures shown.
FAILURES = 3
_CELL = "text-align:left;vertical-align:top;padding:.3em .8em .3em 0"
_HEAD = "text-align:left;border-bottom:1px solid;padding-right:.8em"


def results_html(results: RunResults) -> str:
    """Return the outcome in a sentence, and a table of the riskiest answers.

    The HTML has no script, style sheet, link or address. Foreign text is escaped, and colours are
    those of the surrounding page, light or dark.
    """
    parts = [f"<p><strong>{_escaped(outcome(results.summary()))}</strong></p>"]
    parts += [f"<p>{_escaped(str(failure))}</p>" for failure in results.failures()[:FAILURES]]
    worst = results.worst(SHOWN)
    if worst:
        records = _records(results, worst)
        questions = {row: last_question(record.prompt) for row, record in records.items()}
        names = ["id", "verdict", "risk", "worst sentence", "evidence"]
        names[1:1] = ["question"] if any(questions.values()) else []
        head = "".join(f'<th scope="col" style="{_HEAD}">{name}</th>' for name in names)
        rows = "".join(
            _row(result, questions.get(result.row, "") if len(names) > 5 else None, records)
            for result in worst
        )
        caption = f"The {len(worst)} riskiest" if len(worst) > 1 else "The riskiest"
        parts.append(
            '<table style="border-collapse:collapse;text-align:left;max-width:70em">'
            f'<caption style="text-align:left">{caption}</caption>'
            f"<thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"
        )
    return f"<div>{''.join(parts)}</div>"


def _records(results: RunResults, shown: Sequence[Result]) -> dict[int, Record]:
    """Return the records of some results by row; empty if the input cannot be read again."""
    try:
        return {r.row: r for r, _ in results.pairs({result.row for result in shown})}
    except (VeridicalError, OSError):
        return {}


def _row(result: Result, question: str | None, records: Mapping[int, Record]) -> str:
    record = records.get(result.row)
    shown = result.shown([] if record is None else [context.id for context in record.contexts])
    cells = [
        _escaped(str(result.id)),
        *([] if question is None else [_escaped(question)]),
        f'<span style="{CSS[STYLES[result.verdict]]}">{result.verdict}</span>',
        "" if result.risk is None else f"{result.risk:.2f}",
        _escaped(shown.worst_text("")),
        "".join(
            f"{_escaped(item.text)}<br><small>{_escaped(item.place)}</small>"
            for item in shown.evidence[:1]
        ),
    ]
    return f"<tr>{''.join(_cell(cell) for cell in cells)}</tr>"


def _cell(inside: str) -> str:
    return f'<td dir="auto" style="{_CELL}">{inside}</td>'


def _escaped(text: str) -> str:
    return html.escape(cut(harmless(text), LONGEST))
