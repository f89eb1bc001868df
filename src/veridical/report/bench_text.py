"""A benchmark in the terminal: a table a split, what to beware of, and paired comparisons."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Literal

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from veridical.evaluate.result import Bench, Row
from veridical.report import bench_qa, bench_study_text
from veridical.report.bench_flags import Severity, Shown, explained
from veridical.report.bench_view import (
    BASELINES,
    Line,
    SplitView,
    all_flags,
    broken,
    interval,
    metric_name,
    number,
    one_line,
    p_value,
    share,
    views,
)

_STYLES: dict[Severity, str] = {"bad": "bold red", "warn": "yellow", "note": "cyan"}
_SHOWN_ERRORS = 5
_REASONS = 3
_SHORT = {"average_precision": "avg. prec.", "trapezoid_pr": "trap. PR"}
_OF_LABELS = ("accuracy", "balanced_accuracy", "f1", "macro_f1", "weighted_f1")
_WIDTH = 100  #: of a pipe or file, which has none of its own


def print_bench(bench: Bench, console: Console) -> None:
    """Print every split, then the flags explained, the study, and what could not be read."""
    with wide_enough(console):
        shown = views(bench)
        for view in shown:
            _print_split(view, console)
        _print_table_1(shown, console)
        for label, explanation, severity in explained(all_flags(shown)):
            _say(console, (f"! {label}: ", _STYLES[severity]), explanation)
        if bench.study is not None:
            bench_study_text.print_study(bench.study, console)
        if not shown and bench.study is None:
            _say(console, "There is no figure in this benchmark.")
        for note in bench.notes:
            _say(console, ("note: ", "dim"), one_line(note))
        if bench.n_row_errors:
            text = f"bad rows, counted as failed for every scorer: {bench.n_row_errors:,}"
            _say(console, (text, "bold red"))
        for error in bench.row_errors[:_SHOWN_ERRORS]:
            _say(console, "  bad row: ", one_line(_bad_row(error)))
        _say(console, ("signature: ", "dim"), one_line(bench.signature))


@contextmanager
def wide_enough(console: Console, width: int = _WIDTH) -> Iterator[None]:
    """A pipe is 80 columns to rich, which would tear names apart."""
    before = console.width
    if not console.is_terminal and before < width:
        console.width = width
    try:
        yield
    finally:
        console.width = before


def _say(console: Console, *parts: str | tuple[str, str]) -> None:
    console.print(Text.assemble(*parts))


def _print_split(view: SplitView, console: Console) -> None:
    s = view.split
    _say(console, (one_line(view.title), "bold"), f"  ({one_line(s.level)} level)")
    facts = [f"n {s.n_total:,}"]
    if s.n_positive is not None:
        facts.append(f"positive {s.n_positive:,} ({one_line(s.positive)})")
        facts.append(f"prevalence {number(view.prevalence)}")
    if s.n_groups:
        facts.append(f"independent units {s.n_groups:,}")
    _say(console, " · ".join(facts))
    for flag in view.flags:
        _say(console, (f"! {flag.label}", _STYLES[flag.severity]))
    if view.all_lines:
        console.print(_table(view, console.width))
        _print_labels(view, console)
        _print_duels(view, console)
    else:
        _say(console, "no scorer")
    for line in view.lines:
        row = line.counts(_headline(view))
        if row is not None and row.n_failed:
            _say(console, ("failed: ", "bold red"), one_line(_failures(line, row)))
    for note in view.notes:
        _say(console, ("note: ", "dim"), one_line(note))
    console.print()


def _table(view: SplitView, width: int) -> Table:
    heads = []
    for i, name in enumerate(view.main):
        printed = any(_paper(x, name) is not None for x in view.all_lines)
        title = _SHORT.get(name) or one_line(metric_name(name))
        heads.append(title + ("\n(paper)" if printed else ""))
        heads += ["95 % interval"] if i == 0 else []
    heads += ["scored", "cover."]
    shown = [line for part in view.table for line in part]
    figures = [_figures(view, line) for line in shown]
    columns = list(zip(heads, *figures, strict=True))
    taken = sum(2 + max(len(x) for cell in c for x in cell.split("\n")) for c in columns)
    longest = max(len(name) for name in BASELINES)
    room = max(longest, width - taken - 1)
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), show_edge=False)
    table.add_column("scorer", overflow="fold", min_width=longest)
    for head in heads:
        table.add_column(Text(head), justify="right", no_wrap=True)
    for line, cells in zip(shown, figures, strict=True):
        if len(view.table) > 1 and line is view.table[1][0]:
            table.add_section()
        counts = line.counts(_headline(view))
        poor = "bold red" if counts is None or counts.n_failed else ""
        styles = [""] * (len(cells) - 2) + [poor, poor]
        drawn = (Text(c, style=s) for c, s in zip(cells, styles, strict=True))
        table.add_row(_name(line, room), *drawn, style="dim" if line.baseline else "")
    return table


def _figures(view: SplitView, line: Line) -> list[str]:
    """The cells after the name."""
    cells = []
    for i, metric in enumerate(view.main):
        row = line.cells.get(metric)
        paper = _paper(line, metric)
        printed = f" ({number(paper)})" if paper is not None else ""
        cells.append(number(row.value if row else None) + printed)
        if i == 0:
            cells.append(interval(row.ci_low, row.ci_high) if row else "")
    counts = line.counts(_headline(view))
    if counts is None:
        return [*cells, "none", "-"]
    return [*cells, f"{counts.n_scored:,}/{counts.n_total:,}", share(counts.coverage)]


def _name(line: Line, room: int) -> Text:
    name = Text(broken(one_line(line.scorer), room))
    for flag in line.flags:
        name.append("\n ! " + one_line(flag.label), style=_flag_style(flag))
    return name


def _headline(view: SplitView) -> str:
    return view.main[0] if view.main else view.split.headline


def _flag_style(flag: Shown) -> str:
    return f"{_STYLES[flag.severity]} not dim"


def _paper(line: Line, metric: str) -> float | None:
    row = line.cells.get(metric)
    return None if row is None else row.paper


def _print_labels(view: SplitView, console: Console) -> None:
    """Baselines that give labels, not scores, have no figure in the table of a ranking."""
    for line in view.baselines:
        rows = [line.cells[m] for m in _OF_LABELS if m in line.cells]
        if rows and not any(m in line.cells for m in view.main):
            told = ", ".join(f"{metric_name(r.metric)} {number(r.value)}" for r in rows)
            _say(console, (f"{one_line(line.scorer)}: {told}", "dim"))


def _print_duels(view: SplitView, console: Console) -> None:
    if not view.duels:
        return
    best, metric = one_line(view.lines[0].scorer), metric_name(view.split.headline)
    _say(console, f"the best by {one_line(metric)}, {best}, minus each other (paired, Holm):")
    for duel in view.duels:
        difference = f"{number(duel.difference)} {interval(duel.low, duel.high)}".rstrip()
        text = f"{one_line(duel.other)}: {difference}, p {p_value(duel.p)}"
        _say(console, (f"  {duel.verdict} ", "" if duel.distinguishable else "bold"), text)


def _print_table_1(shown: Sequence[SplitView], console: Console) -> None:
    """Question answering as in the paper; intervals are in the tables of the splits."""
    found = bench_qa.table_1(shown)
    if found is None:
        return
    _say(console, ("right answers told from wrong ones (table 1)", "bold"))
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), show_edge=False)
    for i, head in enumerate(["scorer", "figure", *found.parts]):
        side: Literal["left", "right"] = "right" if i > 1 else "left"
        table.add_column(Text(one_line(head)), justify=side, overflow="fold")
    before = ""
    for row in found.rows:
        name = "" if row.group == before else one_line(row.group)
        before = row.group
        table.add_row(*map(Text, (name, row.figure, *(c.value for c in row.cells))))
    console.print(table)
    for note in found.notes:
        _say(console, ("note: ", "dim"), note)
    console.print()


def _bad_row(error: dict[str, Any]) -> str:
    """``file:line: row 3: field 'x': why``, of a stored row error."""
    line = error.get("line")
    place = f"{error.get('file')}" + ("" if line is None else f":{line}")
    field = f" field {error['field']!r}:" if error.get("field") else ""
    return f"{place}: row {error.get('row')}:{field} {error.get('error')}"


def _failures(line: Line, row: Row) -> str:
    most = sorted(row.failed_reasons.items(), key=lambda x: -x[1])
    why = "; ".join(f"{n:,} times: {reason}" for reason, n in most[:_REASONS])
    bounds = ""
    if row.worst is not None or row.best is not None:
        metric = metric_name(row.metric)
        bounds = f"; {metric} could be {number(row.worst)} to {number(row.best)}"
    counts = f"{line.scorer}, {row.n_failed:,} of {row.n_total:,}"
    return counts + (f": {why}" if why else "") + bounds
