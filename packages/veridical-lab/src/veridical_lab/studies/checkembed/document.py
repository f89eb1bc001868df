"""The studies of CheckEmbed in the terminal, and in Markdown."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.console import Console

from veridical.report import document
from veridical.report.document import Block, BulletList, Heading, Paragraph, StyledText, plain_table
from veridical.report.formats import interval, number, plain
from veridical_lab.studies.checkembed.result import Studies, Summary

TITLES = {
    "pairs": "Similar and different passages",
    "errors": "Forced errors",
    "terms": "Terms extracted from legal texts",
    "runtime": "Running times",
    "counting": "Pictures of counted objects",
}
_NOTE = StyledText("note: ", "dim")

Rows = list[list[str]]


def print_studies(result: Studies, console: Console) -> None:
    """Print every study, then what is to be known of all."""
    document.show(_document(result), console)


def markdown(result: Studies) -> str:
    """Return the document, with a second-level heading per study."""
    return document.markdown(_document(result))


def tables(result: Studies, study: str) -> Iterator[tuple[str, list[str], Rows]]:
    """Yield caption, headings and rows of each table of a study; all views show these."""
    if study == "pairs":
        yield _named("Similarity of the two passages", _summaries(result, study))
        yield _named(
            "Separation of similar and different pairs", _separations(result, study, "Detail")
        )
    elif study == "errors":
        for kind in dict.fromkeys(s.kind for s in result.summaries if s.study == study):
            caption = f"Similarity to passages without errors, {kind}"
            yield _named(caption, _curve(result, study, [kind]))
        yield _named(
            "Similarity by the number of errors, and from which on all passages are apart",
            _trends(result, study),
        )
        separations = _separations(result, study, "About", levels=True)
        yield _named("Separation of passages with and without errors", separations)
    elif study == "terms":
        yield _named("Terms found", _terms(result))
    elif study == "runtime":
        yield _named("Seconds", _timings(result))
    elif study == "counting":
        kinds = list(dict.fromkeys(s.kind for s in result.summaries if s.study == study))
        table = _curve(result, study, kinds)
        yield _named("Similarity of a prompt's images, by how many of them are wrong", table)
        yield _named("Similarity by the number of wrong images", _trends(result, study))
        separations = _separations(result, study, "Requested", levels=True)
        yield _named("Separation from prompts whose images are all right", separations)
    matrices = _matrices(result, study)
    if matrices[1]:
        yield _named("Matrices: all pairs of replies to one request", matrices)


def _named(caption: str, table: tuple[list[str], Rows]) -> tuple[str, list[str], Rows]:
    return caption, *table


def _summaries(result: Studies, study: str) -> tuple[list[str], Rows]:
    heads = ["Scorer", "Pairs", "n", "mean", "95 % interval", "std", "low", "median", "high"]
    return heads, [
        [s.scorer, s.kind, f"{s.n:,}", number(s.mean), interval(s.ci_low, s.ci_high)]
        + [number(v) for v in (s.std, s.low, s.median, s.high)]
        for s in sorted(
            (s for s in result.summaries if s.study == study), key=lambda s: (s.scorer, s.kind)
        )
    ]


def _curve(result: Studies, study: str, kinds: Sequence[str]) -> tuple[list[str], Rows]:
    """Return a row per scorer; of several kinds, a row for each kind."""
    chosen = [s for s in result.summaries if s.study == study and s.kind in kinds]
    levels = sorted({s.level for s in chosen})
    by_place = {(s.scorer, s.kind, s.level): s for s in chosen}
    rows = []
    for scorer, kind in dict.fromkeys((s.scorer, s.kind) for s in chosen):
        cells = [by_place.get((scorer, kind, level)) for level in levels]
        rows.append([scorer if len(kinds) == 1 else kind, *(_mean(s) for s in cells)])
    return ["Mean and std by errors", *map(str, levels)], rows


def _mean(summary: Summary | None) -> str:
    return "-" if summary is None else f"{number(summary.mean)} ±{summary.std:.2f}"


def _separations(
    result: Studies, study: str, what: str, *, levels: bool = False
) -> tuple[list[str], Rows]:
    heads = ["Scorer", what, *(["errors"] if levels else [])]
    heads += ["AUROC", "95 % interval", "overlap", "n"]
    return heads, [
        [
            s.scorer,
            s.kind,
            *([str(s.level)] if levels else []),
            number(s.auroc),
            interval(s.ci_low, s.ci_high),
            number(s.overlap),
            f"{s.n_similar:,} + {s.n_different:,}",
        ]
        for s in result.separations
        if s.study == study
    ]


def _trends(result: Studies, study: str) -> tuple[list[str], Rows]:
    heads = ["Scorer", "About", "Spearman", "95 % interval", "apart from", "n"]
    return heads, [
        [
            t.scorer,
            t.kind,
            number(t.spearman),
            interval(t.ci_low, t.ci_high),
            "never" if t.apart_from is None else str(t.apart_from),
            f"{t.n:,}",
        ]
        for t in result.trends
        if t.study == study
    ]


def _terms(result: Studies) -> tuple[list[str], Rows]:
    heads = ["Chunk", "replies", "expected", "extracted", "precision", "recall", "F1"]
    return heads, [
        [t.topic, str(t.n), str(t.expected), f"{t.extracted:.1f}"]
        + [number(v) for v in (t.precision, t.recall, t.f1)]
        for t in result.terms
    ]


def _timings(result: Studies) -> tuple[list[str], Rows]:
    ks = sorted({t.k for t in result.timings})
    heads = ["Scorer", "embedder", "words", *(f"k {k}" for k in ks)]
    by_place = {(t.scorer, t.embedder, t.words, t.k): t.seconds for t in result.timings}
    rows = []
    for scorer, embedder, words in dict.fromkeys(
        (t.scorer, t.embedder, t.words) for t in result.timings
    ):
        seconds = [by_place.get((scorer, embedder, words, k)) for k in ks]
        cells = ["-" if s is None else f"{s:.3f}" for s in seconds]
        rows.append([scorer, embedder, f"{words:,}", *cells])
    return heads, rows


def _matrices(result: Studies, study: str) -> tuple[list[str], Rows]:
    """Return means of the matrices over topics."""
    heads = ["Measure", "Replies", "errors", "groups", "mean", "std", "norm", "ground-truth row"]
    groups = [g for g in result.groups if g.study == study]
    rows = []
    places = dict.fromkeys((g.kind, g.level, m.measure) for g in groups for m in g.matrices)
    for kind, level, measure in sorted(places, key=lambda place: place[:2]):
        chosen = [
            m
            for g in groups
            if (g.kind, g.level) == (kind, level)
            for m in g.matrices
            if m.measure == measure
        ]
        truths = [m.truth_mean for m in chosen if m.truth_mean is not None]
        figures = [[m.mean for m in chosen], [m.std for m in chosen]]
        figures += [[m.frobenius for m in chosen], truths]
        cells = [number(_average(of)) for of in figures]
        rows.append([measure, kind, str(level), str(len(chosen)), *cells])
    return heads, rows


def _average(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None


def _document(result: Studies) -> Iterator[Block]:
    for study in result.studies:
        yield Heading(TITLES[study])
        for caption, heads, rows in tables(result, study):
            yield Paragraph(f"{caption}:")
            yield plain_table(heads, rows)
            yield Paragraph("", only="terminal")
    yield Heading("Run details", only="markdown")
    yield BulletList(result.notes, _NOTE)
    yield BulletList(
        [
            f"made: {result.created} with veridical {result.version}",
            *(f"{k}: {v}" for k, v in result.models.items()),
            *(f"{k}: {plain(v)}" for k, v in result.settings.items()),
        ],
        only="markdown",
    )
