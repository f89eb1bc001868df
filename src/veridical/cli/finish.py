"""End of a run: summary, JSON lines, report and exit code."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, NamedTuple

from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from veridical.cli.answers import Worst, answer, shown_path, wrapped
from veridical.cli.errors_shown import error_lines
from veridical.cli.outputs import opened
from veridical.decide.gates import Gates, Tally
from veridical.errors import UsageError
from veridical.report.overview import UNSEALED
from veridical.weights.checkers import named_by

if TYPE_CHECKING:
    from veridical.core.scores import DecidedBy
    from veridical.engine.summary import Summary
    from veridical.report.results import Results
    from veridical.sampling.sampling import SamplingProgress

_MAX_COLUMNS = 5
_MAX_CAUSES = 10
_MAX_LOW_SCORERS = 4
_BASES: Mapping[DecidedBy, str] = {
    "values": "by values",
    "rules": "by rules on words",
    "first_passages": "by the first passages read",
    "near_passages": "by the nearest passages",
    "all_passages": "by all passages",
    "judge": "by the LLM judge",
    "words": "by shared words",
}


class CiFiles(NamedTuple):
    """Requested files for CI; ``-`` is standard output."""

    junit: str | None = None
    sarif: str | None = None
    markdown: str | None = None


NO_FILES = CiFiles()


@dataclass(frozen=True)
class ExitOptions:
    """Options that determine the exit code and verbosity.

    Attributes:
        min_coverage: minimum coverage of a scorer, in [0, 1].
        by_name: True if scorers were requested by name, not by a preset.
        verbose: also print the table of scorers.
        files: files to write for CI.
    """

    gates: Gates
    min_coverage: float
    by_name: bool = False
    verbose: bool = False
    files: CiFiles = NO_FILES


def finish(
    results: Results,
    lines: IO[str] | None,
    report: Path | None,
    asked: ExitOptions,
    console: Console,
    drawn: SamplingProgress | None = None,
    notes: Sequence[str] = (),
) -> int:
    """Write the requested outputs, print the summary and return the exit code.

    Args:
        drawn: progress of the sampling, if prompts were answered.
        notes: guarantees of the policy.
    """
    tally = Tally(asked.gates)
    worst = Worst()
    for line, result in results.summaries():
        if lines is not None:
            lines.write(line.decode() + "\n")
        tally.add(result)
        worst.add(result)
    summary = results.summary()
    tally.row_errors = summary.row_errors
    say = partial(console.print, markup=False, soft_wrap=True)
    if not summary.records:
        _write_for_ci(results, tally, ["no valid record in the input"], asked.files)
        for text in (*error_lines(results), *unused_lines(results)):
            say(text)
        say("error: no valid record in the input")
        return 1
    for text, style in answer(results, worst):
        say(text, style=style)
    if asked.verbose:
        summary_table(summary, console)
    for text in (*unused_lines(results), *error_lines(results)):
        say(text)
    for text in (
        *statement_lines(summary),
        *language_lines(results),
        *resumed_lines(summary.resumed, summary.untrusted),
        *decision_lines(summary, notes),
        *drift_lines(results),
        *drawn_lines(drawn),
        *judge_lines(results),
        *ledger_lines(summary.llm),
    ):
        say(wrapped(text))
    if report is not None:
        results.report(report, min_coverage=asked.min_coverage)
        say(f"report: {shown_path(report)}")
    if not results.temporary:
        say(f"run: {shown_path(results.path)}")
        first = worst.rows[0] if worst.rows else None
        if first is not None:
            say(f"next: veridical explain {shown_path(results.path)} {first}")
    gates, low = tally.lines(), low_coverage(summary, asked)
    for text in _write_for_ci(results, tally, [*low, *gates], asked.files):
        say(wrapped(text))
    for text in [*low, *gates]:
        say(wrapped(text), style="bold")
    return 3 if gates else 2 if low else 0


def _write_for_ci(
    results: Results, tally: Tally, failed: Sequence[str], files: CiFiles
) -> list[str]:
    """Write the files and return notes on omitted results."""
    if not any(files):
        return []
    from veridical.integrations.ci.writing import write_run

    with (
        opened(files.junit) as junit,
        opened(files.sarif) as sarif,
        opened(files.markdown) as markdown,
    ):
        return write_run(results, tally, failed, junit=junit, sarif=sarif, markdown=markdown)


def low_coverage(summary: Summary, asked: ExitOptions) -> list[str]:
    """Return the reasons for low coverage, if any."""
    low = [s for s in summary.scorers.values() if s.coverage is not None]
    low = [s for s in low if (s.coverage or 0.0) < asked.min_coverage]
    lines = []
    if low:
        low.sort(key=lambda s: s.coverage or 0.0)
        names = ", ".join(
            f"{s.name} {100 * (s.coverage or 0):.1f} %" for s in low[:_MAX_LOW_SCORERS]
        )
        more = (
            f" and {len(low) - _MAX_LOW_SCORERS} more scorers"
            if len(low) > _MAX_LOW_SCORERS
            else ""
        )
        lines.append(f"coverage under {100 * asked.min_coverage:g} %: {names}{more}")
    if asked.by_name and asked.min_coverage:
        idle = [s.name for s in summary.scorers.values() if s.coverage is None]
        if idle:
            lines.append(f"requested, but applied to no record: {', '.join(idle)}")
    if not summary.risk.n and summary.unchecked["no_statement"] < summary.records:
        lines.append("nothing could be scored")
    return lines


def unused_lines(results: Results) -> list[str]:
    """Describe unused columns with a likely meaning.

    If nothing could be scored, columns without one are included.
    """
    columns = results.unused_columns()
    if results.summary().risk.n:
        columns = [column for column in columns if column.meaning is not None]
    return [column.sentence for column in columns[:_MAX_COLUMNS]]


def statement_lines(summary: Summary) -> list[str]:
    """Count statements by the basis of their risk, if known."""
    found = [(n, basis) for by, basis in _BASES.items() if (n := summary.statements[by])]
    if not found:
        return []
    (count, first), *rest = found
    others = "".join(f", {n} {basis}" for n, basis in rest)
    return [f"statements: {sum(n for n, _ in found)}; {count} decided {first}{others}"]


def language_lines(results: Results) -> list[str]:
    """Return a hint if the models do not support the language of answers or sources."""
    unread = results.summary().unread
    if not unread:
        return []
    records = "1 record is" if unread == 1 else f"{unread} records are"
    return [
        f"{records} in a language that the models do not support: only wrong figures and "
        "names are flagged there; --llm NAME or --nli ID selects a multilingual model"
    ]


def resumed_lines(resumed: int, untrusted: int) -> list[str]:
    """Describe reused results of an earlier run, if any."""
    lines = []
    if resumed:
        lines.append(f"resumed: {resumed} records were scored before (--fresh scores all again)")
    if untrusted:
        lines.append(
            f"{untrusted} stored lines were not trusted: they are damaged, or were not written by "
            "this computer for this run; their rows were run again"
        )
    return lines


def trust_lines(summary: Summary) -> list[str]:
    """Describe results of a stored run that cannot be trusted, if any."""
    if not summary.sealed:
        return [UNSEALED]
    left = summary.untrusted
    return [f"{left} stored lines were not trusted, and are left out"] if left else []


def drift_lines(results: Results) -> list[str]:
    """Describe the drift of risks from the data of a tuned ensemble."""
    lines = []
    for key, drifts in results.drift().items():
        moved = {name: d for name, d in drifts.items() if d.drifted}
        if all(d.ks is None for d in drifts.values()):
            lines.append(f"{key}: nothing is scored that could have drifted")
        elif not moved:
            lines.append(f"{key}: no drift from the answers it was tuned on")
        for name, d in moved.items():
            lines.append(
                f"{key}: {name} has drifted from the answers it was tuned on: mean risk "
                f"{d.mean:.3f}, before {d.mean_before:.3f}; KS {d.ks:.2f}, p {d.p_holm:.2g}; "
                "thresholds and guarantees may not hold"
            )
    return lines


def summary_table(summary: Summary, console: Console) -> None:
    """Print counts, coverage and mean risk with its 95 % interval per scorer."""
    table = Table(
        title=f"{summary.records} records, {summary.row_errors} bad rows",
        box=box.SIMPLE_HEAD,
        padding=(0, 1, 0, 0),
        show_edge=False,
    )
    table.add_column("scorer", overflow="fold")
    for name in ("total", "scored", "failed", "n/a", "coverage"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("mean risk (95 %)", no_wrap=True)
    overall = summary.as_dict()["risk"]
    for s in summary.scorers.values():
        if s.coverage is None:
            continue
        d = s.as_dict()
        coverage = "-" if d["coverage"] is None else f"{100 * d['coverage']:.1f}%"
        counts = (d["n_total"], d["n_scored"], d["n_failed"], d["n_not_applicable"])
        table.add_row(escape(s.name), *map(str, counts), coverage, _mean(d))
    if overall["n"]:
        table.add_section()
        table.add_row("risk", str(summary.records), str(overall["n"]), "", "", "", _mean(overall))
    console.print(table)
    if summary.by:
        console.print(f"risk is by {', '.join(summary.by)}", markup=False)


def decision_lines(summary: Summary, notes: Sequence[str] = ()) -> list[str]:
    """Describe decisions, selections, repairs and the stops of cascades, if requested."""
    lines = []
    decisions = summary.decisions
    if decisions is not None:
        lines.append("decisions: " + ", ".join(f"{n} {name}" for name, n in decisions.items()))
        for (decision, cause), n in summary.causes.most_common(_MAX_CAUSES):
            if decision != "accept":
                lines.append(f"  {decision}: {cause} ({n})")
        lines += [f"guarantee: {note}" for note in notes]
    if summary.selected:
        chosen = summary.selected
        left = chosen["none"]
        lines.append(
            f"selected: {chosen['response']} responses, {chosen['sample']} samples"
            + (f"; {left} records with nothing scored" if left else "")
        )
    if summary.repairs:
        counts = ", ".join(f"{n} {s.replace('_', ' ')}" for s, n in summary.repairs.items())
        lines.append(f"repair: {counts}")
    for tiers in summary.stopped.values():
        total = max(1, sum(tiers.values()))
        counts = ", ".join(f"{t or 'no risk'} {n} ({n / total:.0%})" for t, n in tiers.items())
        lines.append(f"stopped at: {counts}")
    return lines


def drawn_lines(drawn: SamplingProgress | None) -> list[str]:
    """Describe the savings of adaptive sampling, if any."""
    if drawn is None or not drawn.saved:
        return []
    share = drawn.saved / (drawn.saved + drawn.drawn)
    return [f"adaptive sampling drew {drawn.drawn} samples and saved {drawn.saved} ({share:.0%})"]


def judge_lines(results: Results) -> list[str]:
    """Return a line that names the run's LLM if it is a trained checker.

    The line says if the checker answered.
    """
    name = str(results.identity.get("models", {}).get("llm", "")).partition("@")[0]
    ledger = results.ledger
    if not name or ledger is None:
        return []
    from veridical.llm.endpoints import find_endpoint  # most runs have no LLM

    try:
        checker = named_by(find_endpoint(name).base_url)
    except UsageError:  # an older run's: its section of veridical.toml is gone
        return []
    if checker is None:
        return []
    named = name if named_by(name) else f"{name} ({checker.name})"
    if ledger["answered"] or ledger["journaled"]:
        return [f"judge: {named}, trained to judge statements by documents"]
    asked = ledger["failed"] + ledger["not_sent"]
    return [f"judge: none; {named} answered none of {asked} calls"] if asked else []


def ledger_lines(ledger: dict[str, Any] | None) -> list[str]:
    """Describe the LLM calls, tokens and cost of a run, if any."""
    if ledger is None or not (ledger["calls"] or ledger["journaled"] or ledger["not_sent"]):
        return []
    if ledger["tokens"] is None:
        counted = f"tokens of {ledger['without_usage']} answers unknown"
    else:
        tokens, saved = ledger["tokens_in"], ledger["tokens_cached"]
        shared = f" ({tokens - saved} read, {saved} saved by shared prefixes)" if saved else ""
        counted = f"{tokens} tokens in{shared}, {ledger['tokens_out']} out"
    cost = "unknown" if ledger["cost"] is None else f"{ledger['cost']:.4f}"
    if ledger["cost"] is None and ledger["known_cost"]:
        cost += f" (at least {ledger['known_cost']:.4f})"
    parts = [f"LLM calls: {ledger['calls']}", counted, f"cost: {cost}"]
    for name, words in (
        ("journaled", "from the journal"),
        ("failed", "failed"),
        ("retries", "attempts repeated"),
        ("again", "asked again"),
        ("possibly_paid", "lost and possibly paid"),
    ):
        if ledger[name]:
            parts.append(f"{ledger[name]} {words}")
    charged = ledger["charged"]
    if charged is not None and charged > ledger["known_cost"]:
        parts.append(f"at most {charged:.4f} with what is not known")
    lines = ["; ".join(parts)]
    if ledger["damaged"]:
        lines.append(
            f"{ledger['damaged']} replies in the journal are damaged, or were not written with "
            "this computer's secret: they were ignored, and requested again"
        )
    if ledger["not_sent"]:
        lines.append(
            f"the budget stopped {ledger['not_sent']} calls: --retry-failed with a larger "
            "--budget resumes"
        )
    return lines


def _mean(d: dict[str, Any]) -> str:
    if d["mean"] is None:
        return "-"
    interval = "" if d["ci_low"] is None else f" [{d['ci_low']:.3f}, {d['ci_high']:.3f}]"
    return f"{d['mean']:.3f}{interval}"
