"""``--plan`` of commands that ask language models: what it goes with, and what it prints."""

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
    """Refuse what only a plan has a use for.

    Args:
        values: of options that go with ``--plan``, by their names.

    Raises:
        UsageError: one is given without it.
    """
    for name, value in values.items():
        if value is not None and not plan:
            raise UsageError(f"--{name.replace('_', '-')} goes with --plan")


def tell(plan: dict[str, Any], lines: Iterable[str], json_path: str | None) -> int:
    """Write the plan as JSON where that is asked for, print its ``lines``: the exit code."""
    with opened(json_path) as out:
        if out is not None:
            out.write(json.dumps(plan) + "\n")
    console = error_console() if json_path == "-" else Console(highlight=False, soft_wrap=True)
    for line in lines:
        console.print(line, markup=False)
    return 0


def calls_line(of: dict[str, Any]) -> str:
    """The calls, tokens, cost and hours of a part of a plan."""
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
    """What is to be said where hours are not known because a speed is not."""
    if llm is None or hours is not None or speed is not None:
        return []
    return [f"how fast {llm} writes is not known: --tokens-per-second X says it"]
