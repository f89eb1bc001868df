"""Write ``reproduction.md``: ``python docs/reproduction.py --data DATA``; ``--check`` compares.

Our figures come from ``measured.py`` and, of language models that run here, from
``evidence/local-llm.json``; the papers' own from ``veridical_lab.bench.published``.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from headline_rows import HEADLINES, HeadlineRow
from measured import CURVE, PAIRS, PRESENCE, SUPPORT, UNIGRAM, Measured, measure, shown, table
from published_errors import errors

sys.path.append(str(Path(__file__).parent.parent / "benchmarks"))
from local_llm import replaced

from veridical_lab.bench.published import (
    ALL_SAMPLES,
    ENTRIES,
    Entry,
    Figure,
    paper_figure,
    refchecker,
)

PAGE = Path(__file__).parent / "reproduction.md"
#: The entry that is made by ``veridical rank``, of people's labels alone.
HUMAN_RATES = "RefChecker figures 11 and 12"
#: The entry that shows our figures at a threshold of 0.5.
BALANCED = "SelfCheckGPT's repository, balanced accuracy, random row"
#: Results of ``benchmarks/local_llm.py``.
LOCAL = Path(__file__).parent / "evidence" / "local-llm.json"

#: Above the table of headlines.
HEADLINES_HEAD = (
    "Figures that each paper leads with, and the same measured here. Most of ours rest on smaller "
    "models or fewer data: read the size and the interval (95 %) before the difference. Minutes "
    "are of two cores that other work shared; an empty cell was not timed."
)


def page(measured: Measured) -> str:
    """Return the whole page."""
    local = [part for part in json.loads(LOCAL.read_text(encoding="utf-8")) if part["entries"]]
    found = {id for part in local for id in part["entries"]}
    named = [e for e in ENTRIES if e.status == "named model" and e.id not in found]
    parts = [
        "# Reproduction of published figures",
        "This page compares published figures with results of this package. Agreement shows that a "
        "method is implemented as published. Differences are due to other models or less data, "
        "unless stated otherwise.",
        "Made by `python docs/reproduction.py --data DATA`, DATA being the folder of data sets. "
        "All figures are fractions; a cell is *ours (the paper's, difference)*. Ours on this page "
        "take no model. HaluEval: the quick protocol's 1000 rows a part, both answers of each; "
        f"against the right answers, {PAIRS} rows drawn by seed 0.",
        "## Headlines",
        HEADLINES_HEAD,
        headlines(HEADLINES),
        "## Regenerated",
        *_regenerated([e for e in ENTRIES if e.status == "regenerated"], measured),
        "## Measured with a language model that runs here",
        "By Qwen2.5-Coder-1.5B or 0.5B in 4 bits on two cores, on a small part of the data. "
        "Intervals and other scorers: [evidence/local-llm.md](evidence/local-llm.md). The "
        "papers' models are larger; their figures, on all of the data, are below ours. NLI is by "
        "veridical-nli-mini; a dagger marks rows by weights that have been replaced since.",
        *(text for part in local for text in _measured_here(part)),
        "## Takes a named model",
        "None of these commands was run with the model that it names. Each is too large for the "
        "machines used here, hosted, or not available. Tests check that each command is "
        "understood. The figures are the paper's. AlignScore is converted first: `veridical models "
        "convert alignscore` ([models.md](models.md)).",
        *(_named(e) for e in named),
        "## Not possible, and why",
        _reasons(e for e in ENTRIES if e.status == "not possible"),
        "## Errors in the published record, and how the harness shows them",
        *errors(measured),
    ]
    return "\n\n".join(parts) + "\n"


def headlines(rows: Iterable[HeadlineRow]) -> str:
    """Return the table of headlines."""
    heads = ["paper", "headline", "published", "ours", "interval", "of", "command", "minutes"]
    return table(heads, [_headline(row) for row in rows])


def _headline(row: HeadlineRow) -> list[str]:
    ours = f"[{' / '.join(row.ours)}]({row.page})" if row.ours else ""
    interval = f"[{', '.join(row.interval)}]" if row.interval else ""
    size = f"{row.size}; {row.note}" if row.note else row.size
    command = f"`{row.command}`" if row.command else ""
    cells = [row.paper, row.headline, row.published, ours, interval]
    return [*cells, size, command, row.minutes or ""]


def _regenerated(entries: Sequence[Entry], measured: Measured) -> list[str]:
    """Return each table with our figures; a note that belongs to several is printed once."""
    parts = []
    told: set[str] = set()
    for e in entries:
        parts += [f"### {e.id}", f"{e.title}. {e.data}.", f"    {e.command}"]
        if e.figures:
            parts.append(_figures(e.figures, measured))
        if "curves" in e.id:
            parts.append(_curve(measured))
        if e.id == BALANCED:
            parts.append(_at_half(measured))
        if e.id == HUMAN_RATES:
            parts.append(_human_rates(measured))
        notes = list(e.remarks)
        for f in e.figures:
            about = paper_figure(f.suite, f.split, f.metric, f.scorer, f.samples)[1]
            notes += [f"`{f.split}`: {text}" for text in about]
        new = [n for n in dict.fromkeys(notes) if n not in told]
        told.update(new)
        if new:
            parts.append(_list(new))
    return parts


def _figures(figures: Iterable[Figure], measured: Measured) -> str:
    """Return a table of scorers by splits, with rows for inverted scores."""
    figures = list(figures)
    columns = list(dict.fromkeys((f.split, f.metric) for f in figures))
    cells: dict[str, dict[tuple[str, str], str]] = {}
    turned: dict[str, dict[tuple[str, str], str]] = {}
    for f in figures:
        name = f"`{f.scorer}`" if f.scorer else "the data"
        cells.setdefault(name, {})[f.split, f.metric] = _beside(measured.of(f), f.value)
        for variant in (f.scorer, f"{f.scorer}, corpus score"):
            other = measured.inverted.get((f.suite, f.split, variant))
            if other is not None and f.metric == "trapezoid_pr":
                row = turned.setdefault(f"`{variant}` inverted", {})
                row[f.split, f.metric] = _beside(other, f.value)
    heads = ["scorer", *(f"{split} {metric}" for split, metric in columns)]
    rows = [
        [name, *(found.get(c, "") for c in columns)] for name, found in {**cells, **turned}.items()
    ]
    return table(heads, rows)


def _curve(measured: Measured) -> str:
    wanted = (("nonfact", "trapezoid_pr"), ("passage", "pearson"), ("passage", "spearman"))
    rows = [
        [f"{split} {metric}"]
        + [shown(measured.get("wikibio", split, metric, UNIGRAM, n)) for n in CURVE]
        for split, metric in wanted
    ]
    return table([f"`{UNIGRAM}`, samples", *map(str, CURVE)], rows)


def _at_half(measured: Measured) -> str:
    splits = ("nonfact", "nonfact_star")
    rows = [
        [f"`{name}`", *(shown(measured.at_half.get((split, name))) for split in splits)]
        for name in (PRESENCE, SUPPORT)
    ]
    return table(["ours", *(f"{split} balanced_accuracy" for split in splits)], rows)


def _human_rates(measured: Measured) -> str:
    """Return figures 11 and 12: means of the models by setting, and each model's rates."""
    names = ("entailment", "neutral", "contradiction", "abstain")
    means = [
        [split, *(shown(measured.people.get((split, "", name))) for name in names)]
        for split in refchecker.SPLITS
    ]
    models = sorted({model for _, model, _ in measured.people if model})
    columns = [(s, name) for s in refchecker.SPLITS for name in ("contradiction", "abstain")]
    each = [
        [model, *(shown(measured.people.get((s, model, name))) for s, name in columns)]
        for model in models
    ]
    heads = [f"{s} {name}" for s, name in columns]
    tables = (table(["mean of the models", *names], means), table(["model", *heads], each))
    return "\n\n".join(tables)


def _measured_here(part: dict[str, Any]) -> list[str]:
    """Return our figures of a part of the data, then the corresponding rows of the paper."""
    rows = part["rows"]
    columns = list(dict.fromkeys((r["split"], r["metric"]) for r in rows))
    cells: dict[str, dict[tuple[str, str], str]] = {}
    for r in rows:
        value = "constant" if r["value"] is None else f"{r['value']:.3f}"
        name = f"`{r['scorer']}`{' †' if replaced([r]) else ''}"
        cells.setdefault(name, {})[r["split"], r["metric"]] = value
    sizes = dict.fromkeys(f"{r['split']} {r['n_total']}" for r in rows)
    return [
        f"### {part['title']}",
        "\n".join(f"    {command}" for command in part["commands"]),
        f"Ours; n: {', '.join(sizes)}.",
        table(
            ["scorer", *(f"{split} {metric}" for split, metric in columns)],
            [[name, *(found.get(c, "") for c in columns)] for name, found in cells.items()],
        ),
        *replaced(rows),
        *(_named(e).replace("### ", "#### ", 1) for e in ENTRIES if e.id in part["entries"]),
    ]


def _named(entry: Entry) -> str:
    commands = [c for c in (entry.before, entry.command) if c]
    parts = [f"### {entry.id}", f"{entry.title}. {entry.data}."]
    parts.append("\n".join(f"    {c}" for c in commands))
    if entry.figures:
        parts.append(_printed(entry.figures))
    return "\n\n".join([*parts, *([_list(entry.remarks)] if entry.remarks else [])])


def _printed(figures: Sequence[Figure]) -> str:
    """Return the paper's figures: scorers and metrics by numbers of samples or splits."""
    counts = list(dict.fromkeys(f.samples for f in figures))
    splits, metrics = {f.split for f in figures}, {f.metric for f in figures}
    whole = len({(f.split, f.metric) for f in figures}) == len(splits) * len(metrics)
    heads = ["scorer"]
    if len(counts) > 1:  # None is all of them
        heads.append("samples")
        every = ALL_SAMPLES[figures[0].suite]
        places = [(f"{f.split} {f.metric}", str(f.samples or every)) for f in figures]
    elif whole and min(len(splits), len(metrics)) > 1:
        heads.append("metric")
        places = [(f.metric, f.split) for f in figures]
    else:
        places = [("", f"{f.split} {f.metric}") for f in figures]
    across = list(dict.fromkeys(column for _, column in places))
    rows: dict[tuple[str, ...], dict[str, str]] = {}
    for f, (down, column) in zip(figures, places, strict=True):
        name = (f"`{f.scorer}`", down)[: len(heads)]
        rows.setdefault(name, {})[column] = f"{f.value:.4g}"
    return table(
        [*heads, *across],
        [[*name, *(row.get(c, "") for c in across)] for name, row in rows.items()],
    )


def _list(notes: Iterable[str]) -> str:
    return "\n".join(f"- {_capital(n)}." for n in notes)


def _capital(text: str) -> str:
    """Return a text with a capital, unless it begins with code or the name of a file."""
    return text if re.match(r"\S*[`.]", text) else text[:1].upper() + text[1:]


def _reasons(entries: Iterable[Entry]) -> str:
    return table(["table", "what", "why"], [[e.id, e.title, e.reason or ""] for e in entries])


def _beside(ours: float | None, paper: float) -> str:
    if ours is None:
        return f"- ({shown(paper)})"
    if paper > 1:
        return f"{ours:.0f} ({paper:.0f}, {ours - paper:+.0f})"
    return f"{ours:.4f} ({paper:.4g}, {round(ours - paper, 4) + 0.0:+.4f})"  # no -0.0000


def main() -> int:
    """Write the page, or report if it is up to date."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="folder of the data sets")
    parser.add_argument("--check", action="store_true", help="compare, do not write")
    asked = parser.parse_args()
    made = page(measure(asked.data))
    if not asked.check:
        PAGE.write_text(made, encoding="utf-8", newline="\n")
        return 0
    same = PAGE.is_file() and PAGE.read_text(encoding="utf-8") == made
    print(f"{PAGE.name} is {'up to date' if same else 'out of date'}", file=sys.stderr)
    return 0 if same else 1


if __name__ == "__main__":
    sys.exit(main())
