"""Records of a request, scored by the server's warm engine, as ``veridical.check`` scores them."""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from pydantic_core import to_json

from veridical.core.scores import Result, ResultSummary
from veridical.engine.fair import CALLER, Caller
from veridical.files.decisions import with_decision
from veridical.files.rundir import stored_line

if TYPE_CHECKING:
    from veridical.core.records import Record
    from veridical.decide.policy import Policy
    from veridical.engine.engine import Engine
    from veridical.serve.paying import Purse
    from veridical.serve.wanted import Wanted

#: Called with a record and its result line, on the engine's thread, as soon as it is done.
Done = Callable[["Record", bytes], None]


async def score(
    engine: Engine,
    records: Sequence[Record],
    wanted: Wanted,
    done: Done,
    *,
    caller: Caller,
    deadline: float | None = None,
    purse: Purse | None = None,
) -> None:
    """Score records; cancelling stops the work.

    Args:
        caller: whose turn at the models it is.
        deadline: time of the monotonic clock at which scores that are not done have failed.
        purse: pays for their LLM calls.
    """
    pay = None if purse is None else purse.open
    scoring = engine.score(records, wanted.task, done, pay=pay, deadline=deadline)
    context = contextvars.copy_context()
    context.run(CALLER.set, caller)
    await asyncio.wrap_future(context.run(engine.submit, scoring))


def decided(line: bytes, policy: Policy | None, record: Record | None = None) -> bytes:
    """A result line with what the policy decides, as the results of a run have it.

    Args:
        record: whose field names the stratum; not needed where the policy has none.
    """
    if policy is None:
        return line
    model = Result if policy.reads_units else ResultSummary
    result = model.model_validate_json(line)
    stratum = None if record is None else policy.stratum(record)
    verdict = policy.decide(result, stratum)
    entry = {"row": result.row, "decision": verdict.decision, "why": verdict.why}
    return with_decision(stored_line(result.row, line), to_json(entry)).line
