"""A benchmark in GitHub's Markdown, for documents and pull requests."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from veridical.evaluate.result import AlignmentSplit, Bench, FactorTest, Row, Study
from veridical.report import bench_qa
from veridical.report.bench_flags import Shown, explained, ordered
from veridical.report.bench_view import (
    Line,
    SplitView,
    Standing,
    all_flags,
    interval,
    metric_name,
    number,
    one_line,
    overview,
    p_cell,
    p_value,
    plain,
    share,
    views,
)

_CODE = re.compile(r"[\w(),=.:/+%<> -]+", re.ASCII)
_SPECIAL = re.compile(r"([\\`*_\[\]{}#|~$!])")


def markdown(bench: Bench) -> str:
    """The document, from a second-level heading a split down to how it was made."""
    return "\n".join(_document(bench)) + "\n"


def text(value: object) -> str:
    """Foreign text as text only: no markup, no line breaks, no end of a table cell."""
    clean = one_line(str(value)).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return _SPECIAL.sub(r"\\\1", clean)


def code(name: str) -> str:
    """A name in code type where that is safe, escaped text where it is not."""
    return f"`{name}`" if _CODE.fullmatch(name) else text(name)


def _document(bench: Bench) -> Iterator[str]:
    shown = views(bench)
    scored = [v for v in shown if v.lines]
    if len(scored) > 1:
        yield from _overview(scored)
    yield from _table_1(shown)
    for view in shown:
        yield from _split(view)
    flags = all_flags(shown)
    if bench.study is not None:
        yield from _study(bench.study)
        flags += [f for s in bench.study.alignment for a in s.scorers for f in a.flags]
    if flags:
        yield from ("## Flags", "")
        yield from (f"- **{text(label)}**: {text(why)}" for label, why, _ in explained(flags))
        yield ""
    yield from ("## How it was made", "")
    yield f"- signature: {code(bench.signature)}"
    yield f"- made: {text(bench.created)} with veridical {text(bench.version)}"
    yield from (f"- {text(k)}: {text(plain(v))}" for k, v in bench.settings.items())
    yield from (f"- {code(k)}: {code(v)}" for k, v in bench.signatures.items())
    yield from (f"- {text(note)}" for note in bench.notes)
    if bench.n_row_errors:
        yield f"- bad rows, counted as failed for every scorer: {bench.n_row_errors:,}"


def _overview(shown: Sequence[SplitView]) -> Iterator[str]:
    yield from ("## All splits", "")
    yield "The headline figure with its 95 % interval. The best scorer of a split is bold; a dagger"
    yield "marks those that the paired bootstrap (Holm) cannot tell from it."
    yield ""
    heads = ["Scorer"]
    heads += [f"{text(v.title)}<br>{text(metric_name((v.main or ['-'])[0]))}" for v in shown]
    rows = []
    for line in overview(shown):
        name = f"*baseline:* {code(line.scorer)}" if line.baseline else code(line.scorer)
        rows.append([name, *(_standing(row, mark) for row, mark in line.cells)])
    yield from _table(heads, rows)


def _table_1(shown: Sequence[SplitView]) -> Iterator[str]:
    """Question answering as in the paper; nothing where none of it was asked for."""
    table = bench_qa.table_1(shown)
    if table is None:
        return
    yield from ("## Right answers told from wrong ones (table 1)", "")
    head, rows = bench_qa.flat(table)
    yield from _table([text(h) for h in head], [[code(r[0]), *map(text, r[1:])] for r in rows])
    yield from (f"- {text(note)}" for note in table.notes)
    yield ""


def _standing(row: Row | None, standing: Standing) -> str:
    if row is None or row.value is None:
        return "-"
    value = number(row.value)
    value = f"**{value}**" if standing == "best" else value
    mark = "†" if standing == "level" else ""
    return f"{value}{mark} {interval(row.ci_low, row.ci_high)}".strip()


def _split(view: SplitView) -> Iterator[str]:
    s = view.split
    yield from (f"## {text(view.title)}", "")
    facts = [f"{text(s.level)} level", f"n {s.n_total:,}"]
    if s.n_positive is not None:
        facts.append(f"positive ({text(s.positive)}) {s.n_positive:,}")
        facts.append(f"prevalence {number(view.prevalence)}")
    if s.n_groups:
        facts.append(f"independent units {s.n_groups:,}")
    facts += [f"**{text(flag.label)}**" for flag in view.flags]
    yield from (" · ".join(facts), "")
    if view.all_lines:
        yield from _table(
            ["Scorer", *_heads(view), "Scored / total", "Coverage", "Flags"],
            [_cells(view, line) for part in view.table for line in part],
        )
    else:
        yield from ("No scorer has a figure on this split.", "")
    yield from _duels(view)
    cliques = [" = ".join(map(code, c)) for c in s.cliques if len(c) > 1]
    if s.ranks:
        ranks = sorted(s.ranks, key=lambda r: r.rank)
        yield (
            "Mean ranks over the resamples: "
            + ", ".join(f"{code(r.scorer)} {r.rank:.2f}" for r in ranks)
            + "."
        )
        groups = "; ".join(cliques) or "none"
        yield from (f"Not distinguishable from each other (critical difference): {groups}.", "")
    for line in view.lines:
        row = line.counts(view.main[0] if view.main else s.headline)
        if row is not None and row.n_failed:
            why = "; ".join(f"{n:,} × {text(reason)}" for reason, n in row.failed_reasons.items())
            yield (
                f"- {code(line.scorer)} failed on {row.n_failed:,} of {row.n_total:,}"
                f" ({why or 'no reason given'}); {text(metric_name(row.metric))} could be "
                f"{number(row.worst)} to {number(row.best)}"
            )
    yield from (f"- {text(note)}" for note in view.notes)
    yield ""
    if view.others:
        yield from ("<details><summary>Other metrics</summary>", "")
        rows = [[_name(x), *(_figure(x, m) for m in view.others)] for x in view.all_lines]
        yield from _table(["Scorer", *(text(metric_name(m)) for m in view.others)], rows)
        yield from ("</details>", "")
    for curve in s.samples:
        yield f"{text(metric_name(curve.metric))} of {code(curve.scorer)} by number of samples:"
        yield ""
        yield from _table(
            ["Samples", *(str(n) for n, *_ in curve.points)],
            [["value", *(f"{number(v)} {interval(a, b)}".strip() for _, v, a, b in curve.points)]],
        )


def _heads(view: SplitView) -> list[str]:
    heads = []
    for i, name in enumerate(view.main):
        heads.append(text(metric_name(name)) + (" (95 % interval)" if i == 0 else ""))
        if _printed(view, name):
            heads.append("paper")
    return heads


def _printed(view: SplitView, name: str) -> bool:
    rows = [x.cells.get(name) for x in view.all_lines]
    return any(r is not None and r.paper is not None for r in rows)


def _cells(view: SplitView, line: Line) -> list[str]:
    cells = [_name(line)]
    for i, name in enumerate(view.main):
        row = line.cells.get(name)
        cells.append(_figure(line, name) if i == 0 else number(row.value if row else None))
        if _printed(view, name):
            cells.append("" if row is None or row.paper is None else number(row.paper))
    counts = line.counts(view.main[0] if view.main else view.split.headline)
    if counts is None:
        cells += ["-", "-"]
    else:
        cells += [f"{counts.n_scored:,} / {counts.n_total:,}", share(counts.coverage)]
    return [*cells, _flags(line.flags)]


def _name(line: Line) -> str:
    return f"*baseline:* {code(line.scorer)}" if line.baseline else code(line.scorer)


def _figure(line: Line, name: str) -> str:
    row = line.cells.get(name)
    if row is None:
        return "-"
    return f"{number(row.value)} {interval(row.ci_low, row.ci_high)}".strip()


def _flags(flags: Sequence[Shown]) -> str:
    marked = (f"**{text(f.label)}**" if f.severity == "bad" else text(f.label) for f in flags)
    return ", ".join(marked)


def _duels(view: SplitView) -> Iterator[str]:
    if not view.duels:
        return
    best = code(view.lines[0].scorer)
    yield f"{best}, the best, against the others (paired, p after Holm):"
    yield ""
    for d in view.duels:
        verdict = d.verdict if d.distinguishable else f"**{d.verdict}**"
        difference = f"{number(d.difference)} {interval(d.low, d.high)}".strip()
        p = text(p_value(d.p))
        yield f"- {verdict} {code(d.other)}: difference {difference}, p {p}"
    yield ""


def _study(study: Study) -> Iterator[str]:
    yield from ("## Meta-evaluation", "")
    for split in study.alignment:
        yield from _alignment(split)
    if study.tests:
        yield from ("### Does a factor change the score?", "")
        heads = ["Data", "Scorer", "Factor", "Test", "p", "p (Holm)", "Effect", "n", "Change"]
        yield from _table(heads, [_test(t) for t in study.tests])
    yield from (f"- {text(note)}" for note in study.notes)
    yield ""


def _alignment(split: AlignmentSplit) -> Iterator[str]:
    yield from (f"### Agreement with people: {text(f'{split.suite} · {split.split}')}", "")
    facts = f"n {split.n:,} · prevalence {number(split.prevalence)} · weighted F1 of the majority "
    yield from (facts + f"class {number(split.majority_f1)}", "")
    heads = ["Scorer", "avg. precision", "trapezoid PR", "inverted", "weighted P", "weighted R"]
    heads += ["weighted F1", "accuracy", "threshold", "positive / negative", "Flags"]
    rows = []
    for a in split.scorers:
        figures = (a.average_precision, a.area, a.area_inverted, a.precision, a.recall, a.f1)
        rows.append(
            [
                code(a.scorer),
                *map(number, (*figures, a.accuracy)),
                f"{number(a.threshold)} ({a.threshold_on})",
                f"{a.predicted_positive:,} / {a.predicted_negative:,}",
                _flags(ordered(a.flags)),
            ]
        )
    yield from _table(heads, rows)


def _test(t: FactorTest) -> list[str]:
    kept = t.p_holm if t.p_holm is not None else t.p
    found = "found" if kept is not None and kept <= 0.05 else "**not found**"
    ps = (text(p_cell(t.p)), text(p_cell(t.p_holm)))
    effect = f"{text(t.effect)} {number(t.effect_size)}"
    names = (code(t.dataset), code(t.scorer), t.factor, text(t.test))
    return [*names, *ps, effect, f"{t.n:,}", found]


def _table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    """Cells are escaped already."""
    yield f"| {' | '.join(heads)} |"
    yield f"|{'|'.join([' --- ', *[' ---: '] * (len(heads) - 1)])}|"
    for row in rows:
        yield f"| {' | '.join(row)} |"
    yield ""
