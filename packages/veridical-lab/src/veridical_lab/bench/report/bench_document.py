"""Benchmark as a document: summary, warnings, a table per split, the study."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from rich.console import Console

from veridical.report import document
from veridical.report.document import (
    Block,
    BulletList,
    Heading,
    Line,
    Paragraph,
    StyledText,
    Table,
    TableFigure,
    Words,
)
from veridical.report.formats import interval, metric_name, number, p_cell, p_value, plain, share
from veridical_lab.bench.report import qa
from veridical_lab.bench.report.bench_answer import answer, warned
from veridical_lab.bench.report.flags import ordered
from veridical_lab.bench.report.view import Line as Scorer
from veridical_lab.bench.report.view import SplitView, Standing, overview, views
from veridical_lab.bench.result import (
    BASELINES,
    Agreement,
    AlignmentSplit,
    FactorTest,
    Row,
    StoredBench,
    Study,
)

_SHOWN_ERRORS = 5
_OF_LABELS = ("accuracy", "balanced_accuracy", "f1", "macro_f1", "weighted_f1")
_LONGEST = max(len(name) for name in BASELINES)
_NOTE = StyledText("note: ", "dim")


def print_bench(bench: StoredBench, console: Console) -> None:
    """Print the answer, what to beware of, every split, the study, and what could not be read."""
    document.show(_document(bench), console)


def markdown(bench: StoredBench) -> str:
    """Return the document, from the summary to the method."""
    return document.markdown(_document(bench))


def _document(bench: StoredBench) -> Iterator[Block]:
    shown = views(bench)
    scored = [v for v in shown if v.lines]
    first = answer(shown)
    if first is not None:
        yield Heading("Answer", only="markdown")
        yield first
    beware = warned(bench, shown)
    if beware:
        yield Heading("Beware of")
        yield BulletList(
            [
                [StyledText(w.label, "bad" if w.severity == "bad" else "strong"), f": {w.words}"]
                for w in beware
            ],
            "! ",
        )
        yield Paragraph("", only="terminal")
    if len(scored) > 1:
        yield from _overview(scored)
    yield from _table_1(shown)
    for view in shown:
        yield from _split(view)
    if bench.study is not None:
        yield from _study(bench.study)
    if not shown and bench.study is None:
        yield Paragraph("This benchmark has no figures.")
    yield from _making(bench)


def _making(bench: StoredBench) -> Iterator[Block]:
    yield Heading("Run details", only="markdown")
    yield BulletList([bench.signature], StyledText("signature: ", "dim"), only="terminal")
    facts: list[Words] = [
        ["signature: ", StyledText(bench.signature, "name")],
        f"made: {bench.created} with veridical {bench.version}",
        *(f"{k}: {plain(v)}" for k, v in bench.settings.items()),
    ]
    for scorer, signature in bench.signatures.items():
        facts.append([StyledText(scorer, "name"), ": ", StyledText(signature, "name")])
    yield BulletList(facts, only="markdown")
    yield BulletList(bench.notes, _NOTE)
    if bench.n_row_errors:
        count = f"bad rows, counted as failed for every scorer: {bench.n_row_errors:,}"
        yield BulletList([StyledText(count, "bad")], "")
    bad = [_bad_row(error) for error in bench.row_errors[:_SHOWN_ERRORS]]
    yield BulletList(bad, "  bad row: ", only="terminal")


def _overview(shown: Sequence[SplitView]) -> Iterator[Block]:
    yield Heading("All splits", only="markdown")
    yield Paragraph(
        "The headline figure with its 95 % interval. The best scorer of a split is bold; a dagger "
        "marks those without a significant difference from it (paired bootstrap, Holm).",
        only="markdown",
    )
    heads = [f"{v.title}, {metric_name((v.main or ['-'])[0])}" for v in shown]
    lines = [
        Line(StyledText(x.scorer, "name"), [_standing(r, s) for r, s in x.cells], dim=x.baseline)
        for x in overview(shown)
    ]
    yield Table(["Scorer", *heads], lines, only="markdown")


def _standing(row: Row | None, standing: Standing) -> TableFigure:
    if row is None or row.value is None:
        return TableFigure("-")
    value = number(row.value) + ("†" if standing == "level" else "")
    bounds = interval(row.ci_low, row.ci_high)
    return TableFigure(value, bounds, style="strong" if standing == "best" else "")


def _table_1(shown: Sequence[SplitView]) -> Iterator[Block]:
    """Yield the table of question answering as in the paper, if requested."""
    table = qa.table_1(shown)
    if table is None:
        return
    yield Heading("Detection of right answers (table 1)")
    lines = []
    for row in table.rows:
        cells = [TableFigure(f"{c.value} {c.interval}".strip()) for c in row.cells]
        lines.append(Line(StyledText(row.group, "name"), [TableFigure(row.figure), *cells]))
    yield Table(["Scorer", "Figure", *table.parts], lines)
    yield BulletList(table.notes, _NOTE)


def _split(view: SplitView) -> Iterator[Block]:
    s = view.split
    yield Heading(view.title)
    facts: list[str | StyledText] = [f"{s.level} level", f" · n {s.n_total:,}"]
    if s.n_positive is not None:
        facts.append(f" · positive {s.n_positive:,} ({s.positive})")
        facts.append(f" · prevalence {number(view.prevalence)}")
    if s.n_groups:
        facts.append(f" · independent units {s.n_groups:,}")
    for flag in view.flags:
        facts += [" · ", StyledText(flag.label, "bad")]
    yield Paragraph(facts)
    if view.all_lines:
        yield _main_table(view)
        yield BulletList(list(_labels(view)), "", only="terminal")
        yield from _pairings(view)
    else:
        yield Paragraph("No scorer has a figure on this split.")
    if s.ranks:
        yield from _ranks(view)
    yield BulletList(list(_failures(view)), StyledText("failed: ", "bad"))
    yield BulletList(view.notes, _NOTE)
    yield Paragraph("", only="terminal")
    if view.others:
        lines = [
            Line(StyledText(x.scorer, "name"), [_figure(x, m) for m in view.others], dim=x.baseline)
            for x in view.all_lines
        ]
        heads = ["Scorer", *map(metric_name, view.others)]
        yield Table(heads, lines, details="Other metrics", only="markdown")
    for curve in s.samples:
        metric = f"{metric_name(curve.metric)} of "
        words: list[str | StyledText] = [
            metric,
            StyledText(curve.scorer, "name"),
            " by number of samples:",
        ]
        yield Paragraph(words, only="markdown")
        figures = [TableFigure(number(v), interval(a, b)) for _, v, a, b in curve.points]
        heads = ["Samples", *(str(n) for n, *_ in curve.points)]
        yield Table(heads, [Line("value", figures)], only="markdown")


def _main_table(view: SplitView) -> Table:
    lines = []
    for part in view.table:
        for x in part:
            counts = x.counts(view.main[0] if view.main else view.split.headline)
            figures = [_figure(x, m, bounds=i == 0) for i, m in enumerate(view.main)]
            if counts is None:
                figures += [TableFigure("none", style="bad"), TableFigure("-")]
            else:
                style: document.Style = "bad" if counts.n_failed else ""
                scored = f"{counts.n_scored:,}/{counts.n_total:,}"
                figures += [TableFigure(scored, style=style), TableFigure(share(counts.coverage))]
            section = part is not view.table[0] and x is part[0]
            flags = () if x.baseline else x.flags
            lines.append(Line(StyledText(x.scorer, "name"), figures, flags, x.baseline, section))
    heads = ["Scorer", *map(metric_name, view.main), "Scored / total", "Coverage"]
    return Table(heads, lines, flagged=True, least=_LONGEST)


def _figure(line: Scorer, metric: str, *, bounds: bool = True) -> TableFigure:
    row = line.cells.get(metric)
    if row is None:
        return TableFigure("-")
    paper = "" if row.paper is None else number(row.paper)
    return TableFigure(
        number(row.value), interval(row.ci_low, row.ci_high) if bounds else "", paper
    )


def _labels(view: SplitView) -> Iterator[Words]:
    """Yield the baselines that give labels without scores, which rankings leave out."""
    for line in view.baselines:
        rows = [line.cells[m] for m in _OF_LABELS if m in line.cells]
        if rows and not any(m in line.cells for m in view.main):
            figures = ", ".join(f"{metric_name(r.metric)} {number(r.value)}" for r in rows)
            yield StyledText(f"{line.scorer}: {figures}", "dim")


def _pairings(view: SplitView) -> Iterator[Block]:
    if not view.pairings:
        return
    best = StyledText(view.lines[0].scorer, "name")
    by = metric_name(view.split.headline)
    yield Paragraph([best, f", the best by {by}, against the others (paired, p after Holm):"])
    lines: list[Words] = []
    for d in view.pairings:
        verdict = StyledText(d.verdict, "" if d.distinguishable else "strong")
        difference = f"{number(d.difference)} {interval(d.low, d.high)}".strip()
        figures = StyledText(f": difference {difference}, p {p_value(d.p)}", "figures")
        lines.append([verdict, " ", StyledText(d.other, "name"), figures])
    yield BulletList(lines)


def _ranks(view: SplitView) -> Iterator[Block]:
    words: list[str | StyledText] = ["Mean ranks over the resamples: "]
    for i, r in enumerate(sorted(view.split.ranks, key=lambda r: r.rank)):
        words += [", " * bool(i), StyledText(r.scorer, "name"), f" {r.rank:.2f}"]
    yield Paragraph([*words, "."], only="markdown")
    words = ["Not distinguishable from each other (critical difference): "]
    cliques = [clique for clique in view.split.cliques if len(clique) > 1]
    for i, clique in enumerate(cliques):
        words.append("; " * bool(i))
        for j, name in enumerate(clique):
            words += [" = " * bool(j), StyledText(name, "name")]
    yield Paragraph([*words, "." if cliques else "none."], only="markdown")


def _failures(view: SplitView) -> Iterator[Words]:
    for line in view.lines:
        row = line.counts(view.main[0] if view.main else view.split.headline)
        if row is not None and row.n_failed:
            most = sorted(row.failed_reasons.items(), key=lambda x: -x[1])
            why = "; ".join(f"{n:,} × {reason}" for reason, n in most) or "no reason given"
            yield [
                StyledText(line.scorer, "name"),
                f" failed on {row.n_failed:,} of {row.n_total:,} ({why}); "
                f"{metric_name(row.metric)} could be {number(row.worst)} to {number(row.best)}",
            ]


def _bad_row(error: dict[str, Any]) -> str:
    """Format a stored row error as ``file:line: row 3: field 'x': why``."""
    line = error.get("line")
    place = f"{error.get('file')}" + ("" if line is None else f":{line}")
    field = f" field {error['field']!r}:" if error.get("field") else ""
    return f"{place}: row {error.get('row')}:{field} {error.get('error')}"


def _study(study: Study) -> Iterator[Block]:
    yield Heading("Meta-evaluation")
    for split in study.alignment:
        yield from _alignment(split)
    if study.tests:
        yield Heading("Does a factor change the score?", 3)
        heads = ["Data", "Scorer", "Factor", "Test", "p", "p (Holm)", "Effect", "n", "Change"]
        yield Table(heads, [_test(t) for t in study.tests])
        lines = [_level_means(t) for t in study.tests if t.p is not None]
        yield Table(["Data", "Scorer", "Factor", "Mean of each level"], lines, only="markdown")
    for agreement in study.agreement:
        yield from _agreement(agreement)
    yield BulletList(study.notes, _NOTE)


def _agreement(of: Agreement) -> Iterator[Block]:
    yield Heading(f"Do the scorers agree on {of.dataset}?", 3, only="markdown")
    yield Paragraph(
        f"Spearman's rank correlation of the values of {of.n:,} answers: of some scorers less is "
        "better. Columns are numbered like the rows.",
        only="markdown",
    )
    lines = [
        Line(StyledText(f"{i}. {name}", "name"), [TableFigure(number(v)) for v in row])
        for i, (name, row) in enumerate(zip(of.scorers, of.spearman, strict=True), 1)
    ]
    heads = ["Scorer", *(str(i) for i in range(1, len(of.scorers) + 1))]
    yield Table(heads, lines, only="markdown")


def _alignment(split: AlignmentSplit) -> Iterator[Block]:
    yield Heading(f"Agreement with people: {split.suite} · {split.split}", 3)
    facts = f"n {split.n:,} · prevalence {number(split.prevalence)} · weighted F1 of the majority "
    yield Paragraph(facts + f"class {number(split.majority_f1)}")
    heads = ["Scorer", "avg. prec.", "trap. PR", "inverted", "P", "R", "F1", "accuracy"]
    heads += ["threshold", "positive/negative"]
    lines = []
    for a in split.scorers:
        values = (a.average_precision, a.area, a.area_inverted, a.precision, a.recall, a.f1)
        figures = [TableFigure(number(v)) for v in (*values, a.accuracy, a.threshold)]
        counts = TableFigure(f"{a.predicted_positive:,}/{a.predicted_negative:,}")
        lines.append(Line(StyledText(a.scorer, "name"), [*figures, counts], ordered(a.flags)))
    yield Table(heads, lines, flagged=True)


def _level_means(t: FactorTest) -> Line:
    means = ", ".join(f"{level} {number(mean)}" for level, mean in t.means.items())
    return Line(t.dataset, [TableFigure(t.scorer), TableFigure(t.factor), TableFigure(means)])


def _test(t: FactorTest) -> Line:
    p = t.p_holm if t.p_holm is not None else t.p
    if p is None:
        verdict = TableFigure(f"not tested: {t.note}" if t.note else "not tested", style="bad")
    else:
        verdict = TableFigure("found") if p <= 0.05 else TableFigure("not found", style="bad")
    effect = f"{t.effect} {number(t.effect_size)}"
    cells = (t.scorer, t.factor, t.test, p_cell(t.p), p_cell(t.p_holm), effect, f"{t.n:,}")
    return Line(t.dataset, [*map(TableFigure, cells), verdict])
