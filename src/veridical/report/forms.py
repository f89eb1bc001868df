"""Report files; the extension of the name selects the format."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console

from veridical.errors import UsageError
from veridical.files.outputs import writing

#: Formats of reports, by extension.
FORMS = (".html", ".md", ".txt", ".json")
#: Formats of figure tables.
TABLES = (".csv", ".tex")

_TEX = str.maketrans(
    {
        **{sign: f"\\{sign}" for sign in "&%$#_{}"},
        "\\": r"\textbackslash{}",
        "~": r"\textasciitilde{}",
        "^": r"\textasciicircum{}",
        "<": r"\textless{}",
        ">": r"\textgreater{}",
        "|": r"\textbar{}",
    }
)


def form_of(path: Path, *, table: bool = False) -> str:
    """Return the format given by the name of a report.

    Args:
        table: True to accept the formats of :data:`TABLES`.

    Raises:
        UsageError: the name has no valid extension.
    """
    forms = (*FORMS, *TABLES) if table else FORMS
    form = path.suffix.lower()
    if form not in forms:
        raise UsageError(
            f"a report must be {', '.join(forms[:-1])} or {forms[-1]}, not {path.name!r}"
        )
    return form


def write_report_as(
    path: Path,
    *,
    html: Callable[[Path], object],
    markdown: Callable[[], str],
    text: Callable[[Console], object],
    json: Callable[[], str],
    table: Callable[[], Sequence[Mapping[str, Any]]] | None = None,
) -> None:
    """Write a report in the format given by the name of ``path``.

    Args:
        table: its figures as rows, for CSV and LaTeX.
    """
    form = form_of(path, table=table is not None)
    if form == ".html":
        html(path)
        return
    if form == ".txt":
        page = io.StringIO()
        text(Console(file=page, width=120, highlight=False))
        body = page.getvalue()
    elif table is not None and form in TABLES:
        body = csv_of(table()) if form == ".csv" else tex_of(table())
    else:
        body = markdown() if form == ".md" else json() + "\n"
    with writing(path) as out:
        out.write(body)


def csv_of(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return rows as CSV with a header; missing values are empty."""
    out = io.StringIO()
    writer = csv.DictWriter(out, list(rows[0]) if rows else [], lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue()


def tex_of(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return rows as a LaTeX tabular; empty columns are left out."""
    heads = [name for name in (rows[0] if rows else {}) if any(_filled(row[name]) for row in rows)]
    numbers = {
        name: all(isinstance(r[name], (int, float, type(None))) for r in rows) for name in heads
    }
    columns = "".join("r" if numbers[name] else "l" for name in heads)
    lines = [f"\\begin{{tabular}}{{{columns}}}", r"\hline", _tex_row(heads), r"\hline"]
    lines += [_tex_row([_cell(row[name]) for name in heads]) for row in rows]
    return "\n".join([*lines, r"\hline", r"\end{tabular}", ""])


def _filled(value: Any) -> bool:
    return value is not None and value != ""


def _cell(value: Any) -> str:
    if value is None:
        return ""
    return f"{value:.3f}" if isinstance(value, float) else str(value)


def _tex_row(cells: Sequence[str]) -> str:
    return " & ".join(" ".join(cell.split()).translate(_TEX) for cell in cells) + r" \\"
