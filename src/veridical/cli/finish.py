"""After the run: summary, JSON lines, report, exit code."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from veridical.errors import UsageError, unknown_name
from veridical.registry import REGISTRY

if TYPE_CHECKING:
    from veridical.llm.sampling import Progress
    from veridical.registry import BoundScorer
    from veridical.results import Results
    from veridical.scores import Headline
    from veridical.summary import Summary

_SHOWN_ERRORS = 10
_RISKIEST = 5
_CAUSES = 10


@dataclass(frozen=True)
class Limits:
    """What turns the exit code: ``over`` a risk (of scorer ``name`` or the record's own), or
    under a coverage."""

    over: float | None
    name: str | None
    coverage: float

    @classmethod
    def parse(cls, fail_over: str | None, coverage: float) -> Limits:
        """Read ``X`` or ``NAME:X``."""
        if fail_over is None:
            return cls(None, None, coverage)
        name, _, number = fail_over.rpartition(":")
        try:
            over = float(number)
        except ValueError:
            over = math.nan
        if not 0 <= over <= 1:
            raise UsageError(f"--fail-over takes X or NAME:X with X from 0 to 1, not {fail_over!r}")
        key = REGISTRY.parse(name)[0].key if name else None
        return cls(over, key, coverage)

    def check_names(self, scorers: Sequence[BoundScorer]) -> None:
        keys = [s.key for s in scorers]
        if self.name is not None and self.name not in keys:
            raise unknown_name("scorer in --fail-over", self.name, keys)

    def exceeded(self, result: Headline) -> bool:
        risk = result.risk if self.name is None else result.scores[self.name].risk
        return self.over is not None and risk is not None and risk > self.over


def finish(
    results: Results,
    lines: TextIO | None,
    report: Path | None,
    limits: Limits,
    console: Console,
    drawn: Progress | None = None,
    notes: Sequence[str] = (),
) -> int:
    """Write what was asked for, print the summary, and say how it went by the exit code.

    Args:
        drawn: of the sampling, where prompts were answered.
        notes: what the policy promises.
    """
    over = 0
    riskiest: list[tuple[float, int, Any]] = []
    for line, result in results.headlines():
        if lines is not None:
            lines.write(line.decode() + "\n")
        over += limits.exceeded(result)
        if result.risk is not None:
            riskiest.append((result.risk, -result.row, result.id))
            if len(riskiest) > 64:
                riskiest = sorted(riskiest, reverse=True)[:_RISKIEST]
    summary = results.summary()
    summary_table(summary, console)
    for i, error in enumerate(results.errors()):
        if i == _SHOWN_ERRORS:
            console.print(f"... and {summary.row_errors - i} more in errors.jsonl")
            break
        console.print(f"bad row: {error}", markup=False)
    for risk, row, name in sorted(riskiest, reverse=True)[:_RISKIEST]:
        console.print(f"  risk {risk:.3f}  row {-row}  id {str(name)[:60]!r}", markup=False)
    for text in (
        *decision_lines(summary, notes),
        *drift_lines(results),
        *drawn_lines(drawn),
        *ledger_lines(summary.llm),
    ):
        console.print(text, markup=False)
    if not results.temporary:
        console.print(f"run directory: {results.path}", markup=False)
    if report is not None:
        results.report(report, min_coverage=limits.coverage)
        console.print(f"report: {report}", markup=False)
    if not summary.records:
        console.print("error: no valid record in the input", markup=False)
        return 1
    low = [s for s in summary.scorers.values() if s.coverage is not None]
    low = [s for s in low if (s.coverage or 0.0) < limits.coverage]
    if low:
        names = ", ".join(f"{s.name} {100 * (s.coverage or 0):.1f} %" for s in low)
        console.print(f"coverage under {100 * limits.coverage:g} %: {names}", markup=False)
        return 2
    if over:
        what = limits.name or "the record's own"
        console.print(f"{over} records with {what} risk over {limits.over:g}", markup=False)
        return 3
    return 0


def drift_lines(results: Results) -> list[str]:
    """Whether risks are still those that a tuned ensemble was tuned on."""
    lines = []
    for key, found in results.drift().items():
        moved = {name: d for name, d in found.items() if d.drifted}
        if all(d.ks is None for d in found.values()):
            lines.append(f"{key}: nothing is scored that could have drifted")
        elif not moved:
            lines.append(f"{key}: no drift from the answers it was tuned on")
        for name, d in moved.items():
            lines.append(
                f"{key}: {name} has drifted from the answers it was tuned on: mean risk "
                f"{d.mean:.3f}, before {d.mean_before:.3f}; KS {d.ks:.2f}, p {d.p_holm:.2g}; "
                "thresholds and promises may not hold"
            )
    return lines


def summary_table(summary: Summary, console: Console) -> None:
    """Counts, coverage and mean risk with its 95 % interval, a line a scorer."""
    table = Table(
        title=f"{summary.records} records, {summary.row_errors} bad rows",
        box=box.SIMPLE_HEAD,
        padding=(0, 1, 0, 0),
        show_edge=False,
    )
    table.add_column("scorer", no_wrap=True)
    for name in ("total", "scored", "failed", "n/a", "coverage"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("mean risk (95 %)", no_wrap=True)
    overall = summary.as_dict()["risk"]
    reasons = []
    for s in summary.scorers.values():
        d = s.as_dict()
        coverage = "-" if d["coverage"] is None else f"{100 * d['coverage']:.1f}%"
        counts = (d["n_total"], d["n_scored"], d["n_failed"], d["n_not_applicable"])
        table.add_row(escape(s.name), *map(str, counts), coverage, _mean(d))
        reasons += [(n, s.name, why) for why, n in s.failed_reasons.most_common(3)]
    if overall["n"]:
        table.add_section()
        table.add_row("risk", str(summary.records), str(overall["n"]), "", "", "", _mean(overall))
    console.print(table)
    if summary.by:
        console.print(f"risk is by {', '.join(summary.by)}", markup=False)
    for n, name, why in reasons[:_SHOWN_ERRORS]:
        console.print(f"failed: {name}, {n} times: {why}", markup=False)


def decision_lines(summary: Summary, notes: Sequence[str] = ()) -> list[str]:
    """What was decided, selected and repaired, and where cascades stopped, for people; nothing
    where it was not asked for."""
    lines = []
    decisions = summary.decisions
    if decisions is not None:
        lines.append("decisions: " + ", ".join(f"{n} {name}" for name, n in decisions.items()))
        for (decision, cause), n in summary.causes.most_common(_CAUSES):
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
        told = ", ".join(f"{n} {s.replace('_', ' ')}" for s, n in summary.repairs.items())
        lines.append(f"repair: {told}")
    for tiers in summary.stopped.values():
        total = max(1, sum(tiers.values()))
        told = ", ".join(f"{t or 'no risk'} {n} ({n / total:.0%})" for t, n in tiers.items())
        lines.append(f"stopped at: {told}")
    return lines


def drawn_lines(drawn: Progress | None) -> list[str]:
    """What adaptive sampling saved, for people; nothing where it saved nothing."""
    if drawn is None or not drawn.saved:
        return []
    share = drawn.saved / (drawn.saved + drawn.drawn)
    return [f"adaptive sampling drew {drawn.drawn} samples and saved {drawn.saved} ({share:.0%})"]


def ledger_lines(ledger: dict[str, Any] | None) -> list[str]:
    """What LLM calls came to, for people; nothing where there were none."""
    if ledger is None or not (ledger["calls"] or ledger["journaled"] or ledger["not_sent"]):
        return []
    tokens = ledger["tokens"]
    counted = (
        f"tokens of {ledger['without_usage']} answers unknown"
        if tokens is None
        else f"{ledger['tokens_in']} tokens in, {ledger['tokens_out']} out"
    )
    cost = "unknown" if ledger["cost"] is None else f"{ledger['cost']:.4f}"
    if ledger["cost"] is None and ledger["known_cost"]:
        cost += f" (at least {ledger['known_cost']:.4f})"
    parts = [f"LLM calls: {ledger['calls']}", counted, f"cost: {cost}"]
    for name, told in (
        ("journaled", "from the journal"),
        ("failed", "failed"),
        ("retries", "attempts repeated"),
        ("possibly_paid", "lost and possibly paid"),
    ):
        if ledger[name]:
            parts.append(f"{ledger[name]} {told}")
    lines = ["; ".join(parts)]
    if ledger["not_sent"]:
        lines.append(
            f"the budget stopped {ledger['not_sent']} calls: --retry-failed with a larger "
            "--budget goes on from here"
        )
    return lines


def _mean(d: dict[str, Any]) -> str:
    if d["mean"] is None:
        return "-"
    interval = "" if d["ci_low"] is None else f" [{d['ci_low']:.3f}, {d['ci_high']:.3f}]"
    return f"{d['mean']:.3f}{interval}"


def plan_table(plan: dict[str, Any], console: Console) -> None:
    """The dry run for people."""
    table = Table(title=f"{plan['records']} records, {plan['row_errors']} bad rows")
    for name in ("scorer", "cost", "applicable", "n/a"):
        table.add_column(name)
    for s in plan["scorers"]:
        table.add_row(escape(s["name"]), s["cost"], str(s["applicable"]), str(s["not_applicable"]))
    console.print(table)
    for text in step_lines(plan["steps"]):
        console.print(text, markup=False)
    for m in plan["models"]:
        console.print(
            f"{m['model']}: {m['requests']} distinct texts ({m['stored']} already stored, "
            f"{m['shared']} shared), {m['windows']} windows, {m['tokens']} tokens "
            f"({m['padded']} padded), {_seconds(m['seconds'])}",
            markup=False,
        )
    found = plan["retrieval"]
    if found is not None:
        held = ", ".join(f"{v} {k}" for k, v in found.items() if k not in ("by", "queries"))
        console.print(
            f"{found['by']}: {found['queries']} queries" + (f"; {held}" if held else ""),
            markup=False,
        )
    for text in plan_lines(plan["llm"]):
        console.print(text, markup=False)
    console.print(f"time in all: {_seconds(plan['seconds'])}")
    least = plan["least"]
    if least is not None:
        calls = least["llm"]
        most, fewest = _cases(plan)
        console.print(
            f"that is where {most}; where {fewest}: "
            f"LLM calls: {_calls(calls, calls['complete'])}; time in all: "
            f"{_seconds(least['seconds'])}",
            markup=False,
        )


def _cases(plan: dict[str, Any]) -> tuple[str, str]:
    """What the figures of a plan suppose, and what those of its ``least`` do."""
    cases = []
    if [s["name"] for s in plan["scorers"]] != [s["name"] for s in plan["least"]["scorers"]]:
        cases.append(("no record stops early", "all stop at the first tier"))
    if any(s["answers"] != s["least"] for s in plan["steps"]):
        cases.append(("every answer that can be repaired is", "none is repaired"))
    most, least = zip(*cases, strict=True) if cases else (("nothing changes",), ("nothing does",))
    return " and ".join(most), " and ".join(least)


def step_lines(steps: Sequence[dict[str, Any]]) -> list[str]:
    """What a plan says of the answers that are scored besides the responses, for people."""
    told = {"selected": "samples judged in the response's place", "repair": "repaired answers"}
    return [
        f"{told.get(s['step'], s['step'])}: "
        + ("" if s["answers"] == s["least"] else "at most ")
        + str(s["answers"])
        for s in steps
    ]


def plan_lines(llm: dict[str, Any]) -> list[str]:
    """What a plan says of LLM calls, for people."""
    sampling, scoring, rewriting = llm["sampling"], llm["scoring"], llm["rewriting"]
    if sampling is None and rewriting is None:
        return [f"LLM calls: {_calls(scoring, scoring['complete'])}"]
    lines = []
    if sampling is not None:
        lines.append(f"LLM calls that answer prompts: {_calls(sampling)}")
    scores = bool(scoring["calls"] or scoring["journaled"])
    if scores:
        lines.append(f"LLM calls of scorers: {_calls(scoring, scoring['complete'])}")
    if rewriting is not None:
        lines.append(
            f"LLM calls that write sentences anew: {_calls(rewriting, rewriting['complete'])}"
        )
    if (sampling is not None) + scores + (rewriting is not None) > 1:
        lines.append(f"LLM calls in all: {_calls(llm, llm['complete'])}")
    if sampling is not None and sampling["calls"]:
        lines.append(
            "in what scorers ask and models read, an answer to come counts as one short sentence"
        )
    return lines


def _calls(told: dict[str, Any], complete: bool = True) -> str:
    """Calls, tokens and cost of a part of a plan; tokens out and cost are the worst case."""
    least = told["least"]
    calls, tokens = (
        _range(least[name], told[name]) if complete else f"at least {least[name]}"
        for name in ("calls", "tokens_in")
    )
    cost = _unknown(told["cost"], ".4f", "at most " if told["calls"] else "")
    counted = "" if complete or told["cost"] is None else " for those counted"
    return (
        f"{calls} ({told['journaled']} more are journaled); about {tokens} tokens in, "
        f"at most {_unknown(told['tokens_out'])} out; cost: {cost}{counted}"
    )


def _range(least: int, most: int) -> str:
    return str(most) if least == most else f"{least} to {most}"


def _unknown(value: float | None, shape: str = "", before: str = "") -> str:
    return "unknown" if value is None else f"{before}{value:{shape}}"


def _seconds(seconds: float | None) -> str:
    return "time unknown" if seconds is None else f"about {seconds:.1f} s"
