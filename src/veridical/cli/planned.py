"""Terminal output of ``veridical plan``."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from rich.markup import escape
from rich.table import Table

if TYPE_CHECKING:
    from rich.console import Console

#: Inputs of models that do not read single texts, by role.
_READ = {"nli": "pairs", "image_embedder": "images"}


def plan_table(plan: dict[str, Any], console: Console) -> None:
    """Print the plan of a run."""
    table = Table(title=f"{plan['records']} records, {plan['row_errors']} bad rows")
    for name in ("scorer", "cost", "applicable", "n/a"):
        table.add_column(name)
    for s in plan["scorers"]:
        table.add_row(escape(s["name"]), s["cost"], str(s["applicable"]), str(s["not_applicable"]))
    console.print(table)
    for text in step_lines(plan["steps"]):
        console.print(text, markup=False)
    for m in plan["models"]:
        console.print(model_line(m), markup=False)
    retrieval = plan["retrieval"]
    if retrieval is not None:
        held = ", ".join(f"{v} {k}" for k, v in retrieval.items() if k not in ("by", "queries"))
        console.print(
            f"{retrieval['by']}: {retrieval['queries']} queries" + (f"; {held}" if held else ""),
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
    if plan["scale"] is not None:
        _scale_table(plan["scale"], console)


def model_line(model: dict[str, Any]) -> str:
    """Describe the input of one model and its time."""
    what = next((_READ[role] for role in model["roles"] if role in _READ), "texts")
    parts = [
        f"{model['requests']} distinct {what} ({model['stored']} already stored, "
        f"{model['shared']} shared)"
    ]
    if what != "images":
        parts.append(f"{model['windows']} windows")
        parts.append(f"{model['tokens']} tokens ({model['padded']} padded)")
    return f"{model['model']}: {', '.join([*parts, _seconds(model['seconds'])])}"


def _scale_table(scale: dict[str, Any], console: Console) -> None:
    """Print machines, hours and cost for many records."""
    console.print()
    fixed = scale["machines"]
    how = f"in {scale['hours']:g} hours" if fixed is None else f"by {_grouped(fixed)} machines"
    title = f"{_grouped(scale['records'])} records like these {scale['sample']}, {how}"
    figures = {
        "records\n/s": "records_per_second",
        "machine-\nhours": "machine_hours",
        **({"machines": "machines"} if fixed is None else {"hours": "hours"}),
    }
    table = Table(title=f"{title}; a machine has {scale['cores']} cores", title_justify="left")
    choices = scale["choices"]
    table.add_column("scored by", no_wrap=True)
    money = {"rent": "machines"} if scale["price"] is not None else {}
    if any(c["llm"]["calls"] != 0 for c in choices):
        money["LLM"] = "llm"
    for name in (*figures, *money):
        table.add_column(name, justify="right", no_wrap=True)
    for c in choices:
        values = [c[k] for k in figures.values()] + [c["cost"][k] for k in money.values()]
        table.add_row(escape(c["name"]), *map(_figure, values))
    console.print(table)
    for text in scale_lines(scale):
        console.print(text, markup=False)


def scale_lines(scale: dict[str, Any]) -> list[str]:
    """Return notes on the figures for many records and the savings of cheaper choices."""
    lines = []
    for c in scale["choices"]:
        saves = c["saves"]
        if saves is None:
            continue
        money = "" if saves["cost"] is None else f", {_share(saves['cost'])} of the money"
        lines.append(
            f"{c['name']}: saves {_share(saves['machine_hours'])} of the machine-hours{money} "
            f"of {saves['instead_of']}"
        )
    lines.append("fast reports a risk without a verdict: all its records are unchecked")
    calling = [c for c in scale["choices"] if c["llm"]["calls"] != 0]
    if calling:
        lines.append(
            "LLM figures are maxima, except for calls repeated without a verdict; "
            "machine-hours exclude waiting for the LLM:"
        )
    for c in calling:
        calls = c["llm"]["calls"]
        if calls is None:
            lines.append(f"{c['name']}: how many LLM calls is unknown")
            continue
        rate = f", {_figure(calls / c['hours'] / 3600)} a second" if c["hours"] else ""
        lines.append(f"{c['name']}: {_figure(calls)} LLM calls{rate}")
    lines.append(
        f"measured now on {scale['measured_cores']} cores; hours grow with the records and fall "
        "with cores and machines"
    )
    return lines


def _share(value: float | None) -> str:
    if value is None:
        return "an unknown share"
    return "more than 99.9%" if 0.999 < value < 1 else f"{100 * value:.3g}%"


def _figure(value: float | None) -> str:
    """Format a number with three significant digits, grouped."""
    if value is None:
        return "unknown"
    if value == 0 or abs(value) < 1000:
        return f"{value:.3g}"
    digits = math.floor(math.log10(abs(value))) - 2
    return _grouped(round(value, -digits))


def _grouped(value: float) -> str:
    return f"{value:,.0f}".replace(",", " ")


def _cases(plan: dict[str, Any]) -> tuple[str, str]:
    """Describe the assumptions of the maximum and the minimum of a plan."""
    cases = []
    if [s["name"] for s in plan["scorers"]] != [s["name"] for s in plan["least"]["scorers"]]:
        cases.append(("no record stops early", "all stop at the first tier"))
    if any(s["answers"] != s["least"] for s in plan["steps"]):
        cases.append(("every answer that can be repaired is", "none is repaired"))
    most, least = zip(*cases, strict=True) if cases else (("nothing changes",), ("nothing does",))
    return " and ".join(most), " and ".join(least)


def step_lines(steps: Sequence[dict[str, Any]]) -> list[str]:
    """Describe the answers that are scored in addition to the responses."""
    names = {"selected": "samples judged instead of the response", "repair": "repaired answers"}
    return [
        f"{names.get(s['step'], s['step'])}: "
        + ("" if s["answers"] == s["least"] else "at most ")
        + str(s["answers"])
        for s in steps
    ]


def plan_lines(llm: dict[str, Any]) -> list[str]:
    """Describe the LLM calls of a plan."""
    sampling, scoring, rewriting = llm["sampling"], llm["scoring"], llm["rewriting"]
    if sampling is None and rewriting is None:
        return [f"LLM calls: {_calls(scoring, scoring['complete'])}", *again_lines(llm["again"])]
    lines = []
    if sampling is not None:
        lines.append(f"LLM calls that answer prompts: {_calls(sampling)}")
    scores = bool(scoring["calls"] or scoring["journaled"])
    if scores:
        lines.append(f"LLM calls of scorers: {_calls(scoring, scoring['complete'])}")
    if rewriting is not None:
        lines.append(
            f"LLM calls that rewrite sentences: {_calls(rewriting, rewriting['complete'])}"
        )
    if (sampling is not None) + scores + (rewriting is not None) > 1:
        lines.append(f"LLM calls in all: {_calls(llm, llm['complete'])}")
    lines += again_lines(llm["again"])
    if sampling is not None and sampling["calls"]:
        lines.append(
            "in estimates of scorers and models, a future answer counts as one short sentence"
        )
    return lines


def again_lines(figures: dict[str, Any]) -> list[str]:
    """Describe the maximum of repeated calls after unclear replies."""
    if not figures["calls"]:
        return []
    cost = unknown_or(figures["cost"], ".4f", "at most ")
    return [
        "additional LLM calls, one per reply without a clear verdict: at most "
        f"{figures['calls']}; cost: {cost}"
    ]


def _calls(figures: dict[str, Any], complete: bool = True) -> str:
    """Describe calls, tokens and cost of a part of a plan; output and cost are maxima."""
    least = figures["least"]
    calls, tokens = (
        _range(least[name], figures[name]) if complete else f"at least {least[name]}"
        for name in ("calls", "tokens_in")
    )
    cost = unknown_or(figures["cost"], ".4f", "at most " if figures["calls"] else "")
    counted = "" if complete or figures["cost"] is None else " for those counted"
    saved = figures["tokens_cached"]
    read = f" (about {saved} of them saved by shared prefixes)" if saved else ""
    return (
        f"{calls} ({figures['journaled']} more are journaled); about {tokens} tokens in{read}, "
        f"at most {unknown_or(figures['tokens_out'])} out; cost: {cost}{counted}"
    )


def _range(least: int, most: int) -> str:
    return str(most) if least == most else f"{least} to {most}"


def unknown_or(value: float | None, shape: str = "", before: str = "") -> str:
    """Format a figure after the text ``before``, or return ``unknown``."""
    return "unknown" if value is None else f"{before}{value:{shape}}"


def _seconds(seconds: float | None) -> str:
    return "time unknown" if seconds is None else f"about {seconds:.1f} s"
