"""A comparison as a document of blocks, shared by all views."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from rich.console import Console

from veridical.diff.result import Diff, DiffEndpoint, DiffGate, Flip, FlipSide
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
from veridical.report.formats import interval, number, p_cell, p_value, share

#: Maximum flips in a terminal and in Markdown.
SHOWN_FLIPS = {"terminal": 5, "markdown": 15}
#: Maximum characters of a text in a terminal and in Markdown.
LONGEST = 300
HEADS = ("Figure", "A", "B", "change", "95 % interval", "p", "Holm", "n")
_NAMES = {"bad_share": "bad answers", "risk": "mean risk"}
WHAT = {"bad_share": "unsupported, contradicted or inconsistent answers", "risk": "mean risk"}


class DiffSentence(NamedTuple):
    """Outcome of a comparison: a sentence, its level (bad, warn or good), and its meaning."""

    sentence: str
    level: str
    meaning: list[str]


def said(diff: Diff) -> DiffSentence:
    """Describe the outcome in words."""
    gate = diff.gate
    if gate is None:
        return DiffSentence(
            "Nothing could be compared.", "bad", ["No pair has a verdict or a risk in both."]
        )
    change = f"{_figure(gate, gate.a)} before, {_figure(gate, gate.b)} now"
    of = f"{WHAT[gate.endpoint]}: {change}, {gate.n} pairs"
    allowed = f", of which {_points(gate, gate.tolerate)} are tolerated" if gate.tolerate else ""
    test = f"one-sided p {p_value(gate.p)}{allowed}"
    if gate.worse:
        sentence, level = f"Worse; {of}; {test}.", "bad"
    elif gate.difference > gate.tolerate:
        sentence, level = f"Not shown to be worse; {of}; {test}.", "warn"
    else:
        sentence, level = f"No rise; {of}; {test}.", "warn" if gate.lost else "good"
    return DiffSentence(sentence, level, [_power(gate)])


def _power(gate: DiffGate) -> str:
    if gate.detectable is None:
        return f"{gate.n} pairs are too few to show any rise (8 cases of 10, one-sided 5 % level)."
    return (
        f"The smallest rise that {gate.n} pairs could have shown in 8 cases of 10 is "
        f"{_points(gate, gate.detectable)} (one-sided 5 % level); "
        "a smaller one may remain undetected."
    )


def _figure(gate: DiffGate, value: float) -> str:
    return share(value) if gate.endpoint == "bad_share" else number(value)


def _points(gate: DiffGate, value: float) -> str:
    return f"{100 * value:.1f} points" if gate.endpoint == "bad_share" else number(value)


def rows(endpoints: Sequence[DiffEndpoint]) -> Iterator[tuple[str, list[str]]]:
    """Yield a name and the cells of :data:`HEADS` for each endpoint."""
    for e in endpoints:
        name = _NAMES.get(e.name, e.name)
        if e.kind in ("scorer", "claims"):
            name = f"risk by {e.name}" if e.scorer is None else f"{e.name} by {e.scorer}"
        shares = e.rises is not None or e.kind == "claims"
        figure = share if shares else number
        change = f"{100 * e.difference:+.1f}" if shares else f"{e.difference:+.3f}"
        scale = 100 if shares else 1
        low = None if e.ci_low is None else scale * e.ci_low
        high = None if e.ci_high is None else scale * e.ci_high
        spread = (
            ("" if low is None or high is None else f"[{low:+.1f}, {high:+.1f}]")
            if shares
            else interval(low, high)
        )
        yield (
            name,
            [figure(e.a), figure(e.b), change, spread, p_cell(e.p), p_cell(e.p_holm), str(e.n)],
        )


def print_diff(diff: Diff, console: Console) -> None:
    """Print the comparison within the console's width."""
    document.show(blocks(diff, "terminal"), console)


def markdown(diff: Diff) -> str:
    """Return the document in GitHub's Markdown: a step summary, or a comment."""
    return document.markdown(blocks(diff, "markdown"))


def blocks(diff: Diff, form: document.Form) -> Iterator[Block]:
    """Yield the document for one of the two forms."""
    answer = said(diff)
    if form == "markdown":  # a comment begins with what its reader can judge
        yield document.Opening(answer.sentence, [])
        yield from _flips(diff, form)
        yield Heading("Figures", 3)
        yield from map(Paragraph, answer.meaning)
    else:
        yield document.Opening(answer.sentence, answer.meaning)
    sides = [StyledText(diff.a.path, "quote"), StyledText(diff.b.path, "quote")]
    counts = f" ({diff.b.n} results); {diff.n_pairs} pairs by {diff.paired_by}"
    yield Paragraph(["A: ", sides[0], f" ({diff.a.n} results); B: ", sides[1], counts])
    if diff.notes:
        yield BulletList(
            [[StyledText(note, "quote")] for note in diff.notes], StyledText("note: ", "warn")
        )
    yield _table(diff.endpoints, diff.n_pairs)
    for stratum in diff.strata:
        value = "(none)" if stratum.value is None else stratum.value
        yield Paragraph(
            [f"{diff.split_by} = ", StyledText(value, "quote"), f": {stratum.n_pairs} pairs"]
        )
        yield _table(stratum.endpoints, stratum.n_pairs)
    if form != "markdown":
        yield from _flips(diff, form)
    yield Paragraph(
        "A change above 0 is worse. Shares are tested by McNemar's exact test, risks and rates by "
        "a permutation test, both paired; Holm's is corrected within each kind of figure. Only "
        "the first line's rise can fail the comparison."
    )


def _table(endpoints: Sequence[DiffEndpoint], n: int) -> Table:
    """Make a table of endpoints, with the number of pairs unless all have them."""
    lines = [
        Line(name if e.n == n else f"{name} (n {e.n})", [TableFigure(c) for c in cells[:-1]])
        for e, (name, cells) in zip(endpoints, rows(endpoints), strict=True)
    ]
    return Table(HEADS[:-1], lines)


def _flips(diff: Diff, form: document.Form) -> Iterator[Block]:
    total = sum(diff.n_flips.values())
    if not total:
        yield Paragraph("No verdict and no decision changed.")
        return
    counts = ", ".join(f"{n} {name}" for name, n in diff.n_flips.items() if n)
    yield Heading(f"Changed answers: {total} ({counts})", 3)
    shown = diff.flips[: SHOWN_FLIPS[form]]
    for flip in shown:
        yield Paragraph(headline(flip, form))
        yield BulletList(list(_details(flip, form)), "    ")
    if total > len(shown):
        yield Paragraph(f"{total - len(shown)} more changed answers are in the JSON and the page.")


def headline(flip: Flip, form: document.Form = "terminal") -> list[StyledText | str]:
    """Name the changed answer and its change; a comment names it by its question."""
    question = flip.question if form == "markdown" else None
    return [
        f"{flip.direction}: ",
        StyledText(_cut(question or flip.id), "quote"),
        f" (row {flip.b.row}): {outcome_of(flip.a)} → {outcome_of(flip.b)}",
    ]


def outcome_of(side: FlipSide) -> str:
    """Format verdict, decision and risk of one answer of a flip."""
    parts = [side.verdict, *([side.decision] if side.decision else [])]
    return ", ".join(parts) + ("" if side.risk is None else f" {side.risk:.2f}")


def _details(flip: Flip, form: document.Form) -> Iterator[Words]:
    before, now = ("before: ", "now: ") if form == "markdown" else ("A: ", "B: ")
    if flip.question and form != "markdown":
        yield ["question: ", StyledText(_cut(flip.question), "quote")]
    yield [before, StyledText(_cut(flip.a.answer), "quote")]
    yield [now, StyledText(_cut(flip.b.answer), "quote")]
    if flip.b.sentence is not None and flip.direction != "better":
        if flip.b.sentence.strip() != flip.b.answer.strip():
            yield [
                f"worst sentence {'now' if form == 'markdown' else 'of B'}: ",
                StyledText(_cut(flip.b.sentence), "quote"),
            ]
        for e in flip.b.evidence[:1]:
            yield [f"{e.kind} {e.index + 1}: ", StyledText(_cut(e.text), "quote")]


def _cut(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= LONGEST else line[:LONGEST].rsplit(" ", 1)[0] + " […]"
