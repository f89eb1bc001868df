"""Scoring of a request's records by the server's warm engine."""

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
    from veridical.serve.billing import Billing
    from veridical.serve.request_options import ScoringRequest

#: Called on the engine's thread with each record and its result line, as soon as it is done.
Done = Callable[["Record", bytes], None]


async def score(
    engine: Engine,
    records: Sequence[Record],
    wanted: ScoringRequest,
    done: Done,
    *,
    caller: Caller,
    deadline: float | None = None,
    billing: Billing | None = None,
) -> None:
    """Score records; cancelling stops the work.

    Args:
        caller: whose share of the models is used.
        deadline: time of the monotonic clock at which unfinished scores fail.
        billing: pays for their LLM calls.
    """
    pay = None if billing is None else billing.open
    scoring = engine.score(records, wanted.task, done, pay=pay, deadline=deadline)
    context = contextvars.copy_context()
    context.run(CALLER.set, caller)
    await asyncio.wrap_future(context.run(engine.submit, scoring))


def decided(line: bytes, policy: Policy | None, record: Record | None = None) -> bytes:
    """Add the policy's decision to a result line, as in the results of a run.

    Args:
        record: its field names the stratum; not needed if the policy has no strata.
    """
    if policy is None:
        return line
    model = Result if policy.reads_units else ResultSummary
    result = model.model_validate_json(line)
    stratum = None if record is None else policy.stratum(record)
    verdict = policy.decide(result, stratum)
    entry = {"row": result.row, "decision": verdict.decision, "why": verdict.why}
    return with_decision(stored_line(result.row, line), to_json(entry)).line
