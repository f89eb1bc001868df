"""The meta-evaluation in the terminal."""

from __future__ import annotations

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from veridical.evaluate.result import AlignmentSplit, FactorTest, Study
from veridical.report.bench_flags import explained, ordered
from veridical.report.bench_view import broken, number, one_line, p_cell

ALIGNMENT = (
    "scorer",
    "avg. prec.",
    "trap. PR",
    "inverted",
    "P",
    "R",
    "F1",
    "acc.",
    "thresh.",
    "pos./neg.",
)


def print_study(study: Study, console: Console) -> None:
    """Alignment with people for each data set, then the tests of the factors."""
    for split in study.alignment:
        title = f"alignment with people: {split.suite} · {split.split}"
        console.print(Text(one_line(title), style="bold"))
        facts = f"n {split.n:,} · prevalence {number(split.prevalence)} · "
        console.print(Text(facts + f"majority weighted F1 {number(split.majority_f1)}"))
        console.print(_alignment(split))
    flags = [f for split in study.alignment for a in split.scorers for f in a.flags]
    for label, explanation, _ in explained(flags):
        console.print(Text(f"! {label}: {explanation}"))
    if study.tests:
        console.print(Text("does a factor change the score? (p > 0.05 in red)", style="bold"))
        console.print(_tests(study.tests))
    for note in study.notes:
        console.print(Text("note: " + one_line(note)))


def _table() -> Table:
    return Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), show_edge=False)


def _alignment(split: AlignmentSplit) -> Table:
    table = _table()
    for head in ALIGNMENT:
        figure = head != "scorer"
        table.add_column(head, justify="right" if figure else "left", no_wrap=figure)
    for a in split.scorers:
        name = Text(broken(one_line(a.scorer), 17))
        for flag in ordered(a.flags):
            name.append("\n ! " + one_line(flag.label), style="yellow")
        figures = (
            a.average_precision,
            a.area,
            a.area_inverted,
            a.precision,
            a.recall,
            a.f1,
            a.accuracy,
            a.threshold,
        )
        labels = f"{a.predicted_positive:,}/{a.predicted_negative:,}"
        table.add_row(name, *(Text(number(v)) for v in figures), Text(labels))
    return table


def _tests(tests: list[FactorTest]) -> Table:
    table = _table()
    for head in ("data", "scorer", "factor", "test", "p", "Holm p", "effect", "n"):
        right = head in ("p", "Holm p", "n")
        table.add_column(head, justify="right" if right else "left", overflow="fold")
    for t in tests:
        kept = t.p_holm if t.p_holm is not None else t.p
        style = "red" if kept is None or kept > 0.05 else ""
        effect = f"{t.effect} {number(t.effect_size)}"
        cells = (t.dataset, t.scorer, t.factor, t.test, p_cell(t.p), p_cell(t.p_holm), effect)
        table.add_row(*(Text(one_line(c)) for c in cells), Text(f"{t.n:,}"), style=style)
    return table
