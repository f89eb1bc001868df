"""The ``--plan`` option of commands that call language models."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from rich.console import Console

from veridical.cli.figures import error_console
from veridical.cli.outputs import opened
from veridical.cli.planned import unknown_or
from veridical.errors import UsageError


def check_planned(plan: bool, **values: Any) -> None:
    """Refuse options that require ``--plan``.

    Args:
        values: values of such options by name.

    Raises:
        UsageError: an option is given without ``--plan``.
    """
    for name, value in values.items():
        if value is not None and not plan:
            raise UsageError(f"--{name.replace('_', '-')} requires --plan")


def tell(plan: dict[str, Any], lines: Iterable[str], json_path: str | None) -> int:
    """Print the plan, write its JSON if requested, and return the exit code."""
    with opened(json_path) as out:
        if out is not None:
            out.write(json.dumps(plan) + "\n")
    console = error_console() if json_path == "-" else Console(highlight=False, soft_wrap=True)
    for line in lines:
        console.print(line, markup=False)
    return 0


def calls_line(of: dict[str, Any]) -> str:
    """Describe the calls, tokens, cost and hours of a part of a plan."""
    least = of.get("least", of)["calls"]
    calls: Any = of["calls"] if least == of["calls"] else f"{least} to {of['calls']}"
    if not of["complete"]:
        calls = f"at least {calls}"
    journaled = f" ({of['journaled']} more are journaled)" if of["journaled"] else ""
    cost, out, hours = (
        unknown_or(of[name], shape, "at most ")
        for name, shape in (("cost", ".4f"), ("tokens_out", ""), ("hours", ".2f"))
    )
    return (
        f"{calls} LLM calls{journaled}, about {of['tokens_in']} tokens in, {out} out, "
        f"cost {cost}, hours on this machine: {hours}"
    )


def speed_lines(llm: str | None, hours: float | None, speed: float | None) -> list[str]:
    """Return a hint if hours are unknown because the speed is."""
    if llm is None or hours is not None or speed is not None:
        return []
    return [f"the speed of {llm} is unknown: give --tokens-per-second X"]
