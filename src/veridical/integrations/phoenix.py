"""Phoenix export of a run's scores as span annotations.

Repeated pushes replace them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from veridical.integrations.pushing import pushes

if TYPE_CHECKING:
    from phoenix.client import Client

    from veridical.report.results import Results


def push_to_phoenix(
    results: Results,
    client: Client | None = None,
    *,
    name: str = "veridical",
    span: str = "span_id",
    explain: bool = True,
) -> int:
    """Annotate each answer's span with the verdict as label and the risk as score.

    An unchecked answer has a label and no score.

    Args:
        client: default: from Phoenix's environment variables.
        span: column of the input with the span's id.
        explain: add the reason, which quotes the answer and its sources.

    Returns:
        The number of annotated spans.

    Raises:
        UsageError: no record names a span.
    """
    if client is None:
        from phoenix.client import Client as NewClient

        client = NewClient()
    count = 0
    for push in pushes(results, span):
        judged = push.judgement
        client.spans.add_span_annotation(
            span_id=push.places[span],
            annotation_name=name,
            annotator_kind="CODE",
            label=judged.label,
            score=judged.value if judged.checked else None,
            explanation=judged.reason if explain else None,
            identifier=push.id(name),
            sync=True,
        )
        count += 1
    return count
