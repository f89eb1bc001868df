"""Langfuse export of a run's scores; repeated pushes replace them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from veridical.integrations.pushing import pushes

if TYPE_CHECKING:
    from langfuse import Langfuse

    from veridical.report.results import Results


def push_to_langfuse(
    results: Results,
    client: Langfuse | None = None,
    *,
    name: str = "veridical",
    trace: str = "trace_id",
    observation: str = "observation_id",
    explain: bool = True,
) -> int:
    """Push the verdict (``NAME_verdict``) and the risk (``NAME``) of each answer to its trace.

    An unchecked answer has a verdict and no risk.

    Args:
        client: default: from Langfuse's environment variables.
        trace, observation: columns of the input with the ids of the answer's trace and observation;
            without an observation the scores belong to the trace.
        explain: add the reason, which quotes the answer and its sources.

    Returns:
        The number of answers pushed.

    Raises:
        UsageError: no record names a trace.
    """
    if client is None:
        from langfuse import get_client

        client = get_client()
    count = 0
    for push in pushes(results, trace, observation):
        where = {
            "trace_id": push.places[trace],
            "observation_id": push.places.get(observation),
            "comment": push.judgement.reason if explain else None,
        }
        client.create_score(
            name=f"{name}_verdict",
            value=push.judgement.label,
            data_type="CATEGORICAL",
            score_id=push.id(f"{name}_verdict"),
            **where,
        )
        if push.judgement.value is not None and push.judgement.checked:
            client.create_score(
                name=name,
                value=push.judgement.value,
                data_type="NUMERIC",
                score_id=push.id(name),
                **where,
            )
        count += 1
    client.flush()
    return count
