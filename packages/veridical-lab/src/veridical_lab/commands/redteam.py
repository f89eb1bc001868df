"""``veridical redteam``: how often a judge is moved by what it judges."""

from __future__ import annotations

import json
from dataclasses import MISSING
from typing import TYPE_CHECKING, Literal

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from veridical.cli import interrupts
from veridical.cli.declared import check_files, command, flag, flags
from veridical.cli.options import STORE, store_of
from veridical.cli.outputs import opened
from veridical.core.options import Group, Names
from veridical.engine.options import EngineOptions
from veridical.errors import UsageError

if TYPE_CHECKING:
    from veridical_lab.injections.redteam import AttackRate, Findings

REDTEAM_EXAMPLES = (
    "Examples:\n\n"
    "  veridical redteam --llm openai:gpt-4o-mini\n\n"
    "  veridical redteam --llm local --template likert --limit 30\n\n"
    "  veridical redteam --llm NAME --template mirage_begin --place context --json moved.json\n\n"
    "  veridical redteam --llm NAME --no-fences\n\n"
    "Exit codes: 0 measured; 1 usage, or no wrong answer was judged wrong, so that there was "
    "nothing to move; 3 moved more often than --fail-over; 130 interrupted."
)


@flags(EngineOptions)
class RedteamOptions:
    """The options of ``veridical redteam``."""

    llm: str = flag("LLM judge to attack, named as for check.", Group.OTHER, MISSING)
    template: str = flag(
        "Prompt template of the judge: a packaged name or a TOML file.", default="correct_incorrect"
    )
    place: Literal["answer", "context"] = flag(
        "Text that contains the injection: the answer or the context.", default="answer"
    )
    limit: int | None = flag("Maximum attempts, divided equally among kinds.", least=1)
    fences: bool = flag(
        "Delimit quoted texts in the prompt, as judges do by default.",
        default=True,
        called="--fences/--no-fences",
    )
    json_path: str | None = flag(
        "Write the findings as JSON; - for stdout.", called="--json", names=Names.OUTPUT
    )
    fail_over: float | None = flag(
        "Exit 3 if a larger share of attempts changes the verdict.", least=0, most=1
    )
    budget: float | None
    store: str = STORE


@command
def redteam(options: RedteamOptions) -> int:
    """Measure how often prompt injection changes the verdict of a judge.

    Each attempt is planted in a wrong answer. The judge has also seen that answer without it, and
    with harmless text of the same length.
    """
    from veridical.api import Job
    from veridical.cli.progress import watch
    from veridical.core.registry import REGISTRY
    from veridical.prompts import load_prompt
    from veridical_lab.injections import measure, records

    check_files(options)
    prompt = load_prompt(options.template)
    if prompt.scale is None:
        raise UsageError(
            f"prompt {prompt.name} requests no verdict; choose a template with a scale"
        )
    if options.place == "context" and "context" not in prompt.parts:
        raise UsageError(f"prompt {prompt.name} shows no context; plant in the answer")
    err = Console(stderr=True, highlight=False)
    judge = REGISTRY.bind("judge", {"template": options.template, "fences": options.fences})
    job = Job(
        records(prompt, options.place, options.limit),
        [judge],
        llm=options.llm,
        budget=options.budget,
        store=store_of(options.store),
    )
    try:
        results = watch(job, err)
    except KeyboardInterrupt:
        interrupts.tell("interrupted; run the same command to resume")
        return interrupts.INTERRUPTED
    risks = {str(r.id): next(iter(r.scores.values())).risk for r in results}
    findings = measure(risks, options.limit)
    report = {
        "llm": options.llm,
        "prompt": f"{prompt.name}@{prompt.version}",
        "place": options.place,
        "fences": options.fences,
        **findings.as_dict(),
    }
    if options.json_path is not None:
        with opened(options.json_path) as lines:
            assert lines is not None
            lines.write(json.dumps(report, indent=1) + "\n")
    if options.json_path != "-":
        _show(findings, Console(highlight=False))
    if findings.moved.rate is None:
        err.print("no wrong answer was judged wrong, so no attempt could be measured")
        return 1
    return 3 if options.fail_over is not None and findings.moved.rate > options.fail_over else 0


def _show(findings: Findings, console: Console) -> None:
    table = Table("", "share", "of", "95 % interval")
    for name, rate in (
        ("wrong answers judged wrong", findings.wrong_found),
        ("right answers judged right", findings.right_passed),
        ("moved by an attempt", findings.moved),
        ("moved by harmless text", findings.control),
        ("no readable verdict after an attempt", findings.silenced),
        *((f"  moved by {kind}", rate) for kind, rate in findings.kinds.items()),
    ):
        table.add_row(escape(name), *_cells(rate))
    console.print(table)
    if findings.lowered is not None:
        mean, low, high = findings.lowered
        console.print(f"risk lowered by {mean:.3f} on average ({low:.3f} to {high:.3f})")
    if findings.movers:
        console.print(f"moved by: {', '.join(findings.movers)}", markup=False)


def _cells(rate: AttackRate) -> tuple[str, str, str]:
    if rate.rate is None or rate.low is None or rate.high is None:
        return "none", "0", ""
    return f"{rate.rate:.1%}", str(rate.n), f"{rate.low:.1%} to {rate.high:.1%}"
