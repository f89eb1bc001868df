"""``veridical hook claude-code``: the stop hook of an agent."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any, get_args

from veridical.cli.declared import command, flag, flags
from veridical.cli.help import App
from veridical.cli.options import PresetFlags, keywords_of
from veridical.core.options import Group
from veridical.core.verdict_cuts import Verdict
from veridical.engine.options import EngineOptions, Precision
from veridical.errors import UsageError, unknown_name

if TYPE_CHECKING:
    from collections.abc import Mapping

HOOK_EXAMPLES = (
    "Examples:\n\n  veridical hook claude-code\n\n"
    "  veridical hook claude-code --fail-on contradicted\n\n"
    'In the settings of Claude Code: "hooks": {"Stop": [{"hooks": [{"type": "command", '
    '"command": "veridical hook claude-code"}]}]}.\n\n'
    "Exit codes: 0 nothing to report; 1 usage, or the conversation cannot be read; 2 standard "
    "error lists what the agent must correct."
)
_LARGEST = 16 << 20  # bytes of an event

app = App(
    help="Check an agent's answer from a hook of the agent.",
    no_args_is_help=True,
    epilog=HOOK_EXAMPLES,
)


@flags(EngineOptions)
class HookOptions(PresetFlags):
    """Options of ``veridical hook claude-code``."""

    fail_on: str = flag(
        "Verdicts that are reported to the agent, comma-separated.",
        Group.GATES,
        "contradicted,unsupported",
    )
    nli: str
    precision: Precision | None
    llm: str | None
    store: str = "none"


@app.command(name="claude-code", epilog=HOOK_EXAMPLES)
@command
def claude_code(options: HookOptions) -> int:
    """Check a Claude Code answer against its tool results, as a stop hook.

    The hook's JSON is read from standard input. If the agent has already been blocked once, the
    hook exits without output. An answer that could not be checked is reported to the user.
    """
    bad = _verdicts(options.fail_on)
    event = _event()
    if event.get("stop_hook_active"):
        return 0
    from veridical.integrations.claude_code import turn_of

    turn = turn_of(event)
    if turn is None:
        return 0
    chosen = {
        "scorers": options.scorers,
        "preset": options.preset,
        "prior": options.prior,
        "strictness": options.strictness,
    }
    result = turn.check(**chosen, **keywords_of(options, EngineOptions))
    if result.verdict in bad:
        print(turn.message(result, bad), file=sys.stderr)
        return 2
    if result.verdict == "unchecked" and result.reason != "no_statement":
        note = f"veridical: the answer was not checked. {result.why_unchecked}"
        print(json.dumps({"systemMessage": note}))
    return 0


def _verdicts(names: str) -> tuple[Verdict, ...]:
    """Parse the verdicts of ``--fail-on``.

    Raises:
        UsageError: a name is not a verdict.
    """
    known: dict[str, Verdict] = {name: name for name in get_args(Verdict)}
    chosen = [name.strip() for name in names.split(",") if name.strip()]
    for name in chosen:
        if name not in known:
            raise unknown_name("verdict in --fail-on", name, known)
    if not chosen:
        raise UsageError(f"--fail-on is empty: choose among {', '.join(known)}")
    return tuple(known[name] for name in chosen)


def _event() -> Mapping[str, Any]:
    """Read the hook's event from standard input.

    Raises:
        UsageError: the input is not a JSON object.
    """
    from veridical.io.lines import from_json
    from veridical.io.problems import RowProblem

    data = sys.stdin.buffer.read(_LARGEST + 1)
    if len(data) > _LARGEST:
        raise UsageError("standard input is too long for an event of a hook")
    try:
        event = from_json(data, "not JSON")
    except RowProblem as e:
        raise UsageError(f"standard input: {e.error}") from None
    if not isinstance(event, dict):
        raise UsageError("standard input: an event must be a JSON object")
    return event
